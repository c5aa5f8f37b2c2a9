import type { JsonSchema } from '../declare/fields/field.ts'
import type { Code } from '../errors.ts'
import type { Method } from '../serve/http/route.ts'
import type { Parameter, SharedParameter } from './parameters.ts'

/** One call of the API: all that the document and the reference page say about it. */
export interface Operation {
  readonly method: Method
  /** As it is written in the document: with `{id}`, and with its trailing `/` for Entities. */
  readonly path: string
  readonly id: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  /** Whether it can be called without a token. */
  readonly open: boolean
  readonly parameters: readonly (Parameter | SharedParameter)[]
  readonly body:
    | { readonly schema: JsonSchema; readonly example: unknown; readonly optional?: boolean }
    | undefined
  readonly answers: readonly Success[]
  readonly codes: readonly Code[]
}

export interface Success {
  readonly status: number
  readonly description: string
  readonly headers: readonly HeaderName[]
  readonly schema?: JsonSchema
  readonly example?: unknown
}

/** `components.headers` */
export const headers = {
  'Request-Id': header('Names this request in the log.'),
  ETag: header(
    'The version and a hash of the answer, in quotes: for `If-Match`, which looks at the version, and `If-None-Match`, which looks at both.',
  ),
  Location: header('The path of the new Entity.'),
  'Takeback-Device': header('Send it with later logins: they are recognised as coming from a known device.'),
  'Takeback-Operation': header('Names the change in the journal. Not there where nothing was written.'),
  'Idempotent-Replay': header('`true` where this is the first answer to the same `Idempotency-Key`, again.'),
  'Takeback-Unmapped': header(
    'Dot paths of the former version that have no place in the declaration any more.',
  ),
  'Retry-After': header('In how many seconds to try again.', 'integer'),
  RateLimit: header('What is left of the limit, and in how many seconds all of it is: `"writes";r=0;t=20`.'),
  'RateLimit-Policy': header(
    'How many may come at once, and the seconds that as many take to be refilled: `"writes";q=2000;w=20`.',
  ),
  'Accept-Encoding': header('How a body may be compressed, where it was compressed in another way.'),
  'WWW-Authenticate': header('`Bearer`, with `error="invalid_token"` where a token was sent.'),
} as const

export type HeaderName = keyof typeof headers

function header(description: string, type = 'string'): object {
  return { description, schema: { type } }
}
