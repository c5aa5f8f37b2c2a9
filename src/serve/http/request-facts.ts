import type { RateLimits } from '../../api/limits/rate-limits.ts'
import type { RateLimitStatus } from '../../api/limits/token-bucket.ts'
import type { Caller } from '../../plan/viewer/actor.ts'
import type { Client } from './address.ts'
import type { Peers } from './clients.ts'

/** What is known about a request besides its content. Most of it is logged. */
export interface RequestFacts {
  readonly path: string
  readonly search: string
  readonly started: number
  readonly requestId: string
  readonly client: Client
  readonly rates: RateLimits
  /** The rate limits that were checked, and what is left of them. */
  rateLimits: readonly RateLimitStatus[]
  /** How many sign-ups were counted for the request. */
  signUps?: number
  readonly server: Peers
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal
  caller?: Caller
  /** The digest of the account, for a login. */
  account?: string
  /** The tool that an agent used, and the status of its answer. */
  tool?: { readonly name: string; readonly status: number }
}
