import type { ColumnKind } from '../declare/fields/field.ts'
import { formatDecimal, parseDecimal } from '../declare/fields/number.ts'
import { isStorable } from '../declare/fields/text.ts'
import { isDate, parseInstant } from '../declare/fields/time.ts'
import { columnOf, type EntityType, type Field, type ValueField, walk } from '../declare/model.ts'
import type { Bound, Dialect } from '../store/dialect.ts'
import { ownColumns } from './columns.ts'

export interface SortKey {
  readonly column: string
  readonly descending: boolean
}

/** A single value of an Entity type that lists can be narrowed and sorted by. */
export interface Comparable {
  readonly column: string
  readonly kind: ColumnKind
  readonly scale: number
  readonly field: ValueField | undefined
}

/** What can be compared and sorted by: all single values but secrets, presence and JSON. */
export function comparablesOf(type: EntityType): Map<string, Comparable> {
  const own = Object.entries(ownColumns).map(([column, kind]): [string, Comparable] => [
    column,
    { column, kind, scale: 0, field: undefined },
  ])
  const fields = [...walk(type.fields)].flatMap((field): [string, Comparable][] => {
    const column = columnOf(field)
    if (field.kind === 'reference')
      return [[column, { column, kind: 'reference', scale: 0, field: undefined }]]
    if (field.kind !== 'value' || field.secret || field.column === 'json') return []
    return [[column, { column, kind: field.column, scale: field.scale, field }]]
  })
  return new Map([...own, ...fields])
}

export function readablePaths(fields: readonly Field[]): Set<string> {
  const paths = [...walk(fields)].flatMap((field) => {
    if (field.kind === 'value') return field.secret ? [] : [field.path]
    return field.kind === 'reference' ? [field.path, columnOf(field)] : [field.path]
  })
  return new Set([...Object.keys(ownColumns), ...paths])
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
 * A query parameter is text; here, and only here, text stands for values of other types. `null` is `null`, but for texts.
 * What counts is the type, not the field's limits: they may be narrower than what is there already.
 */
export function parseText(text: string, { kind, scale }: Comparable): unknown {
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

/** A cursor comes from outside like anything else: its values must be of their columns' types. */
export function bindJson(value: unknown, target: Comparable, dialect: Dialect): Bound | undefined {
  if (value === null) return target.column === 'id' ? undefined : null
  if (typeof value === 'object' || (typeof value === 'string') !== isText(target.kind)) return undefined
  const normal = parseText(String(value), target)
  return normal === undefined || normal === null
    ? undefined
    : dialect.encode(target.kind, target.scale)(normal)
}

/** The kinds that are a text in JSON. */
function isText(kind: ColumnKind): boolean {
  return ['text', 'decimal', 'date', 'datetime'].includes(kind)
}

/** Ties a cursor to its list and its sort. */
export function signatureOf(type: EntityType, sort: readonly SortKey[]): string {
  return `${type.name}${sort.map(({ column, descending }) => (descending ? '-' : '+') + column).join('')} `
}

export function openCursor(text: string, signature: string): unknown[] | undefined {
  const opened = Buffer.from(text, 'base64url').toString()
  if (!opened.startsWith(signature)) return undefined
  try {
    const values: unknown = JSON.parse(opened.slice(signature.length))
    return Array.isArray(values) ? values : undefined
  } catch {
    return undefined
  }
}
