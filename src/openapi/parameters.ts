import { budget } from '../budget.ts'
import type { ColumnKind, JsonSchema } from '../declare/fields/field.ts'
import {
  columnOf,
  type EntityType,
  isPointing,
  type Model,
  reversesOf,
  type ValueField,
  walk,
} from '../declare/model.ts'
import { readablePaths, shapes } from '../plan/condition/query.ts'
import { LIST_PARAMETERS, SUMMARY_PARAMETERS } from '../plan/read/list-query.ts'
import { searchedPaths } from '../plan/read/search.ts'
import { NUMBERS, ORDERED } from '../plan/read/summary.ts'
import { ownColumns } from '../plan/tables/columns.ts'

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly description: string
  readonly required?: boolean
  readonly style?: 'form'
  readonly explode?: boolean
  readonly schema: JsonSchema
}

/** A parameter that all types share, by its key in `shared`. */
export interface SharedParameter {
  readonly $ref: string
}

const flag: JsonSchema = { type: 'string', enum: ['0', '1'], default: '0' }

function query(name: string, description: string, schema: JsonSchema): Parameter {
  return { name, in: 'query', description, schema }
}

function header(name: string, description: string): Parameter {
  return { name, in: 'header', description, schema: { type: 'string' } }
}

/** `components.parameters` */
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

export function share(...names: readonly (keyof typeof shared)[]): SharedParameter[] {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }))
}

/** Several in one parameter, with commas between them. */
function severalOf(name: string, description: string, values: readonly string[]): Parameter {
  const schema = { type: 'array', items: { type: 'string', enum: values }, minItems: 1 }
  return { ...query(name, description, schema), style: 'form', explode: false }
}

export function fieldsParameter(type: EntityType): Parameter {
  const paths = [...readablePaths(type.fields)]
  return severalOf('fields', 'The dot paths to answer with; all of them unless told.', paths)
}

export function sortParameter(type: EntityType): Parameter {
  const paths = [...comparablesOf(type).keys()].flatMap((path) => [path, `-${path}`])
  const parameter = severalOf(
    'sort',
    'The dot paths to sort by, `-` for descending; `id` unless told.',
    paths,
  )
  return { ...parameter, schema: { ...parameter.schema, uniqueItems: true } }
}

/** A single value of a type, which its lists can be narrowed and sorted by. */
interface Comparable {
  readonly column: string
  readonly kind: ColumnKind
  readonly field: ValueField | undefined
}

/** All but secrets, presence and JSON. */
function comparablesOf(type: EntityType): Map<string, Comparable> {
  const own = Object.entries(ownColumns).map(([column, kind]) => ({ column, kind, field: undefined }))
  const fields = [...walk(type.fields)].flatMap((field): Comparable[] => {
    const column = columnOf(field)
    if (field.kind === 'reference') return [{ column, kind: 'reference', field: undefined }]
    if (field.kind !== 'value' || field.secret || field.column === 'json') return []
    return [{ column, kind: field.column, field }]
  })
  return new Map([...own, ...fields].map((one) => [one.column, one]))
}

/** Names that mean something else in a list's URL: a field that is called so cannot be asked for in this way. */
const TAKEN = new Set<string>([...LIST_PARAMETERS, 'token'])

/** For types that have something to search. */
export function searchParameters(type: EntityType): Parameter[] {
  const paths = searchedPaths(type)
  if (paths.length === 0) return []
  const where = paths.map((path) => `\`${path}\``).join(', ')
  const description = `Only those that have each of these words in any of ${where}; the last one may be the beginning of a word. At most ${budget.searchWords} words; capitals and accents do not count. Best first, unless \`sort\` is told. Not together with \`at\`.`
  return [query('search', description, { type: 'string', pattern: '[\\p{L}\\p{N}]' })]
}

/** For types that refer to others, or that others refer to by a name. */
export function expandParameters(type: EntityType, model: Model): Parameter[] {
  const own = [...walk(type.fields)].filter(isPointing).map(({ path }) => path)
  const names = [...own, ...reversesOf(model, type.name).map(({ name }) => name)]
  if (names.length === 0) return []
  const description = `What comes along, and what comes along with that, as in \`a,a.b\`: ${names.map((name) => `\`${name}\``).join(', ')}. A reference that would bring too much along stays \`{"id": 5, "truncated": true}\`. Not together with \`at\`.`
  const schema = { type: 'array', items: { type: 'string', examples: names.slice(0, 1) }, minItems: 1 }
  return [{ ...query('expand', description, schema), style: 'form', explode: false }]
}

/** Of a summary: what it is grouped by, and what is told of each group. */
export function figureParameters(type: EntityType): Parameter[] {
  const all = [...comparablesOf(type).values()]
  const of = (kinds: readonly string[]) =>
    all.filter(({ kind }) => kinds.includes(kind)).map(({ column }) => column)
  const numbers = of(NUMBERS)
  const ordered = of(ORDERED)
  return [
    severalOf(
      'group',
      'A line for each combination of these values.',
      all.map(({ column }) => column),
    ),
    severalOf('sum', 'Added up.', numbers),
    severalOf('avg', 'The average.', numbers),
    severalOf('min', 'The least.', ordered),
    severalOf('max', 'The greatest.', ordered),
  ].map((one) => ({ ...one, schema: { ...one.schema, uniqueItems: true } }))
}

/** Names that mean something else in a summary's URL. */
export const SUMMARY_TAKEN = new Set<string>([...SUMMARY_PARAMETERS, 'token'])

/** `?customer.id=5`: one for each dot path that can be compared. */
export function equalityParameters(type: EntityType, taken: ReadonlySet<string> = TAKEN): Parameter[] {
  const free = searchedPaths(type).length === 0 ? 'search' : ''
  return [...comparablesOf(type).values()]
    .filter(({ column }) => !taken.has(column) || column === free)
    .map((one) => query(one.column, `Only those where it is this: ${shapeOf(one)}.`, textSchema(one)))
}

function shapeOf({ kind, field }: Comparable): string {
  if (field?.type === 'choice') return 'one of its values'
  return kind === 'text' ? 'a text' : `${shapes[kind]}, or \`null\``
}

/** A text is taken as it is, so that only other values can be asked for by the word `null`. */
function textSchema({ kind, field }: Comparable): JsonSchema {
  const nullable = (schema: JsonSchema) => ({ anyOf: [schema, { const: 'null' }] })
  switch (kind) {
    case 'integer':
    case 'reference':
      return nullable({ type: 'integer' })
    case 'number':
    case 'boolean':
      return nullable({ type: kind })
    case 'date':
      return nullable({ type: 'string', format: 'date' })
    case 'datetime':
      return nullable({ type: 'string', format: 'date-time' })
    case 'decimal':
      return nullable({ type: 'string', pattern: field?.schema.pattern })
    default:
      return field?.type === 'choice' ? { type: 'string', enum: field.schema.enum } : { type: 'string' }
  }
}
