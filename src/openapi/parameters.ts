import type { EntityEndpoint } from '../api/endpoint.ts'
import { type Parameter, type ParameterName, query, typed } from '../api/parameters.ts'
import { budget } from '../budget.ts'
import { allComputed } from '../declare/computed.ts'
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
import { PERIODS } from '../declare/period.ts'
import { readablePaths, shapes } from '../plan/condition/query.ts'
import { searchedPaths } from '../plan/read/search.ts'
import { NUMBERS, ORDERED } from '../plan/read/summary.ts'
import { ownColumns } from '../plan/tables/columns.ts'
import { uniqueSets } from '../plan/write/match.ts'

/** A parameter that all types share, by its key in `shared`. */
export interface SharedParameter {
  readonly $ref: string
}

/** The parameters of an endpoint that belongs to no Entity type. */
export function sharedParameters(names: readonly ParameterName[]): SharedParameter[] {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }))
}

/** The parameters of an endpoint of one Entity type. */
export function parametersOf(
  { parameters, takes }: EntityEndpoint,
  type: EntityType,
  model: Model,
): (Parameter | SharedParameter)[] {
  const ofType: Record<keyof typeof typed, () => Parameter[]> = {
    invite: () => inviteParameters(type),
    verified: () => verifiedParameters(type),
    search: () => searchParameters(type),
    match: () => [matchParameter(type)],
    sort: () => [sortParameter(type, model)],
    fields: () => [fieldsParameter(type)],
    expand: () => expandParameters(type, model),
    figures: () => figureParameters(type, model),
    equalities: () => equalityParameters(type, model, new Set([...takes, 'token'])),
  }
  return parameters.flatMap((name): readonly (Parameter | SharedParameter)[] =>
    name in typed ? ofType[name as keyof typeof typed]() : sharedParameters([name]),
  )
}

/** A parameter with several values, separated by commas. */
function severalOf(name: string, description: string, values: readonly string[]): Parameter {
  const schema = { type: 'array', items: { type: 'string', enum: values }, minItems: 1 }
  return { ...query(name, description, schema), style: 'form', explode: false }
}

function fieldsParameter(type: EntityType): Parameter {
  const paths = [...readablePaths(type.fields, [...type.computed.keys()])]
  return severalOf('fields', 'The dot paths to return. Default: all.', paths)
}

function sortParameter(type: EntityType, model: Model): Parameter {
  const sizes = reversesOf(model, type.name).map(({ name }) => `size(${name})`)
  const paths = [...comparablesOf(type, model).keys(), ...sizes].flatMap((path) => [path, `-${path}`])
  const parameter = severalOf('sort', 'The dot paths to sort by; `-` for descending. Default: `id`.', paths)
  return { ...parameter, schema: { ...parameter.schema, uniqueItems: true } }
}

/** The parameter that names the unique values by which an Entity is found. */
function matchParameter(type: EntityType): Parameter {
  const sets = uniqueSets(type).map(({ paths }) => paths.join(','))
  const description = 'The dot paths of values that are unique, alone or together.'
  return { ...query('match', description, { type: 'string', enum: sets }), required: true }
}

/** A parameter for a value that lists can be filtered and sorted by. */
interface ComparableParameter {
  readonly column: string
  readonly kind: ColumnKind
  readonly field: ValueField | undefined
}

/** Returns the comparable values: no secrets, objects, lists of references or JSON. */
function comparablesOf(type: EntityType, model: Model): Map<string, ComparableParameter> {
  const own = Object.entries(ownColumns).map(([column, kind]) => ({ column, kind, field: undefined }))
  const fields = [...walk(type.fields)].flatMap((field): ComparableParameter[] => {
    const column = columnOf(field)
    if (field.kind === 'reference') return [{ column, kind: 'reference', field: undefined }]
    if (field.kind !== 'value' || field.secret || field.column === 'json') return []
    return [{ column, kind: field.column, field }]
  })
  const computed = allComputed(type, model).map(({ name, kind }) => ({
    column: name,
    kind,
    field: undefined,
  }))
  return new Map([...own, ...fields, ...computed].map((one) => [one.column, one]))
}

/** For types that log in. */
function inviteParameters({ login }: EntityType): Parameter[] {
  if (login === undefined) return []
  const description =
    '`1` invites the user: leave out `password`, and the user is mailed a link that sets it. Needs a token.'
  return [query('invite', description, { type: 'string', enum: ['1'] })]
}

/** For types whose users prove their addresses. */
function verifiedParameters({ login }: EntityType): Parameter[] {
  if (login?.verify !== true) return []
  const description = '`1`: the e-mail address counts as confirmed, and no mail is sent. Only for admins.'
  return [query('verified', description, { type: 'string', enum: ['1'] })]
}

/** For types with fields that can be searched. */
function searchParameters(type: EntityType): Parameter[] {
  const paths = searchedPaths(type)
  if (paths.length === 0) return []
  const where = paths.map((path) => `\`${path}\``).join(', ')
  const description = `Only Entities that have each of these words in at least one of ${where}. The last word may be the beginning of a word. At most ${budget.searchWords} words; case and accents are ignored. Best match first, unless there is a \`sort\`. Cannot be combined with \`at\`.`
  return [query('search', description, { type: 'string', pattern: '[\\p{L}\\p{N}]' })]
}

/** For types that refer to others, or that others refer to by a name. */
function expandParameters(type: EntityType, model: Model): Parameter[] {
  const own = [...walk(type.fields)].filter(isPointing).map(({ path }) => path)
  const names = [...own, ...reversesOf(model, type.name).map(({ name }) => name)]
  if (names.length === 0) return []
  const description = `The references to replace by the Entities they point to, nested with dots, as in \`a,a.b\`: ${names.map((name) => `\`${name}\``).join(', ')}. A path may have options: \`a(fields=id;expand=b)\`, and for lists of Entities also \`a(filter=id > 5;sort=-id;limit=5)\`. Past the size limit a reference stays \`{"id": 5, "truncated": true}\`. Cannot be combined with \`at\`.`
  const schema = { type: 'array', items: { type: 'string', examples: names.slice(0, 1) }, minItems: 1 }
  return [{ ...query('expand', description, schema), style: 'form', explode: false }]
}

/** The parameters of a summary: the groups, and the figures of each group. */
function figureParameters(type: EntityType, model: Model): Parameter[] {
  const all = [...comparablesOf(type, model).values()]
  const of = (kinds: readonly string[]) =>
    all.filter(({ kind }) => kinds.includes(kind)).map(({ column }) => column)
  const numbers = of(NUMBERS)
  const ordered = of(ORDERED)
  const values = all.map(({ column }) => column)
  return [
    periodsOr(severalOf('group', 'One item for each combination of these values.', values)),
    periodsOr(severalOf('distinct', 'How many different values each has; `null` is not counted.', values)),
    severalOf('sum', 'The sum of each.', numbers),
    severalOf('avg', 'The average of each.', numbers),
    severalOf('min', 'The minimum of each.', ordered),
    severalOf('max', 'The maximum of each.', ordered),
    groupSortParameter,
  ].map((one) => ({ ...one, schema: { ...one.schema, uniqueItems: true } }))
}

/** Allows periods of a date or a time as well. */
function periodsOr(parameter: Parameter): Parameter {
  const units = PERIODS.join('|')
  const description = `${parameter.description} A date or a time also by \`day(created_at)\`, or with a time zone \`day(created_at,"Europe/Berlin")\`: ${PERIODS.map((unit) => `\`${unit}\``).join(', ')}.`
  const items = { anyOf: [parameter.schema.items, { type: 'string', pattern: `^(${units})\\(.+\\)$` }] }
  return { ...parameter, description, schema: { ...parameter.schema, items } }
}

const groupSortParameter: Parameter = {
  ...query(
    'sort',
    'The order of the groups: values of `group` and figures of this request, such as `-count`, `sum(amount)` or `-max(created_at)`; `-` for descending. Default: the values of `group`.',
    { type: 'array', items: { type: 'string', examples: ['-count'] }, minItems: 1 },
  ),
  style: 'form',
  explode: false,
}

/** `?customer.id=5`: one for each comparable dot path, unless its name is that of another parameter. */
function equalityParameters(type: EntityType, model: Model, taken: ReadonlySet<string>): Parameter[] {
  const free = searchedPaths(type).length === 0 ? 'search' : ''
  return [...comparablesOf(type, model).values()]
    .filter(({ column }) => !taken.has(column) || column === free)
    .map((one) => query(one.column, `Only Entities with this value: ${shapeOf(one)}.`, textSchema(one)))
}

function shapeOf({ kind, field }: ComparableParameter): string {
  if (field?.type === 'choice') return 'one of its values'
  return kind === 'text' ? 'a text' : `${shapes[kind]}, or \`null\``
}

/** For a text, `null` means the text "null". For other values it means no value. */
function textSchema({ kind, field }: ComparableParameter): JsonSchema {
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
