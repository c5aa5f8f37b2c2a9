import { emailKey } from '../declare/email-key.ts'
import { columnOf, type Field } from '../declare/model.ts'
import { isRecord } from '../declare/record.ts'
import { checkOf } from '../declare/values.ts'
import type { Errors } from '../errors.ts'
import { bodyColumns, ownColumns } from '../plan/columns.ts'
import type { Plan } from '../plan/compile.ts'
import { EMAIL_KEY } from '../plan/schema.ts'
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

/** What was not there then stays as it is; so do secrets, which nobody has written down. */
export function mapState(plan: Plan, former: State): Mapped {
  const unmapped: string[] = []
  const values: Record<string, unknown> = {}
  for (const name of Object.keys(former))
    if (!Object.hasOwn(ownColumns, name) && !plan.type.fields.some((field) => field.name === name))
      unmapped.push(name)
  for (const field of plan.type.fields) {
    if (!Object.hasOwn(former, field.name) || (field.kind === 'value' && field.secret)) continue
    const value = valueOfField(field, former[field.name], unmapped)
    if (value !== undefined) values[field.name] = value
  }
  const bag: Bag = {}
  plan.bind(values, bag)
  if (plan.login !== undefined && typeof bag.email === 'string') bag[EMAIL_KEY] = emailKey(bag.email)
  const columns = [...bodyColumns(plan.type.fields).map(({ name }) => name), EMAIL_KEY].filter((name) =>
    Object.hasOwn(bag, name),
  )
  return { columns, values: columns.map((name) => bag[name] ?? null), state: values, unmapped }
}

/** Undefined, and noted, where it has no place. */
function valueOfField(field: Field, value: unknown, unmapped: string[]): unknown {
  if (value === null) {
    if (field.optional) return null
    unmapped.push(columnOf(field))
    return undefined
  }
  const known = field.kind === 'object' ? withoutUnknown(field, value, unmapped) : value
  const errors: Errors = new Map()
  const checked = checkOf(field, 'whole')(known, field.path, errors)
  if (errors.size === 0) return checked
  unmapped.push(...errors.keys())
  return undefined
}

function withoutUnknown(
  { fields, path }: Extract<Field, { kind: 'object' }>,
  value: unknown,
  unmapped: string[],
): unknown {
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) => {
      const field = fields.find((inner) => inner.name === name)
      if (field === undefined) {
        unmapped.push(`${path}.${name}`)
        return []
      }
      return [[name, field.kind === 'object' ? withoutUnknown(field, one, unmapped) : one]]
    }),
  )
}
