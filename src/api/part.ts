import type { Follower } from '../live/follower.ts'
import type { Queue } from '../work/queues.ts'
import type { Recurring } from '../work/recurring.ts'
import type { Context, Opened, PastPiece } from './context.ts'
import type { Endpoints } from './endpoint.ts'

/**
 * A part of the server. Its own tables are in `store/own.ts`; Takeback's own endpoints are listed in `endpoints.ts`, so
 * `endpoints` is for parts that come from outside.
 */
export interface Part<Piece extends object = object> {
  readonly name: string
  /** Makes what its endpoints and its work need: its piece of the Context. `past` is the journal, there before all others. */
  compile?(opened: Opened, past: PastPiece): Piece
  readonly endpoints?: Partial<Endpoints>
  /** What it does again and again, beside requests. */
  recurring?(context: Context): readonly Recurring[]
  /** The tasks that it takes. */
  queues?(context: Context): readonly Queue[]
  /** Those who make tasks for these queues from the journal. */
  followers?(context: Context): readonly Follower[]
  /** What must be done before anything is served or written, by a server or a command. */
  prepare?(context: Context): Promise<void>
}
