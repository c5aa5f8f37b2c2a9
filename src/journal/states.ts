import { emailKey } from '../declare/email-key.ts'
import { columnOf, type Field } from '../declare/model.ts'
import { isRecord } from '../declare/record.ts'
import { checkOf, isRequired } from '../declare/values.ts'
import type { Errors } from '../errors.ts'
import { bodyColumns, ownColumns } from '../plan/columns.ts'
import type { Plan } from '../plan/compile.ts'
import { columnsBeside, EMAIL_KEY } from '../plan/schema.ts'
import type { Bag, Bound } from '../store/dialect.ts'

export type State = Readonly<Record<string, unknown>>

/** A former state in the terms of today's declaration. */
export interface Mapped {
  readonly columns: readonly string[]
  readonly values: readonly Bound[]
  /** The same as JSON has it. */
  readonly state: State
  /** Dot paths that have no place any more, or whose values do not fit it. */
  readonly unmapped: readonly string[]
}

/**
 * What was not there then stays as it is; so do secrets, which nobody has written down. `now` is how it stands: an
 * object that is not there can only come back whole.
 */
export function mapState(plan: Plan, former: State, now: State): Mapped {
  const unmapped: string[] = []
  for (const name of Object.keys(former))
    if (!Object.hasOwn(ownColumns, name) && !plan.type.fields.some((field) => field.name === name))
      unmapped.push(name)
  const values = mapFields(plan.type.fields, former, now, unmapped)
  const bag: Bag = {}
  plan.bind(values, bag)
  if (plan.login !== undefined && typeof bag.email === 'string') bag[EMAIL_KEY] = emailKey(bag.email)
  const columns = [
    ...bodyColumns(plan.type.fields).map(({ name }) => name),
    ...columnsBeside(plan.type),
  ].filter((name) => Object.hasOwn(bag, name))
  return { columns, values: columns.map((name) => bag[name] ?? null), state: merged(now, values), unmapped }
}

function mapFields(fields: readonly Field[], former: State, now: State, unmapped: string[]): State {
  const values: Record<string, unknown> = {}
  for (const field of fields) {
    if (!Object.hasOwn(former, field.name) || (field.kind === 'value' && field.secret)) continue
    const value = mapField(field, former[field.name], now[field.name], unmapped)
    if (value !== undefined) values[field.name] = value
  }
  return values
}

/** Undefined, and noted, where it has no place. */
function mapField(field: Field, value: unknown, now: unknown, unmapped: string[]): unknown {
  if (value === null) {
    if (field.optional) return null
    unmapped.push(columnOf(field))
    return undefined
  }
  if (field.kind === 'object' && isRecord(value)) return mapObject(field, value, now, unmapped)
  const errors: Errors = new Map()
  const checked = checkOf(field, 'whole')(value, field.path, errors)
  if (errors.size === 0) return checked
  unmapped.push(columnOf(field))
  return undefined
}

function mapObject(
  { fields, path }: Extract<Field, { kind: 'object' }>,
  value: State,
  now: unknown,
  unmapped: string[],
): State | undefined {
  for (const name of Object.keys(value))
    if (!fields.some((field) => field.name === name)) unmapped.push(`${path}.${name}`)
  const values = mapFields(fields, value, isRecord(now) ? now : {}, unmapped)
  if (isRecord(now) || fields.every((field) => !isRequired(field) || Object.hasOwn(values, field.name)))
    return values
  unmapped.push(path)
  return undefined
}

/** Objects into objects, as they are set. */
function merged(now: State, values: State): State {
  const all: Record<string, unknown> = { ...now }
  for (const [name, value] of Object.entries(values)) {
    const old = now[name]
    all[name] = isRecord(value) && isRecord(old) && !('id' in value) ? merged(old, value) : value
  }
  return all
}
