import { type EntityType, type Field, labelOf, type Model } from '../../model.ts'
import type { Shown } from '../../parts/value.tsx'
import type { Texts } from '../../texts/index.ts'

/** A column that a list can have. */
export interface Column {
  readonly path: string
  readonly label: string
  readonly field: Shown
  /** The path for `sort`; undefined if the column cannot be sorted. */
  readonly sort?: string
  readonly isFilterable: boolean
  readonly width: number
}

export const NARROWEST = 64
const WIDEST = 800
const MOST_BY_ITSELF = 6

const WIDTHS: Readonly<Record<string, number>> = {
  boolean: 90,
  integer: 100,
  number: 100,
  decimal: 110,
  date: 120,
  datetime: 185,
  choice: 120,
  ref: 180,
  list: 200,
  json: 220,
}

/** Returns all columns of a type: its fields, those of objects by dot path, and the fields of every Entity. */
export function columnsOf(type: EntityType, { entities }: Model, texts: Texts): readonly Column[] {
  const own = type.fields.flatMap((field) => fieldColumns(field, '', entities))
  const every = (path: string, label: string, kind: string): Column => ({
    path,
    label,
    field: { type: kind },
    sort: path,
    isFilterable: path !== 'deleted_at',
    width: kind === 'integer' ? 80 : 185,
  })
  return [
    ...own,
    every('id', 'ID', 'integer'),
    every('created_at', texts.list.createdAt, 'datetime'),
    every('updated_at', texts.list.updatedAt, 'datetime'),
    every('deleted_at', texts.list.deletedAt, 'datetime'),
    every('version', texts.list.version, 'integer'),
  ]
}

function fieldColumns(field: Field, above: string, types: readonly EntityType[]): readonly Column[] {
  if (field.type === 'password' || field.type === 'secret' || field.may?.read === false) return []
  const label = above + labelOf(field)
  if (field.type === 'object' && field.fields !== undefined)
    return field.fields.flatMap((one) => fieldColumns(one, `${label} › `, types))
  const sort = field.type === 'ref' ? `${field.path}.${titleOf(field, types)}` : field.path
  return [
    {
      path: field.path,
      label,
      field,
      ...(field.sortable === true && { sort }),
      isFilterable: field.filterable === true,
      width: WIDTHS[field.type] ?? 200,
    },
  ]
}

/** A reference is sorted by the title of its target, because that is what people read. */
function titleOf({ to }: Field, types: readonly EntityType[]): string {
  const target = types.find(({ name, may }) => name === to && may.list !== false)
  const title = target?.fields.find(({ path }) => path === target.title)
  return title?.sortable === true ? title.path : 'id'
}

/** How much each type of field says about an Entity at a glance. */
const TELLING: Readonly<Record<string, number>> = {
  choice: 6,
  ref: 6,
  datetime: 5,
  date: 5,
  decimal: 5,
  integer: 4,
  email: 4,
  number: 4,
  text: 3,
  boolean: 3,
  url: 2,
  list: 1,
}

/** Returns the default columns: the title, the most telling fields, and when it was changed. */
export function defaultColumns(type: EntityType, all: readonly Column[]): readonly Column[] {
  const telling = ({ path, field }: Column) => (TELLING[field.type] ?? 0) - (path.includes('.') ? 2 : 0)
  const own = all.filter(({ path }) => path !== type.title && !EVERY.includes(path))
  const chosen = [...own]
    .sort((a, b) => telling(b) - telling(a))
    .slice(0, MOST_BY_ITSELF)
    .filter((one) => telling(one) > 0)
  const title = all.find(({ path }) => path === (type.title ?? 'id'))
  // People look for the name, so its column is wide.
  const named = title === undefined || type.title === null ? title : { ...title, width: 260 }
  const changed = all.find(({ path }) => path === 'updated_at')
  return [named, ...own.filter((one) => chosen.includes(one)), changed].filter((one) => one !== undefined)
}

const EVERY: readonly string[] = ['id', 'created_at', 'updated_at', 'deleted_at', 'version']

/** Parses `title:240,guests` from the address. Unknown names are skipped: the declaration may have changed. */
export function readColumns(text: string | undefined, all: readonly Column[]): readonly Column[] | undefined {
  if (text === undefined) return undefined
  const chosen = text.split(',').flatMap((part) => {
    const [path, width] = part.split(':')
    const column = all.find((one) => one.path === path)
    if (column === undefined) return []
    return [width === undefined ? column : { ...column, width: withinWidths(Number(width)) }]
  })
  return chosen.length === 0 ? undefined : chosen
}

export function writeColumns(columns: readonly Column[], all: readonly Column[]): string {
  return columns
    .map(({ path, width }) =>
      all.find((one) => one.path === path)?.width === width ? path : `${path}:${Math.round(width)}`,
    )
    .join(',')
}

export function withinWidths(width: number): number {
  return Number.isFinite(width) ? Math.min(WIDEST, Math.max(NARROWEST, width)) : 200
}

/** Returns the `expand` for the references among the columns, with the fields that name each type. */
export function expandOf(
  columns: readonly Column[],
  names: ReadonlyMap<string, readonly string[]>,
): string | undefined {
  const paths = columns.flatMap(({ path, field }) => {
    const isList = field.type === 'list'
    const { to } = isList ? (field.items ?? {}) : field
    if (to === null || to === undefined || (isList && field.items?.type !== 'ref')) return []
    const named = names.get(to)
    if (named === undefined) return []
    return [`${path}(fields=${named.length === 0 ? 'id' : named.join(',')}${isList ? ';limit=3' : ''})`]
  })
  return paths.length === 0 ? undefined : paths.slice(0, 20).join(',')
}
