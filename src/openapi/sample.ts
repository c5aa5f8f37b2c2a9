import { RE2JS } from 're2js'
import { normalPattern } from '../declare/cel/pattern.ts'
import type { JsonSchema } from '../declare/fields/field.ts'
import {
  type EntityType,
  type Field,
  isFilled,
  isReadOnly,
  type LinksField,
  type Model,
  providedOf,
  type ValueField,
} from '../declare/model.ts'
import { isRecord } from '../declare/record.ts'
import { isSecret, objectCheck } from '../declare/values.ts'
import type { Errors } from '../errors.ts'
import { computedSamples } from './computed.ts'
import { type Conceals, concealDefaults, concealedOf, hiddenOf } from './concealed.ts'
import { textsFor } from './sample-pattern.ts'

type Sample = Readonly<Record<string, unknown>>

/**
 * A plausible body that creates an Entity. Optional references that lead back to the type itself are left out: the
 * first of its kind could not have them.
 */
export function sampleOf(type: EntityType, model: Model): Sample {
  const returns = (target: string) => leadsTo(target, type.name, model)
  const fields = concealDefaults(type.fields, concealedOf(type, model))
  return sampleFields(fields, (field) => isSpare(field) && returns(field.target))
}

/** Whether the field may be empty. */
function isSpare(field: Extract<Field, { kind: 'reference' | 'links' }>): boolean {
  return field.kind === 'links' ? field.min === 0 && field.example === undefined : field.optional
}

/** Returns a valid value of the field; undefined if none was found. */
function sampleValue(field: Field): unknown {
  switch (field.kind) {
    case 'value':
      return sampleColumn(field)
    case 'reference':
      return { id: 1 }
    case 'links':
      return (
        field.example ?? Array.from({ length: Math.max(1, field.min) }, (_, at) => sampleMember(field, at))
      )
    case 'object':
      return sampleFields(field.fields, () => false)
  }
}

function sampleMember({ item, member }: LinksField, at: number): unknown {
  const reference = { id: at + 1 }
  return item === undefined ? reference : { ...sampleFields(item.fields, () => false), [member]: reference }
}

/** The sample Entity as the API returns it. */
export function sampleAnswer(type: EntityType, model: Model): Sample {
  const at = '2026-06-01T09:30:00.000Z'
  const fields = visibleFields(concealDefaults(type.fields, concealedOf(type, model)), hiddenOf(type, model))
  const normal = objectCheck(fields, 'whole', String)(sampleOf(type, model), '', new Map())
  return {
    id: 1,
    ...(isRecord(normal) ? normal : {}),
    ...sampleProvided(fields),
    ...computedSamples(type, model),
    version: 1,
    created_at: at,
    updated_at: at,
    deleted_at: null,
  }
}

function visibleFields(fields: readonly Field[], conceals: Conceals): Field[] {
  return fields
    .filter((field) => !isSecret(field) && !conceals(field))
    .map((field) =>
      field.kind === 'object' ? { ...field, fields: visibleFields(field.fields, conceals) } : field,
    )
}

/** Sample values of fields that the server provides. */
function sampleProvided(fields: readonly Field[]): Sample {
  return Object.fromEntries(
    fields.flatMap((field): [string, unknown][] =>
      Object.keys(providedOf(field)).length === 0 ? [] : [[field.name, sampleValue(field)]],
    ),
  )
}

type LeaveOut = (field: Extract<Field, { kind: 'reference' | 'links' }>) => boolean

function sampleFields(fields: readonly Field[], leaveOut: LeaveOut): Sample {
  const entries = fields.flatMap((field): [string, unknown][] => {
    if (field.kind === 'reference' && leaveOut(field)) return []
    if (field.kind === 'links' && leaveOut(field)) return [[field.name, []]]
    if (isFilled(field) || isReadOnly(field)) return []
    const value = field.kind === 'object' ? sampleFields(field.fields, leaveOut) : sampleValue(field)
    return value === undefined ? [] : [[field.name, value]]
  })
  return Object.fromEntries(entries)
}

function leadsTo(from: string, to: string, model: Model): boolean {
  const reached = [from]
  for (const name of reached)
    for (const edge of model.edges)
      if (edge.from === name && !reached.includes(edge.to)) reached.push(edge.to)
  return reached.includes(to)
}

function sampleColumn(field: ValueField): unknown {
  const { name, type, schema, example } = field
  if (example !== undefined) return example
  if (field.default !== undefined) return field.default
  // The password is not checked: the check loads a list of half a megabyte that a server may never need.
  if (type === 'password') return samplePassword(Number(schema.minLength))
  for (const candidate of candidates(name, schema)) if (passes(field, candidate)) return candidate
  return undefined
}

function passes(field: ValueField, value: unknown): boolean {
  const errors: Errors = new Map()
  field.check(value, '', errors)
  return errors.size === 0
}

function samplePassword(min: number): string {
  let password = 'correct horse battery staple'
  while (password.length < min) password += ' and one more word'
  return password
}

/** Yields values that may match the schema, the most plausible first. */
function* candidates(name: string, schema: JsonSchema): Generator<unknown> {
  if (Array.isArray(schema.examples)) yield* schema.examples
  if (schema.default !== undefined) yield schema.default
  if (Array.isArray(schema.enum)) yield* schema.enum
  if (Array.isArray(schema.anyOf)) for (const one of schema.anyOf) yield* candidates(name, one)
  switch (schema.type) {
    case 'string':
      return yield* texts(name, schema)
    case 'integer':
    case 'number':
      return yield* numbers(schema)
    case 'boolean':
      return yield true
    case 'array':
      return yield* lists(name, schema)
    case 'object':
      return yield sampleMembers(schema)
    case undefined:
      return yield { any: 'JSON' }
  }
}

function* numbers({ minimum, maximum }: JsonSchema): Generator<number> {
  const [min, max] = [Number(minimum ?? -1e6), Number(maximum ?? 1e6)]
  for (const one of [1, 10, 100]) if (one >= min && one <= max) yield one
  yield min > 0 ? min : max
}

function* lists(name: string, { items, minItems }: JsonSchema): Generator<unknown[]> {
  const item = isRecord(items) ? first(name, items) : undefined
  if (item !== undefined) yield Array.from({ length: Math.max(1, Number(minItems ?? 1)) }, () => item)
  yield []
}

function sampleMembers({ properties }: JsonSchema): object {
  const entries = Object.entries(isRecord(properties) ? properties : {})
  return Object.fromEntries(
    entries.flatMap(([name, one]) => (isRecord(one) ? [[name, first(name, one)]] : [])),
  )
}

/** The items of a list have no check of their own, so only their pattern is checked. */
function first(name: string, schema: JsonSchema): unknown {
  for (const candidate of candidates(name, schema))
    if (matchesPattern(candidate, schema.pattern)) return candidate
  return undefined
}

function matchesPattern(value: unknown, pattern: unknown): boolean {
  if (typeof value !== 'string' || typeof pattern !== 'string') return true
  const normal = normalPattern(pattern, { limited: false })
  return 'pattern' in normal && RE2JS.compile(normal.pattern).matcher(value).find()
}

const byFormat = new Map(
  Object.entries({
    email: 'ada@example.com',
    uri: 'https://example.com/',
    date: '2026-12-31',
    'date-time': '2026-12-31T18:00:00Z',
    password: 'a secret',
  }),
)

const byName = new Map(
  Object.entries({
    name: 'Ada Lovelace',
    first_name: 'Ada',
    last_name: 'Lovelace',
    title: 'A good title',
    description: 'A few words about it.',
    city: 'Berlin',
    street: '1 Main Street',
    zip: '10115',
    country: 'Germany',
    code: 'AB12',
    phone: '+49 30 123456',
  }),
)

function* texts(name: string, { format, pattern, minLength, maxLength }: JsonSchema): Generator<string> {
  const min = Number(minLength ?? 0)
  const known = typeof format === 'string' ? byFormat.get(format) : byName.get(name)
  const text = (known ?? `Some ${name.replaceAll('_', ' ')}`).padEnd(min, ' and so on')
  const fitting = maxLength === undefined ? text : text.slice(0, Number(maxLength))
  yield fitting.trimEnd()
  yield fitting
  if (typeof pattern === 'string') yield* textsFor(pattern, min)
}
