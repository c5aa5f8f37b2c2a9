import type { Database, Statement as Prepared } from 'bun:sqlite'
import type { Bound, Params, Row } from '../dialect.ts'
import type { SlowStatements } from '../slow-statements.ts'
import type { Statement } from '../sql.ts'
import type { Outcome, Step } from '../step.ts'
import { CLOCK } from './dialect.ts'
import { beginMatching } from './matches.ts'

/** A prepared statement: whether it returns rows, and whether it uses patterns. */
interface Ready {
  readonly run: Prepared
  readonly returns: boolean
  readonly matches: boolean
}

const PREPARED_MAX = 1000

/** The prepared statements of a connection. */
export class Statements {
  readonly #database: Database
  readonly #slow: SlowStatements
  readonly #prepared = new Map<string, Ready>()

  constructor(database: Database, slow: SlowStatements) {
    this.#database = database
    this.#slow = slow
  }

  execute(statement: Statement, params: Params): { rows: readonly Row[]; any: boolean } {
    const began = performance.now()
    const found = this.#execute(statement, params)
    this.#slow.took(statement.text, performance.now() - began)
    return found
  }

  #execute(statement: Statement, params: Params): { rows: readonly Row[]; any: boolean } {
    const { run, returns, matches } = this.#prepare(statement.text)
    if (matches) beginMatching()
    const values = bindParams(statement.paramNames, params)
    if (!returns) return { rows: [], any: run.run(...values).changes > 0 }
    const rows = run.values(...values) as Bound[][]
    return { rows, any: rows.length > 0 }
  }

  /** Runs steps one after the other, until one does not find what it expects. */
  runAll(steps: readonly Step[], params: Params): Outcome {
    let rows: readonly Row[] = []
    let kept: readonly Row[] | undefined
    for (const { name, statement, expect, keeps } of steps) {
      const found = this.execute(statement, params)
      rows = found.rows
      if (expect !== 'any' && found.any !== (expect === 'some')) return { done: false, step: name, rows }
      if (keeps === undefined) continue
      kept = rows
      for (let at = 0; at < keeps.length; at++) params[keeps[at] ?? ''] = rows[0]?.[at] ?? null
    }
    return { done: true, rows: kept ?? rows }
  }

  /** Runs a statement without parameters and rows, such as BEGIN. */
  run(text: string): void {
    this.#prepare(text).run.run()
  }

  /** Ends a savepoint. */
  end(savepoint: string, keep: boolean): void {
    if (!keep) this.run(`ROLLBACK TO ${savepoint}`)
    this.run(`RELEASE ${savepoint}`)
  }

  close(): void {
    for (const { run } of this.#prepared.values()) run.finalize()
    this.#prepared.clear()
  }

  #prepare(text: string): Ready {
    const known = this.#prepared.get(text)
    if (known !== undefined) return known
    if (this.#prepared.size >= PREPARED_MAX) this.close()
    const run = this.#database.prepare(text)
    const made = { run, returns: run.columnNames.length > 0, matches: text.includes('takeback_matches') }
    this.#prepared.set(text, made)
    return made
  }
}

export function bindParams(paramNames: readonly string[], params: Params): Bound[] {
  return paramNames.map((name) => params[name] ?? (name === CLOCK ? new Date().toISOString() : null))
}
