import type { MaybePromise } from '../maybe-promise.ts'
import type { StoreAct } from './act.ts'
import type { Dialect, Params, Row } from './dialect.ts'
import type { Structure } from './migration/structure.ts'
import type { SlowStatements } from './slow-statements.ts'
import type { Statement } from './sql.ts'
import type { Outcome, Step } from './step.ts'

/** A database that executes Plans. */
export interface Store {
  readonly dialect: Dialect
  /** The statements that were slow recently. */
  readonly slow: SlowStatements
  readonly structure: Structure
  /** Increases when others have committed, as far as that is known: caches are then invalid. */
  readonly others: number
  /** Serves until somebody migrates the data to a structure that does not work with this generation. */
  serve(generation: number): void
  /** The secret that signs tokens. Created once, unless it is given, and stored where the data is. */
  keepSecret(given?: string): Promise<string>
  /** The secret, if there is one already. Also called before anything is created. */
  secret(): Promise<string | undefined>
  /** Reads; the result is there at once if the database does not make it wait. */
  read(statement: Statement, params: Params): MaybePromise<readonly Row[]>
  /**
   * Runs one transaction. When the promise is fulfilled with `done`, it is on disk. Nothing is written if the signal is
   * aborted before it begins, which is at least one turn of the event loop later.
   */
  write(steps: readonly Step[], params: Params, signal?: AbortSignal): Promise<Outcome>
  /**
   * Runs all requests of the work in one transaction, which nobody sees half of. A refused write has no effect, and the
   * work goes on. If the work throws, nothing is kept. It may be made and run more than once. The signal is that of
   * `write`.
   */
  transact<T>(make: () => StoreAct<T>, signal?: AbortSignal): Promise<T>
  /**
   * The number up to which no more changes will be added to the journal, given that `last` is in it: `last`, or less
   * while others are writing. Numbers are given before commits, which may come in another order. Undefined if it is not
   * known yet; a moment later it is.
   */
  settled(last: number): Promise<number | undefined>
  /** A number that was settled a moment ago, and costs nothing to read; undefined if none is known yet. */
  readonly recent: number | undefined
  /**
   * Calls `heard` soon after a commit of this process or, as far as the database reports it, of others; perhaps also at
   * other times. Ends when the returned function is called.
   */
  onCommit(heard: () => void): () => void
  /** After values were erased: removes copies of them from files that only the Store knows. */
  scrub(): Promise<void>
  /**
   * Rewrites the files, so that they contain only present data. Throws a StartError if the database manages its files
   * itself.
   */
  vacuum(): Promise<void>
  /** Throws if the database does not answer or takes no writes. Leaves nothing behind. */
  ping(): Promise<void>
  /** Figures for admins: sizes, connections. */
  figures(): Promise<Readonly<Record<string, string | number | boolean>>>
  close(): Promise<void>
}
