import type { AnyAnswer } from '../../api/context.ts'
import type { BodyKind, Method } from '../../api/endpoint.ts'
import type { Incoming } from './incoming.ts'

/** What answers one method of a path: an endpoint with its Plan bound to it, or a page. */
export interface Handler {
  readonly body: BodyKind | undefined
  readonly maxBytes?: number | undefined
  /** The types of its answers, the preferred one first. */
  readonly produces: readonly string[]
  /** The names of its query parameters. */
  readonly takes: readonly string[]
  /** Whether `dry_run`, `plan` and `cursor` are kept apart from them. */
  readonly plans?: boolean
  /** For a browser: needs neither `Accept` nor a token. */
  readonly page?: boolean
  /** Not rate limited: for monitoring. */
  readonly unlimited?: boolean | undefined
  /** Counted as a write, though it is a GET. */
  readonly writes?: boolean | undefined
  /** Counted as a read, though it is no GET: it counts its writes itself. */
  readonly reads?: boolean | undefined
  /** Whether it is a sign-up, if the caller is not signed in. */
  signsUp?(): boolean
  /** Also for accounts whose password has expired. */
  readonly expired?: boolean | undefined
  /** Also for accounts that must set up a second factor first. */
  readonly withoutFactor?: boolean | undefined
  run(call: Incoming): AnyAnswer | Promise<AnyAnswer>
}

/** A path, without its trailing `/`, or with `/*` for all that begin so, and what each method does there. */
export interface Route {
  readonly path: string
  readonly methods: Readonly<Partial<Record<Method, Handler>>>
}
