import { SKEW_MS } from '../../clock.ts'
import type { Statement } from '../sql.ts'
import type { Statements } from './statements.ts'

const lastAt: Statement = {
  text: 'SELECT "at" FROM "takeback_journal" ORDER BY "seq" DESC LIMIT 1',
  paramNames: [],
}

/**
 * The time of changes. It does not go back by the small steps in which a clock is corrected, be it this one or another
 * process', so that the journal's times run as its order does. Where the last one lies further ahead, a clock was wrong,
 * and what is written from now on has the time as it is.
 */
export class JournalTime {
  readonly #statements: Statements
  #last = ''
  #lastOf = -1

  constructor(statements: Statements) {
    this.#statements = statements
  }

  /** The last change is looked for only where others may have made it, which `others` tells. */
  now(others: number): string {
    if (this.#lastOf !== others) {
      const [last] = this.#statements.execute(lastAt, {}).rows
      if (last !== undefined && String(last[0]) > this.#last) this.#last = String(last[0])
      this.#lastOf = others
    }
    const now = Date.now()
    const ahead = Date.parse(this.#last) - now
    if (!(ahead > 0 && ahead <= SKEW_MS)) this.#last = new Date(now).toISOString()
    return this.#last
  }
}
