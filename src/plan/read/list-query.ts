import type { Bound } from '../../store/dialect.ts'
import type { Filter } from '../condition/filter.ts'
import type { SortKey } from '../condition/query.ts'
import { type Expansion, expansionShape, sortShape } from './expandable.ts'
import type { Figures } from './summary.ts'

export type Trashed = 'without' | 'only' | 'with'

/** The Entities that a request selects, after all checks. */
export interface Selection {
  readonly filters: readonly Filter[]
  readonly trashed: Trashed
  /** The data as of this time; undefined for now. */
  readonly at: string | undefined
  /** The words to search for; the last one may be the beginning of a word. */
  readonly search: readonly string[] | undefined
}

/** A page of a selection. */
export interface PageQuery extends Selection {
  readonly sort: readonly SortKey[]
  /** The sort values of the last row that the client has seen. */
  readonly after: readonly Bound[] | undefined
  readonly limit: number
}

/** A list as it was requested. */
export interface ListQuery extends PageQuery, ReadQuery {}

/** The parts of an Entity that are shown. */
export interface ReadQuery {
  readonly fields: ReadonlySet<string> | undefined
  readonly expand: Expansion | undefined
}

/** Whether declared indexes can serve it: they have only live rows of today. A search uses its own index. */
export function isOfToday({ trashed, at, search }: Selection): boolean {
  return trashed === 'without' && at === undefined && search === undefined
}

/** Everything that the SQL depends on, also the limit: if it is bound, some databases plan each query anew. */
export function listShape(query: ListQuery): string {
  return `${pageShape(query)}|${shownShape(query)}`
}

export function pageShape({ filters, sort, after, trashed, limit, at, search }: PageQuery): string {
  const conditions = filters.map(({ shape }) => shape).join('&')
  const order = sortShape(sort)
  const nulls = after?.map((value) => (value === null ? '0' : '1')).join('') ?? ''
  const words = search?.length ?? ''
  return [trashed, conditions, order, nulls, limit, at === undefined ? '' : 'at', words].join('|')
}

export function figuresShape({ group, distinct, sum, avg, min, max }: Figures): string {
  return [group, distinct, sum, avg, min, max].map((all) => all.map(({ path }) => path).join(',')).join('|')
}

export function shownShape({ fields, expand }: ReadQuery): string {
  const chosen = fields === undefined ? '*' : [...fields].join(',')
  return expand === undefined ? chosen : `${chosen}+${expansionShape(expand)}`
}
