import { budget } from '../budget.ts'
import type { Action } from '../declare/define.ts'
import type { JsonSchema } from '../declare/fields/field.ts'
import type { EntityType, Model } from '../declare/model.ts'
import type { Code } from '../errors.ts'

/** The headings of what is served once. */
export const SESSIONS = 'Sessions'
export const OPERATIONS = 'Operations'
export const SERVICE = 'Service'

/** An answer that is no failure. */
export interface Success {
  readonly status: number
  readonly description: string
  readonly headers: readonly HeaderName[]
  readonly schema?: JsonSchema
  readonly example?: unknown
}

/** What the document and the reference page say about an endpoint. */
export interface Description {
  readonly summary: string
  readonly description: string
  readonly body?: { readonly schema: JsonSchema; readonly example: unknown }
  readonly answers: readonly Success[]
  /** How it can fail, besides the ways in which every call can. */
  readonly codes: readonly Code[]
  /** Whether it can be called without a token, where that depends on more than `access` or `rule`. */
  readonly open?: boolean
}

/** What a description is made of. */
export interface AboutServer {
  readonly model: Model
  /** A body that creates one of a type. */
  sample(type: EntityType): Readonly<Record<string, unknown>>
  /** Whether everybody may, without a token. */
  isPublic(type: EntityType, action: Action): boolean
}

/** The same for one Entity type. */
export interface AboutEntity extends AboutServer {
  readonly type: EntityType
  /** A schema of this type. */
  schema(kind: SchemaKind): JsonSchema
  /** An Entity as it comes back. */
  readonly answer: Readonly<Record<string, unknown>>
  /** Who may, in words that stand alone: `whoever is signed in`. */
  audience(action: Action): string
  /** Who may do what, a sentence each. */
  access(...actions: readonly Action[]): string
  /** How those who may not are answered. `whole`: the call is not about one Entity, so there is nothing to hide. */
  refusals(action: Action, whole: boolean): Code[]
}

/** What an Entity type has schemas for. `made` is what comes of a list of new ones, `part` is what `fields` leaves of it, `self` what login shows. */
export type SchemaKind =
  | 'one'
  | 'create'
  | 'made'
  | 'patch'
  | 'replace'
  | 'list'
  | 'part'
  | 'trashed'
  | 'self'

/** Every header that an answer can have: in the document they are `components.headers`. */
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

export function refTo(schema: string): JsonSchema {
  return { $ref: `#/components/schemas/${schema}` }
}

/** A list of as many as can be written in one go. */
export function manyOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items, minItems: 1, maxItems: budget.batchParts }
}

/** An object with these keys and no others. */
export function object(properties: Record<string, JsonSchema>, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, required, additionalProperties: false }
}

/** The name of a type's schema. A declared type may be called `bookings_create` itself, and keeps its name then. */
export function schemaName(model: Model, type: EntityType, kind: SchemaKind): string {
  if (kind === 'one') return type.name
  let name = `${type.name}_${kind}`
  while (model.entities.has(name)) name += '_'
  return name
}

/** The Entity, with its version in a header. */
export function entitySuccess(about: AboutEntity, status: number, description: string): Success {
  return { status, description, headers: ['ETag'], schema: about.schema('one'), example: about.answer }
}

/** The same as the answer to a write. */
export function written(success: Success): Success {
  return { ...success, headers: [...success.headers, 'Takeback-Operation'] }
}

/** The same where an `Idempotency-Key` is taken. */
export function replayable(success: Success): Success {
  return { ...success, headers: [...success.headers, 'Idempotent-Replay'] }
}
