import { type EntityType, fieldAt, type Model } from '../../model.ts'
import type { Shown } from '../../parts/value.tsx'
import type { Column } from './columns.ts'
import type { ListStart } from './list-start.ts'
import { readSort, type SortKey } from './view.ts'

/** The first sort key of a list: the user can go to a value of it. */
export interface Order extends SortKey {
  readonly label: string
  readonly field: Shown
}

export function orderOf(sort: string, columns: readonly Column[], { entities }: Model): Order | undefined {
  const [key] = readSort(sort)
  const column = columns.find((one) => key !== undefined && one.sort === key.path)
  if (key === undefined || column === undefined) return undefined
  return { ...key, label: column.label, field: sortedField(column, entities) }
}

/** Returns the field that a column sorts by: for a reference, the title of its target. */
function sortedField({ path, sort, field }: Column, types: readonly EntityType[]): Shown {
  if (field.type !== 'ref') return field
  const target = types.find(({ name }) => name === field.to)
  const title = sort?.slice(path.length + 1) ?? 'id'
  return fieldAt(target?.fields ?? [], title) ?? { type: 'integer' }
}

/** Parses `go` of the address: `end`, or a value as JSON. Undefined for the top, or if the value is invalid. */
export function startOf(
  go: string | undefined,
  order: Order | undefined,
  isPast: boolean,
): ListStart | undefined {
  if (go === 'end') return 'end'
  if (go === undefined || order === undefined) return undefined
  const value = literalOf(parsed(go), order)
  if (value === undefined) return undefined
  const isFolded = order.field.type === 'text' && order.field.sort === 'fold' && !isPast
  const by = isFolded ? `fold(${order.path})` : order.path
  if (!order.isDown) return { conditions: [`${by} >= ${value}`] }
  // In descending order, rows without a value come last.
  return { conditions: [`${by} <= ${value}`, `${by} <= ${value} || ${order.path} == null`] }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** Sorts after all texts that begin with the same characters. */
const LAST = '\u{10FFFF}'

/** Whether the user can go to a value of a field. */
export function canGoTo({ type }: Shown): boolean {
  return LITERALS[type] !== undefined
}

const text = (value: unknown, { isDown }: SortKey) =>
  typeof value === 'string' && value !== '' ? JSON.stringify(isDown ? value + LAST : value) : undefined
const number = (value: unknown) => (typeof value === 'number' ? String(value) : undefined)

/** Converts a value to a literal for a filter; undefined if it does not fit the type. */
const LITERALS: Readonly<Record<string, (value: unknown, key: SortKey) => string | undefined>> = {
  text,
  email: text,
  url: text,
  integer: (value) => (Number.isSafeInteger(value) ? String(value) : undefined),
  number,
  decimal: (value) =>
    typeof value === 'string' && /^-?\d{1,18}(\.\d{1,9})?$/.test(value) ? JSON.stringify(value) : undefined,
  date: (value) =>
    typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) ? JSON.stringify(value) : undefined,
  datetime: (value) =>
    typeof value === 'string' && !Number.isNaN(Date.parse(value))
      ? `timestamp(${JSON.stringify(new Date(value).toISOString())})`
      : undefined,
}

function literalOf(value: unknown, order: Order): string | undefined {
  return LITERALS[order.field.type]?.(value, order)
}
