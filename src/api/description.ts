import { budget } from '../budget.ts'
import type { HookName } from '../declare/code.ts'
import type { Action } from '../declare/define.ts'
import type { JsonSchema } from '../declare/fields/field.ts'
import type { EntityType, Model } from '../declare/model.ts'
import type { Code } from '../errors.ts'
import type { Parameter } from './parameters.ts'

/** The tags of endpoints that do not belong to an Entity type. */
export const SESSIONS = 'Sessions'
export const KEYS = 'Keys'
export const OPERATIONS = 'Operations'
export const CHANGES = 'Changes'
export const SERVICE = 'Service'
export const SYSTEM = 'System'
/** The tag of the user's own routes. */
export const CUSTOM = 'Custom'

/** A successful answer. */
export interface Success {
  readonly status: number
  readonly description: string
  readonly headers: readonly HeaderName[]
  readonly schema?: JsonSchema
  readonly example?: unknown
}

/** How the document and the reference page describe an endpoint. */
export interface Description {
  readonly summary: string
  readonly description: string
  readonly body?: { readonly schema: JsonSchema; readonly example: unknown }
  /** The query of its example, if it needs one. */
  readonly query?: string
  readonly answers: readonly Success[]
  /** Parameters that no other endpoint has. */
  readonly parameters?: readonly Parameter[]
  /** The failures of the endpoint, besides those that any call can have. */
  readonly codes: readonly Code[]
  /** Whether it can be called without a token, if `access` or `rule` alone do not decide that. */
  readonly open?: boolean
}

/** What an endpoint of the server can use to describe itself. */
export interface AboutServer {
  readonly model: Model
  /** A body that creates an Entity of this type. */
  sample(type: EntityType): Readonly<Record<string, unknown>>
  /** Whether anyone may do the action without a token. */
  isPublic(type: EntityType, action: Action): boolean
}

/** What an endpoint of an Entity type can use to describe itself. */
export interface AboutEntity extends AboutServer {
  readonly type: EntityType
  /** One Entity in words, such as `a booking`. */
  readonly one: string
  /** A schema of this type. */
  schema(kind: SchemaKind): JsonSchema
  /** A sample Entity, as the API returns it. */
  readonly answer: Readonly<Record<string, unknown>>
  /** Who may do the action, in words such as `signed-in users`. */
  audience(action: Action): string
  /** Who may do which action, one sentence each. */
  access(...actions: readonly Action[]): string
  /** The failures for callers who may not. `whole`: the call is not about one Entity, so there is nothing to hide. */
  refusals(action: Action, whole: boolean): Code[]
}

/** The schemas of a type. `made` answers a created list, `part` has only some `fields`, `self` is the calling user. */
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

/** Every header of an answer. In the document they are `components.headers`. */
export const headers = {
  'Request-Id': header('The id of this request in the server log.'),
  ETag: header(
    'The version and a hash of the answer, in quotes. `If-Match` compares the version, `If-None-Match` compares both.',
  ),
  Location: header('The path of the new Entity, or where a browser goes next.'),
  'Set-Cookie': header('Ties the login to the browser that started it.'),
  'Takeback-Device': header('Send this with later logins, so that they count as coming from a known device.'),
  'Takeback-Operation': header('The id of the operation in the journal. Absent if nothing was written.'),
  'Takeback-Position': header(
    'The position in the journal at which the data was read. Follow changes from there with `GET /api/changes/?since=`.',
  ),
  'Idempotent-Replay': header(
    '`true` if this repeats the first answer to a request with the same `Idempotency-Key`.',
  ),
  'Takeback-Unmapped': header('Dot paths of the old version that are no longer declared.'),
  'Retry-After': header('Seconds to wait before trying again.', 'integer'),
  RateLimit: header(
    'Requests left (`r`), and seconds until the limit is full again (`t`): `"writes";r=0;t=20`.',
  ),
  'RateLimit-Policy': header(
    'The burst that is allowed (`q`), and the seconds that an empty limit takes to fill (`w`): `"writes";q=2000;w=20`.',
  ),
  'Accept-Encoding': header('The encodings that a body may have. Sent when the body had another one.'),
  'WWW-Authenticate': header('`Bearer`, with `error="invalid_token"` if a token was sent.'),
} as const

export type HeaderName = keyof typeof headers

function header(description: string, type = 'string'): object {
  return { description, schema: { type } }
}

/** Returns the Entity type that examples use: one without a login, if there is one. */
export function exampleType({ entities }: Model): EntityType | undefined {
  const types = [...entities.values()]
  return types.find(({ login }) => login === undefined) ?? types[0]
}

export function refTo(schema: string): JsonSchema {
  return { $ref: `#/components/schemas/${schema}` }
}

/** A list, as long as one request may write. */
export function manyOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items, minItems: 1, maxItems: budget.batchParts }
}

/** An object with these keys and no others. */
export function closedObject(
  properties: Record<string, JsonSchema>,
  required: readonly string[],
): JsonSchema {
  return { type: 'object', properties, required, additionalProperties: false }
}

/** The name of a type's schema. If a declared type is itself called `bookings_create`, it keeps that name. */
export function schemaName(model: Model, type: EntityType, kind: SchemaKind): string {
  if (kind === 'one') return type.name
  let name = `${type.name}_${kind}`
  while (model.entities.has(name)) name += '_'
  return name
}

/** An answer with the Entity and its `ETag`. */
export function entitySuccess(about: AboutEntity, status: number, description: string): Success {
  return { status, description, headers: ['ETag'], schema: about.schema('one'), example: about.answer }
}

/** The same, for a write. */
export function written(success: Success): Success {
  return { ...success, headers: [...success.headers, 'Takeback-Operation'] }
}

/** The same, for a call that takes an `Idempotency-Key`. */
export function replayable(success: Success): Success {
  return { ...success, headers: [...success.headers, 'Idempotent-Replay'] }
}

/** The additional failures of a write whose type has this hook. */
export function hookCodes({ type }: AboutEntity, hook: HookName): Code[] {
  return type.before?.[hook] === undefined ? [] : ['forbidden']
}
