import type { AnyAnswer } from '../../api/context.ts'
import type { BodyKind, Method } from '../../api/endpoint.ts'
import type { HttpCall } from './http-call.ts'

/** Answers one method of a path: an endpoint with its Plan, or a page. */
export interface Handler {
  readonly body: BodyKind | undefined
  readonly maxBytes?: number | undefined
  /** The types of its answers, the preferred one first. */
  readonly produces: readonly string[]
  /** The names of its query parameters. */
  readonly takes: readonly string[]
  /** Whether `dry_run`, `plan` and `cursor` are kept apart from the other parameters. */
  readonly plans?: boolean
  /** Whether it is a page for browsers, which needs neither `Accept` nor a token. */
  readonly page?: boolean
  /** Whether it is exempt from rate limits, for monitoring. */
  readonly unlimited?: boolean | undefined
  /** Whether it counts as a write, though it is a GET or only reads. */
  readonly writes?: boolean | undefined
  /** Whether it counts as a read, although it is no GET: it only reads, or it counts its writes itself. */
  readonly reads?: boolean | undefined
  /** Whether it is a sign-up, if the caller is not signed in. */
  signsUp?(): boolean
  /** Whether accounts with an expired password may call it. */
  readonly expired?: boolean | undefined
  /** Whether accounts that must first set up a second factor may call it. */
  readonly withoutFactor?: boolean | undefined
  run(call: HttpCall): AnyAnswer | Promise<AnyAnswer>
}

/** A path and its methods. The path has no trailing `/`, or ends with `/*` to match everything below it. */
export interface Route {
  readonly path: string
  readonly methods: Readonly<Partial<Record<Method, Handler>>>
}
