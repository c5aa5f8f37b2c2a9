import type { Soon } from '../soon.ts'
import type { Work } from './act.ts'
import type { Dialect, Params, Row } from './dialect.ts'
import type { Structure } from './migration/structure.ts'
import type { SlowStatements } from './slow-statements.ts'
import type { Statement } from './sql.ts'
import type { Outcome, Step } from './step.ts'

/** A database that executes Plans. */
export interface Store {
  readonly dialect: Dialect
  /** What took long of late. */
  readonly slow: SlowStatements
  readonly structure: Structure
  /** Grows when others have committed, as far as it can tell: caches are then invalid. */
  readonly others: number
  /** From here on, it answers for as long as nobody has changed the structure of the data into one that this generation does not get along with. */
  serve(generation: number): void
  /** The secret that signs tokens, made once, unless it is given, and kept where the data are. */
  keepSecret(given?: string): Promise<string>
  /** The same, where there is one already; asked before anything is made, too. */
  secret(): Promise<string | undefined>
  /** At once, if the database does not have to be waited for. */
  read(statement: Statement, params: Params): Soon<readonly Row[]>
  /**
   * One transaction. When the promise is fulfilled with `done`, it is on disk. Nothing is written where the signal is
   * aborted before it begins, which is at least one turn of the event loop later.
   */
  write(steps: readonly Step[], params: Params, signal?: AbortSignal): Promise<Outcome>
  /**
   * All that it asks for in one transaction, which nobody sees half of. A write of it that is refused leaves nothing
   * behind, and it goes on; where it throws, nothing of it stays. It may be made and run more than once. The signal is
   * that of `write`.
   */
  transact<T>(make: () => Work<T>, signal?: AbortSignal): Promise<T>
  /**
   * Up to which number no change will be added to the journal any more, where `last` is one that is there: that one, or a
   * lesser one where others are writing. Numbers are given before commits, which may come in another order. Undefined where
   * it is not known yet: a moment later it is.
   */
  settled(last: number): Promise<number | undefined>
  /** A number that was settled a moment ago, and costs nothing to know; undefined where none is known yet. */
  readonly recent: number | undefined
  /**
   * Calls `heard` soon after something was committed, by this process or, as far as the database tells, by others; and
   * perhaps after something else. Until the function that it returns is called.
   */
  onCommit(heard: () => void): () => void
  /** After values were erased: leaves no copy of them in files that only the Store knows. */
  scrub(): Promise<void>
  /**
   * Rewrites the files, so that they have nothing but what is there. Throws a StartError where the database keeps its
   * files itself.
   */
  vacuum(): Promise<void>
  /** Throws where the database does not answer, or takes no writes. Leaves nothing behind. */
  ping(): Promise<void>
  /** What an admin wants to know: sizes, connections. */
  figures(): Promise<Readonly<Record<string, string | number | boolean>>>
  close(): Promise<void>
}
