import type { RateLimits } from '../../api/limits/rate-limits.ts'
import type { Standing } from '../../api/limits/token-bucket.ts'
import type { Caller } from '../../plan/viewer/actor.ts'
import type { Client } from './address.ts'
import type { Peers } from './clients.ts'

/** What is known of a request besides its content. Most of it is logged. */
export interface RequestFacts {
  readonly path: string
  readonly search: string
  readonly started: number
  readonly requestId: string
  readonly client: Client
  readonly rates: RateLimits
  /** The limits that it was held against, and what they have left. */
  standings: readonly Standing[]
  /** How many sign-ups have been counted for it. */
  signUps?: number
  readonly server: Peers
  /** Aborted once the server is to stop. */
  readonly stopping: AbortSignal
  caller?: Caller
  /** The digest of the account, for a login. */
  account?: string
  /** The tool that an agent used, and what it answered. */
  tool?: { readonly name: string; readonly status: number }
}
