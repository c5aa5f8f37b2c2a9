import type { Expression, ValueKind } from '../../declare/cel/expression.ts'
import type { ColumnKind } from '../../declare/fields/field.ts'
import { formatDecimal, parseDecimal } from '../../declare/fields/number.ts'
import { isStorable } from '../../declare/fields/text.ts'
import { isDate, parseInstant } from '../../declare/fields/time.ts'
import { columnOf, type EntityType, type Field, walk } from '../../declare/model.ts'
import type { Period } from '../../declare/period.ts'
import type { Bound, Dialect } from '../../store/dialect.ts'
import { ownColumns } from '../tables/columns.ts'

/** What lists can be sorted by: a stored or computed value, or a size. */
export interface Sortable {
  readonly path: string
  readonly kind: ValueKind
  readonly scale: number
  readonly value: Expression
  /** If set, the key is the start of the value's period, and `kind` is the kind of that start. */
  readonly period?: Period
}

/** A single value for filters and sorts, of the Entity itself or of one that it refers to. */
export interface Comparable extends Sortable {
  readonly choices: readonly string[] | undefined
}

export interface SortKey {
  readonly by: Sortable
  readonly descending: boolean
}

/** A sort key by its name alone. */
export interface SortName {
  readonly by: { readonly path: string }
  readonly descending: boolean
}

/** The column of a sort key; undefined if the value is not in a column of the Entity itself. */
export function sortColumn({ by: { value, period } }: SortKey): string | undefined {
  if (value.op !== 'value' || period !== undefined) return undefined
  const { hops, column } = value.place
  return hops.length === 0 ? column : undefined
}

export function readablePaths(fields: readonly Field[], computed: readonly string[] = []): Set<string> {
  const paths = [...walk(fields)].flatMap((field) => {
    if (field.kind === 'value') return field.secret ? [] : [field.path]
    return field.kind === 'reference' ? [field.path, columnOf(field)] : [field.path]
  })
  return new Set([...Object.keys(ownColumns), ...paths, ...computed])
}

export const shapes: Record<ColumnKind, string> = {
  text: 'a text that is a value of it',
  integer: 'a whole number',
  number: 'a number',
  decimal: 'a decimal, such as 10.50',
  boolean: 'true or false',
  date: 'a date, such as 2026-12-31',
  datetime: 'a time with a zone, such as 2026-12-31T18:00:00Z',
  reference: 'a whole number',
  json: 'a value',
  presence: 'a value',
}

/**
 * Parses a query parameter. Only here does text stand for other types. `null` is null, except for texts. The value must
 * fit the type, but not the limits of the field: older values may break them.
 */
export function parseText(text: string, { kind, scale }: Pick<Comparable, 'kind' | 'scale'>): unknown {
  if (kind === 'text') return isStorable(text) ? text : undefined
  if (text === 'null') return null
  switch (kind) {
    case 'integer':
    case 'reference':
      return /^-?\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined
    case 'number':
      return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) && Number.isFinite(Number(text))
        ? Number(text)
        : undefined
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : undefined
    case 'datetime':
      return parseInstant(text)
    case 'date':
      return isDate(text) ? text : undefined
    case 'decimal': {
      const scaled = parseDecimal(text, scale)
      return scaled === undefined ? undefined : formatDecimal(scaled, scale)
    }
    default:
      return undefined
  }
}

/** Encodes a value of a cursor; undefined if it does not fit the type of its column, since cursors are input. */
export function bindJson(value: unknown, target: Sortable, dialect: Dialect): Bound | undefined {
  if (value === null) return target.path === 'id' ? undefined : null
  if (typeof value === 'object' || (typeof value === 'string') !== isText(target.kind)) return undefined
  const normal = parseText(String(value), target)
  return normal === undefined || normal === null
    ? undefined
    : dialect.encode(target.kind, target.scale)(normal)
}

/** The kinds whose JSON is a string. */
function isText(kind: ColumnKind): boolean {
  return ['text', 'decimal', 'date', 'datetime'].includes(kind)
}

/** Binds a cursor to its type and sort. */
export function signatureOf(type: EntityType, sort: readonly SortName[]): string {
  return `${type.name}${sort.map(({ by, descending }) => (descending ? '-' : '+') + by.path).join('')} `
}

export function openCursor(text: string, signature: string): unknown[] | undefined {
  const opened = text.startsWith('~')
    ? Buffer.from(text.slice(1), 'hex').toString()
    : Buffer.from(text, 'base64url').toString()
  if (!opened.startsWith(signature)) return undefined
  try {
    const values: unknown = JSON.parse(opened.slice(signature.length))
    return Array.isArray(values) ? values : undefined
  } catch {
    return undefined
  }
}
