import { budget } from '../budget.ts'
import type { JsonSchema } from '../declare/fields/field.ts'

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

/** Every parameter that means the same for all types. In the OpenAPI document they are `components.parameters`. */
export const shared = {
  id: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of the Entity.',
    schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, examples: [1] },
  },
  'If-Match': header(
    'If-Match',
    'One or more ETags, or versions in quotes, such as `"3"`: the write is made only where the Entity is still at one of these versions.',
  ),
  'If-None-Match': header(
    'If-None-Match',
    'One or more ETags, such as `"3-1x9k2f"`: answers 304 where the answer would still have one of them.',
  ),
  'Takeback-Device': header(
    'Takeback-Device',
    'As a former login answered: wrong guesses of others then do not keep this client waiting.',
  ),
  'Idempotency-Key': {
    ...header(
      'Idempotency-Key',
      'A key of your own for this request. For 24 hours the same request with the same key is not done again, but answered as it first was. Another request with the same key is refused.',
    ),
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
  },
  'Takeback-Run': {
    ...header(
      'Takeback-Run',
      'The run that this write belongs to, so that all of a run can be found and undone.',
    ),
    schema: { type: 'string', minLength: 1, maxLength: budget.runCharacters, pattern: '^[!-~]+$' },
  },
  'Takeback-Reason': {
    ...header('Takeback-Reason', 'Why this write is made, as percent-encoded UTF-8.'),
    schema: { type: 'string', minLength: 1, pattern: '^[ -~]+$' },
  },
  run: query('run', 'Only what belongs to this run: the header `Takeback-Run`.', {
    type: 'string',
    minLength: 1,
    maxLength: budget.runCharacters,
    pattern: '^[!-~]+$',
  }),
  limit: query('limit', 'How many on a page.', {
    type: 'integer',
    minimum: 1,
    maximum: budget.pageEntities,
    default: budget.pageDefault,
  }),
  cursor: query('cursor', 'The `next` of the page before, sent with the same `sort`.', {
    type: 'string',
    minLength: 1,
  }),
  filter: query(
    'filter',
    'A condition in CEL over dot paths: `guests >= 3 && room.title.startsWith("Sea")`. At most 4 KiB.',
    { type: 'string', minLength: 1, maxLength: 4096 },
  ),
  count: query('count', '`1` adds `total`: how many there are in all.', flag),
  trashed: query('trashed', 'The deleted ones: `only` these, or `with` the live ones.', {
    type: 'string',
    enum: ['only', 'with'],
  }),
  at: query(
    'at',
    'A time: answers with what was live then, as it stood then. For those who may see the history.',
    {
      type: 'string',
      format: 'date-time',
    },
  ),
  operation: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of an operation, as `Takeback-Operation` gives it.',
    schema: { type: 'string', format: 'uuid', examples: ['01973a2e-7c40-7000-8000-5f1d2c3b4a59'] },
  },
  actor: query('actor', 'Only what this user did, such as `users/3`; or `system`.', { type: 'string' }),
  since: query('since', 'Only from this time on.', { type: 'string', format: 'date-time' }),
  until: query('until', 'Only before this time: it is not part of it.', {
    type: 'string',
    format: 'date-time',
  }),
  entity: query('entity', 'Only what touched this Entity type.', { type: 'string' }),
  dry_run: query(
    'dry_run',
    '`1` shows what would change and what stands in the way, and writes nothing.',
    flag,
  ),
  skip_conflicts: query('skip_conflicts', '`1` takes back the rest where something stands in the way.', flag),
  plan: query('plan', 'From a preview: exactly that is done, or nothing (412 `plan_changed`).', {
    type: 'string',
  }),
  with: query(
    'with',
    '`dependents` also deletes what hangs from what is to go, or empties its references; `targets` also restores the deleted Entities that are referred to. Both with a comma between them.',
    { type: 'string', enum: ['targets', 'dependents', 'targets,dependents', 'dependents,targets'] },
  ),
  with_targets: query(
    'with',
    '`targets`, with `restore=1`: also restores the deleted Entities that it refers to.',
    { type: 'string', enum: ['targets'] },
  ),
  restore: query('restore', '`1` takes the delete back.', flag),
  purge: query('purge', '`1` erases for good what is deleted already.', flag),
} as const satisfies Record<string, Parameter>

/** The headers that every write takes. */
export const writing = ['Idempotency-Key', 'Takeback-Run', 'Takeback-Reason'] as const

/**
 * Parameters that depend on the Entity type, and the names that each of them takes. `equalities` are the dot paths of the
 * type, as in `?customer.id=5`: whatever else is sent is looked at as one of them.
 */
export const typed = {
  search: ['search'],
  sort: ['sort'],
  fields: ['fields'],
  expand: ['expand'],
  figures: ['group', 'sum', 'avg', 'min', 'max'],
  equalities: [],
} as const satisfies Record<string, readonly string[]>

type Shared = typeof shared
type Typed = typeof typed
/** What an endpoint lists as its parameters. */
export type ParameterName = keyof Shared | keyof Typed

/** The names behind `?` that come with a parameter. */
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
