import { budget } from '../budget.ts'
import type { JsonSchema } from '../declare/fields/field.ts'
import { TAG_LIST } from './tags.ts'

/** A parameter as OpenAPI describes it. */
export interface Parameter<Name extends string = string> {
  readonly name: Name
  readonly in: 'path' | 'query' | 'header'
  readonly description: string
  readonly required?: boolean
  readonly style?: 'form'
  readonly explode?: boolean
  readonly schema: JsonSchema
}

const flag: JsonSchema = { type: 'string', enum: ['0', '1'], default: '0' }

export function query<const Name extends string>(
  name: Name,
  description: string,
  schema: JsonSchema,
): Parameter<Name> & { readonly in: 'query' } {
  return { name, in: 'query', description, schema }
}

function header(name: string, description: string): Parameter & { readonly in: 'header' } {
  return { name, in: 'header', description, schema: { type: 'string' } }
}

function tags(name: string, description: string): Parameter & { readonly in: 'header' } {
  return { ...header(name, description), schema: { type: 'string', pattern: TAG_LIST } }
}

/** Every parameter with the same meaning for all Entity types. In the document they are `components.parameters`. */
export const shared = {
  id: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of the Entity.',
    schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, examples: [1] },
  },
  key: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The number of a key.',
    schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, examples: [7] },
  },
  task: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The number of a task.',
    schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, examples: [1] },
  },
  job: {
    name: 'name',
    in: 'path',
    required: true,
    description: 'The name of a job.',
    schema: { type: 'string', examples: ['nightly'] },
  },
  webhook: {
    name: 'name',
    in: 'path',
    required: true,
    description: 'The name of a webhook.',
    schema: { type: 'string', examples: ['erp'] },
  },
  queue: query('queue', 'Only tasks of this queue, such as `reactions` or `mail`.', {
    type: 'string',
    minLength: 1,
  }),
  task_state: query('state', 'Only tasks that are `waiting` or `running`, or were set `aside`.', {
    type: 'string',
    enum: ['waiting', 'running', 'aside'],
  }),
  'If-Match': tags(
    'If-Match',
    'One or more ETags, or versions in quotes, such as `"3"`. The write is made only if the Entity is still at one of these versions.',
  ),
  'If-None-Match': tags(
    'If-None-Match',
    'One or more ETags, such as `"3-1x9k2f"`. If the answer still has one of them, the status is 304 and there is no body.',
  ),
  'Takeback-Device': header(
    'Takeback-Device',
    'The value that an earlier login returned. With it, wrong guesses by others do not make this client wait.',
  ),
  'Idempotency-Key': {
    ...header(
      'Idempotency-Key',
      'A key that you choose for this request. For 24 hours, the same request with the same key is not run again: it gets the first answer again. A different request with the same key is refused.',
    ),
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
  },
  'Takeback-Run': {
    ...header('Takeback-Run', 'Marks this write as part of a run. A whole run can be found and undone.'),
    schema: { type: 'string', minLength: 1, maxLength: budget.runCharacters, pattern: '^[!-~]+$' },
  },
  'Takeback-Reason': {
    ...header('Takeback-Reason', 'The reason for this write, as percent-encoded UTF-8.'),
    schema: { type: 'string', minLength: 1, pattern: '^[ -~]+$' },
  },
  kind: query('kind', 'Only operations with a change of this kind; with `entity`, of that type or Entity.', {
    type: 'string',
    enum: ['create', 'update', 'delete', 'restore', 'purge', 'migrate'],
  }),
  cause: query('cause', 'Only operations that reactions made because of this operation.', {
    type: 'string',
    format: 'uuid',
  }),
  everybody: query('everybody', '`1`: of all users. Only for admins.', flag),
  run: query('run', 'Only operations of this run (sent as `Takeback-Run`).', {
    type: 'string',
    minLength: 1,
    maxLength: budget.runCharacters,
    pattern: '^[!-~]+$',
  }),
  limit: query('limit', 'Page size.', {
    type: 'integer',
    minimum: 1,
    maximum: budget.pageEntities,
    default: budget.pageDefault,
  }),
  groups: query('limit', 'Page size.', {
    type: 'integer',
    minimum: 1,
    maximum: budget.pageEntities,
    default: budget.pageEntities,
  }),
  cursor: query('cursor', 'The `next` of the previous page. Send the same `sort`.', {
    type: 'string',
    minLength: 1,
  }),
  filter: query(
    'filter',
    'A CEL expression over dot paths: `guests >= 3 && room.title.startsWith("Sea")`. At most 4 KiB.',
    { type: 'string', minLength: 1, maxLength: 4096 },
  ),
  matching: {
    ...query('filter', 'Which Entities, as in a list. `true` means all.', {
      type: 'string',
      minLength: 1,
      maxLength: budget.expressionBytes,
    }),
    required: true,
  },
  count: query('count', '`1` adds `total`, the number on all pages.', flag),
  group_count: query(
    'count',
    '`1` adds the number of Entities. Without any figure, it is there anyway.',
    flag,
  ),
  trashed: query('trashed', 'Deleted Entities: `only` these, or `with` the live ones.', {
    type: 'string',
    enum: ['only', 'with'],
  }),
  at: query('at', 'A time. Returns the data as it was then. Needs access to the history.', {
    type: 'string',
    format: 'date-time',
  }),
  operation: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of an operation, from the `Takeback-Operation` header.',
    schema: { type: 'string', format: 'uuid', examples: ['01973a2e-7c40-7000-8000-5f1d2c3b4a59'] },
  },
  actor: query(
    'actor',
    "Only operations by this actor: a user such as `users/3`, with all that was done in the user's name; `system`; or `keys/7`, `jobs/nightly`, `reactions/orders.update`, `admins/1 as users/5`.",
    { type: 'string' },
  ),
  user: query('user', 'Another user, such as `users/5`. Only for admins.', {
    type: 'string',
    pattern: '^[a-z][a-z0-9_]*/[1-9][0-9]*$',
  }),
  others: {
    ...query('others', '`1`: all of them, except the session that asks.', { type: 'string', enum: ['1'] }),
    required: true,
  },
  passkey: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of a passkey.',
    schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, examples: [1] },
  },
  session: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of a session.',
    schema: { type: 'string', examples: ['Zk3VfZ0m1xJ8b2tq9aQyWg'] },
  },
  since: query('since', 'Only operations at this time or later.', { type: 'string', format: 'date-time' }),
  position: query(
    'since',
    'A position: the `Takeback-Position` of a list or a read, or the `next` of an answer. Default: now.',
    { type: 'string', minLength: 1 },
  ),
  entities: query('entity', 'Entity types, separated by commas. Default: all that you may read.', {
    type: 'string',
    minLength: 1,
  }),
  chosen: query('fields', 'The dot paths to return, with one Entity type. Default: all.', {
    type: 'string',
    minLength: 1,
  }),
  changes: query('limit', 'The answer ends with the operation that reaches this many changes.', {
    type: 'integer',
    minimum: 1,
    maximum: budget.pageEntities,
    default: budget.pageEntities,
  }),
  wait: query('wait', 'If nothing has changed, waits this many seconds for a change. Not for streams.', {
    type: 'integer',
    minimum: 0,
    maximum: budget.feedWaitSeconds,
    default: 0,
  }),
  ticket: query('ticket', 'A ticket from `POST /api/auth/ticket/`, for clients that cannot send headers.', {
    type: 'string',
    minLength: 1,
  }),
  'Last-Event-ID': header(
    'Last-Event-ID',
    'For streams: the id of the last event. Browsers send it when they connect again. It wins over `since`.',
  ),
  until: query('until', 'Only operations before this time.', { type: 'string', format: 'date-time' }),
  entity: query('entity', 'Only operations on this Entity type, or on one Entity, such as `bookings/7`.', {
    type: 'string',
  }),
  base: query(
    'base',
    'The version that the change was made from. Refused only if one of the same fields was changed since (409 `changed_meanwhile`).',
    { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
  ),
  dry_run: query('dry_run', '`1` shows the changes and the conflicts, and writes nothing.', flag),
  undo: query('undo', '`1` also takes back what the key has done.', flag),
  skip_conflicts: query('skip_conflicts', '`1` skips conflicts and takes back the rest.', flag),
  plan: query('plan', 'The `plan` of a preview. Does exactly that, or nothing (412 `plan_changed`).', {
    type: 'string',
  }),
  with: query(
    'with',
    '`dependents` also deletes Entities that refer to a deleted one, or clears their references. `targets` also restores deleted Entities that a restored one refers to. Use a comma for both.',
    { type: 'string', enum: ['targets', 'dependents', 'targets,dependents', 'dependents,targets'] },
  ),
  with_effects: query(
    'with_effects',
    '`1` also takes back what reactions wrote because of the operation, and what further reactions wrote because of that. Only for admins.',
    flag,
  ),
  with_targets: query(
    'with',
    '`targets`, with `restore=1`: also restores deleted Entities that this one refers to.',
    { type: 'string', enum: ['targets'] },
  ),
  provider: {
    name: 'name',
    in: 'path',
    required: true,
    description: 'The name of a provider, as the list of providers has it.',
    schema: { type: 'string', examples: ['google'] },
  },
  identity: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of an identity.',
    schema: { type: 'integer', minimum: 1, examples: [1] },
  },
  return_to: query(
    'return_to',
    'Where the browser comes back to: an address on an allowed origin. Default: `TAKEBACK_APP_URL`.',
    { type: 'string', format: 'uri' },
  ),
  user_type: query('user_type', 'The user type to log in as. Default: all are tried.', { type: 'string' }),
  code_challenge: query(
    'code_challenge',
    'The SHA-256 digest, in base64url, of a text that must be sent as `code_verifier` with the code.',
    { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$' },
  ),
  link: query('link', 'Only as part of a URL from `POST /api/auth/providers/{name}/link`.', {
    type: 'string',
    minLength: 1,
  }),
  state: query('state', 'The value that this server sent to the provider.', { type: 'string' }),
  provider_code: query('code', 'From the provider.', { type: 'string' }),
  provider_error: query('error', 'From the provider, if the login failed there.', { type: 'string' }),
  iss: query('iss', 'The issuer, if the provider sends it.', { type: 'string' }),
  restore: query('restore', '`1` restores a deleted Entity.', flag),
  purge: query('purge', '`1` erases a deleted Entity for good.', flag),
} as const satisfies Record<string, Parameter>

/** The headers that every write accepts. */
export const writing = ['Idempotency-Key', 'Takeback-Run', 'Takeback-Reason'] as const

/** The parameters of every write that can be previewed. */
export const planning = ['dry_run', 'plan', 'cursor'] as const

/**
 * Parameters that depend on the Entity type, with their names in the query. `equalities` are the dot paths of the type,
 * as in `?customer.id=5`: a name that is not listed is taken as one of them.
 */
export const typed = {
  invite: ['invite'],
  verified: ['verified'],
  search: ['search'],
  match: ['match'],
  sort: ['sort'],
  fields: ['fields'],
  expand: ['expand'],
  figures: ['group', 'distinct', 'sum', 'avg', 'min', 'max', 'sort'],
  equalities: [],
} as const satisfies Record<string, readonly string[]>

type Shared = typeof shared
type Typed = typeof typed
/** The names of parameters that an endpoint can list. */
export type ParameterName = keyof Shared | keyof Typed

/** The names that a parameter has in the query. */
export type QueryName<Name extends ParameterName> = Name extends keyof Typed
  ? Typed[Name][number]
  : Name extends keyof Shared
    ? Shared[Name] extends { readonly in: 'query'; readonly name: infer Taken extends string }
      ? Taken
      : never
    : never

export function queryNamesOf<Name extends ParameterName>(names: readonly Name[]): QueryName<Name>[] {
  return names.flatMap((name: ParameterName): readonly string[] => {
    if (name in typed) return typed[name as keyof Typed]
    const one: Parameter = shared[name as keyof Shared]
    return one.in === 'query' ? [one.name] : []
  }) as QueryName<Name>[]
}
