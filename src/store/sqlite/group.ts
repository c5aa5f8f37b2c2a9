import type { Database } from 'bun:sqlite'
import { meaningOf } from './errors.ts'
import type { Statements } from './statements.ts'

/** A transaction that waits for its group. */
export interface Waiting {
  run(at: string): Ran
  reject(error: unknown): void
}

/** The result of a transaction: whether to keep it, and how to answer. */
interface Ran {
  readonly keep: boolean
  tell(): void
}

/** The result of one transaction in a group. The caller learns of it only after the group's commit. */
export type GroupVerdict = Ran | { readonly error: unknown }

/** What happens in every group besides its transactions. */
interface Frame {
  /** Runs first: returns the time, or throws. */
  begin(): string
  /** Runs before the commit. */
  end(): void
}

/** After a group that had to be repeated, so many groups use savepoints from the start. */
const CAREFUL_GROUPS = 64

/**
 * Transactions that share one commit, and so one fsync. At first they run without savepoints, since nearly all of them
 * are kept. If one is not, the whole group is rolled back and repeated with a savepoint for each. Savepoints take about
 * a twentieth of the time of a create.
 */
export class GroupCommit {
  readonly #database: Database
  readonly #statements: Statements
  readonly #frame: Frame
  #careful = 0

  constructor(database: Database, statements: Statements, frame: Frame) {
    this.#database = database
    this.#statements = statements
    this.#frame = frame
  }

  /** Commits a group; returns the result of each transaction. Throws if SQLite gave up all of them. */
  commit(group: readonly Waiting[]): { verdicts: readonly GroupVerdict[]; written: boolean } {
    const quick = group.length === 1 || this.#careful === 0 ? this.#run(group, false) : undefined
    if (quick !== undefined) return quick
    this.#careful = this.#careful === 0 ? CAREFUL_GROUPS : this.#careful - 1
    const verdicts = this.#run(group, true)
    if (verdicts === undefined) throw new Error('a group with savepoints always comes to an end')
    return verdicts
  }

  /** Undefined if one of several transactions without savepoints is not to be kept: nothing was done then. */
  #run(
    group: readonly Waiting[],
    savepoints: boolean,
  ): { verdicts: readonly GroupVerdict[]; written: boolean } | undefined {
    this.#statements.run('BEGIN IMMEDIATE')
    try {
      const at = this.#frame.begin()
      const verdicts: GroupVerdict[] = []
      let written = false
      for (const waiting of group) {
        const verdict = this.#attempt(waiting, at, savepoints)
        const kept = 'keep' in verdict && verdict.keep
        if (!kept && !savepoints && group.length > 1) {
          this.#statements.run('ROLLBACK')
          return undefined
        }
        written ||= kept
        verdicts.push(verdict)
      }
      if (written) this.#frame.end()
      this.#statements.run(written ? 'COMMIT' : 'ROLLBACK')
      return { verdicts, written }
    } catch (error) {
      this.#rollback()
      throw error
    }
  }

  /** Runs one transaction. Its failure does not affect the others, unless SQLite gave up the whole group. */
  #attempt({ run }: Waiting, at: string, savepoint: boolean): GroupVerdict {
    if (savepoint) this.#statements.run('SAVEPOINT one')
    try {
      const ran = run(at)
      if (savepoint) this.#statements.end('one', ran.keep)
      return ran
    } catch (error) {
      const meaning = meaningOf(error)
      if (!this.#database.inTransaction || meaning.kind === 'lost' || meaning.kind === 'damaged') throw error
      if (savepoint) this.#statements.end('one', false)
      return { error: 'failure' in meaning ? meaning.failure : error }
    }
  }

  /** Errors are ignored: the first error counts. */
  #rollback(): void {
    try {
      if (this.#database.inTransaction) this.#database.run('ROLLBACK')
    } catch {}
  }
}
