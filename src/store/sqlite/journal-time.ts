import { SKEW_MS } from '../../clock.ts'
import type { Statement } from '../sql.ts'
import type { Statements } from './statements.ts'

const lastAt: Statement = {
  text: 'SELECT "at" FROM "takeback_journal" ORDER BY "seq" DESC LIMIT 1',
  paramNames: [],
}

/**
 * The time of changes. It does not go back when a clock, here or in another process, is corrected by small steps, so
 * that the times of the journal are in its order. If the last change is further ahead, a clock was wrong, and new
 * changes get the present time.
 */
export class JournalTime {
  readonly #statements: Statements
  #last = ''
  #lastOf = -1

  constructor(statements: Statements) {
    this.#statements = statements
  }

  /** The last change is read only if others may have made it, which `others` shows. */
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
