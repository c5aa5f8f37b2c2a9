import type { Follower } from '../live/follower.ts'
import type { Queue } from '../work/queues.ts'
import type { Recurring } from '../work/recurring.ts'
import type { Context, Opened, PastPiece } from './context.ts'
import type { Endpoints } from './endpoint.ts'

/**
 * A part of the server. Its tables are in `store/own.ts`. Takeback's own endpoints are listed in `endpoints.ts`, so
 * `endpoints` is for parts from outside.
 */
export interface Part<Piece extends object = object> {
  readonly name: string
  /** Makes its piece of the Context, for its endpoints and work. `past` is the journal's piece, which is made first. */
  compile?(opened: Opened, past: PastPiece): Piece
  readonly endpoints?: Partial<Endpoints>
  /** Its recurring background work. */
  recurring?(context: Context): readonly Recurring[]
  /** Its queues, which run tasks. */
  queues?(context: Context): readonly Queue[]
  /** Its followers, which make tasks for these queues from the journal. */
  followers?(context: Context): readonly Follower[]
  /** Runs before anything is served or written, by a server or a command. */
  prepare?(context: Context): Promise<void>
}
