import { budget } from '../../budget.ts'
import type { EntityType } from '../../declare/model.ts'
import { type Errors, invalidAt } from '../../errors.ts'
import type { Bound, Dialect, Params } from '../../store/dialect.ts'
import { compile, type Sql, type Statement } from '../../store/sql.ts'
import type { Filter, Filters } from '../condition/filter.ts'
import type { SortKey, SortName } from '../condition/query.ts'
import { ShapeCache } from '../condition/shape-cache.ts'
import { AS_OF } from '../past/past.ts'
import { bindExpansion, type Expansion } from './expandable.ts'
import { ListParameters } from './list-parameters.ts'
import { ListParts, type ReadAccess } from './list-parts.ts'
import {
  figuresShape,
  type ListQuery,
  listShape,
  type PageQuery,
  pageShape,
  type ReadQuery,
  type Selection,
  shownShape,
} from './list-query.ts'
import { isBounded, selectGroups, selectMatching, selectOne, selectPage, selectTotal } from './list-select.ts'
import { ranked, type SearchPlan } from './search.ts'
import { type Figures, type GroupOrder, orderShape, SKIPPED } from './summary.ts'

export interface ListPlan extends Filters {
  /** Rows of (JSON, sort values), one more than the limit. The JSON is null if the whole page is too large for an answer. */
  page(query: ListQuery): { statement: Statement; params: Params }
  /** The same with as much JSON as fits into an answer. */
  cutPage(query: ListQuery): { statement: Statement; params: Params }
  total(query: Selection): { statement: Statement; params: Params }
  /** Live Entities that match a filter, one more than the limit: id, version, 1 if the viewer may do this to it. */
  matching(
    filter: Filter,
    action: 'update' | 'delete',
    limit: number,
  ): { statement: Statement; params: Params }
  /** Rows of one group each, for `summaryOf`, one more than the limit. */
  summary(query: PageQuery, figures: Figures, order: GroupOrder): { statement: Statement; params: Params }
  /** One Entity by `$id`, live: id, version, JSON. */
  readonly read: Statement
  readOnly(query: ReadQuery): { statement: Statement; params: Params }
  /** One Entity by `$id`, if it was live at a time: id, version, JSON. */
  readAsOf(fields: ReadonlySet<string> | undefined): Statement
  /** Undefined if the viewer sees none of the searched fields. */
  readonly search: SearchPlan | undefined
  readonly defaultSort: readonly SortKey[]
  /** The query of a request without parameters, as most requests are. */
  readonly plain: ListQuery
  /** Best match first, then the newest. */
  readonly byRank: readonly SortKey[]
  /** `past`: for a list with `at`. */
  parseSort(text: string, errors: Errors, past?: boolean): readonly SortKey[]
  parseFields(text: string, errors: Errors, trashed?: boolean): ReadonlySet<string>
  parseExpand(text: string, errors: Errors): Expansion
  parseCursor(text: string, sort: readonly SortKey[], errors: Errors): Bound[] | undefined
  /** The cursor after a row, from the sort values that `page` gave. */
  cursor(sort: readonly SortKey[], place: Bound): string
  /** For groups sorted by figures: how many of them come before the page. */
  parseSkipped(text: string, sort: readonly SortName[], errors: Errors): number | undefined
  /** The cursor after a row, from the JSON of all its sort values. */
  cursorAt(sort: readonly SortName[], values: string): string
}

const WHOLE: ReadQuery = { fields: undefined, expand: undefined }

export function compileLists(type: EntityType, dialect: Dialect, access: ReadAccess): ListPlan {
  const list = new ListParts(type, dialect, access)
  const { filters, shown } = access
  const computed = shown.computed?.map(({ name }) => name)
  const parameters = new ListParameters({ type, dialect, filters, fields: list.fields, computed })
  const { search } = list
  const plain = plainQuery(parameters.byId(false))
  const first = compile(selectPage(list, plain), dialect.placeholder, isBounded(list, plain))
  const statements = new ListStatements(dialect, first)
  const build = (query: PageQuery & Partial<ReadQuery>, shape: string, make: () => Sql, bounded = false) => {
    const params = paramsOf(query, search)
    bindExpansion(query.expand, params)
    return { statement: statements.of(shape, make, bounded), params }
  }
  return {
    ...access.filters,
    page(query) {
      if (query === plain) return { statement: first, params: {} }
      return build(query, `page|${listShape(query)}`, () => selectPage(list, query), isBounded(list, query))
    },
    cutPage: (query) => build(query, `cut|${listShape(query)}`, () => selectPage(list, query, true)),
    matching(filter, action, limit) {
      const query = { ...plain, filters: [filter], sort: [], limit }
      const may = () => access.may(action, list.rowSource(undefined))
      const shape = `${action}|${pageShape(query)}`
      return build(query, shape, () => selectMatching(list, query, may(), limit))
    },
    total(selection) {
      const query = { ...plain, ...selection, sort: [], limit: 0 }
      const shape = listShape(query)
      return build(query, `total|${shape}`, () => selectTotal(list, query))
    },
    summary(query, figures, order) {
      const shape = `${pageShape(query)}|${figuresShape(figures)}|${orderShape(order)}`
      const made = build(query, `summary|${shape}`, () => selectGroups(list, query, figures, order))
      made.params[SKIPPED] = order.skipped ?? 0
      return made
    },
    read: compile(selectOne(list, WHOLE), dialect.placeholder),
    readOnly(query) {
      const statement = statements.of(`read|${shownShape(query)}`, () => selectOne(list, query))
      const params: Params = {}
      bindExpansion(query.expand, params)
      return { statement, params }
    },
    readAsOf(fields) {
      const query = { fields, expand: undefined }
      return statements.of(`at|${shownShape(query)}`, () => selectOne(list, query, 'at'))
    },
    search,
    defaultSort: plain.sort,
    plain,
    byRank: [{ by: ranked, descending: true }, ...parameters.byId(true)],
    parseSort: (text, errors, past = false) => parameters.sort(text, errors, past),
    parseFields: (text, errors, trashed) => parameters.fields(text, errors, trashed),
    parseExpand: access.expansions.parse,
    parseCursor: (text, sort, errors) => parameters.cursor(text, sort, errors),
    parseSkipped: (text, sort, errors) => parameters.skipped(text, sort, errors),
    cursor: (sort, place) => parameters.cursorAt(sort, sort.length === 1 ? `[${place}]` : String(place)),
    cursorAt: (sort, values) => parameters.cursorAt(sort, values),
  }
}

function plainQuery(sort: readonly SortKey[]): ListQuery {
  return {
    ...WHOLE,
    filters: [],
    sort,
    after: undefined,
    trashed: 'without',
    limit: budget.pageDefault,
    at: undefined,
    search: undefined,
  }
}

/** The statements of a list, one for each shape of a request. */
class ListStatements {
  readonly #cache = new ShapeCache<Statement>()
  readonly #dialect: Dialect
  /** The statement without any parameters. */
  readonly #first: Statement

  constructor(dialect: Dialect, first: Statement) {
    this.#dialect = dialect
    this.#first = first
  }

  of(shape: string, make: () => Sql, bounded = false): Statement {
    return this.#cache.of(shape, () => this.#refuseLong(compile(make(), this.#dialect.placeholder, bounded)))
  }

  /** Only the length that the request adds is limited, not what the declaration makes long. */
  #refuseLong(statement: Statement): Statement {
    const added = Buffer.byteLength(statement.text) - Buffer.byteLength(this.#first.text)
    if (added <= budget.statementBytes) return statement
    throw invalidAt(
      '',
      `needs ${added} bytes of SQL, more than ${budget.statementBytes}: ask with a shorter filter, sort or expand`,
    )
  }
}

function paramsOf({ filters, after, at, search: words }: PageQuery, search: SearchPlan | undefined): Params {
  const params: Params = at === undefined ? {} : { [AS_OF]: at }
  for (const { params: bound } of filters) Object.assign(params, bound)
  for (const [place, value] of (after ?? []).entries()) params[`>${place}`] = value
  if (words !== undefined) search?.bind(words, params)
  return params
}
