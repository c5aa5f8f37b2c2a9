import { budget } from '../../budget.ts'
import type { Expression } from '../../declare/cel/expression.ts'
import { withId } from '../../declare/indexes.ts'
import type { EntityType } from '../../declare/model.ts'
import { type Errors, invalidAt, note } from '../../errors.ts'
import type { Bound, Dialect, Params } from '../../store/dialect.ts'
import type { MigrationStep } from '../../store/migration/steps.ts'
import { ordered } from '../../store/order.ts'
import { and, compile, count, id, join, param, type Sql, type Statement, sql } from '../../store/sql.ts'
import type { Conditions } from '../condition/condition.ts'
import type { Filters } from '../condition/filter.ts'
import {
  bindJson,
  type Comparable,
  openCursor,
  readablePaths,
  type SortKey,
  signatureOf,
} from '../condition/query.ts'
import { type RowSource, rowOf } from '../condition/row-source.ts'
import { ShapeCache } from '../condition/shape-cache.ts'
import { AS_OF, tableAsOf } from '../past/past.ts'
import { renderDeletion } from '../past/trash.ts'
import { boundedPage, bytesOf, cutPage, wholePage } from '../tables/bytes.ts'
import { renderEntity, type Shown } from '../tables/render.ts'
import { UNWEIGHED } from './allotment.ts'
import { isBehind } from './behind.ts'
import type { Expansion, Expansions } from './expand.ts'
import {
  figuresShape,
  isOfToday,
  type ListQuery,
  type PageQuery,
  pageShape,
  type ReadQuery,
  type Selection,
  shapeOf,
  shownShape,
} from './list-query.ts'
import { compileSearch, RANK, ranked, type SearchPlan } from './search.ts'
import { heldIn, isServed, neverEmpty } from './served.ts'
import { type Figures, selectSummary } from './summary.ts'

export interface ListPlan extends Filters {
  /** Rows of (JSON of the Entity, its place in the sort), one more than the limit. No JSON where all of it would be too much. */
  page(query: ListQuery): { statement: Statement; params: Params }
  /** The same with as much JSON as fits into an answer. */
  cutPage(query: ListQuery): { statement: Statement; params: Params }
  total(query: ListQuery): { statement: Statement; params: Params }
  /** Rows of one group each, as `summaryOf` takes them, one more than the limit. */
  summary(query: PageQuery, figures: Figures): { statement: Statement; params: Params }
  /** One Entity by `$id`, live: id, version, JSON. */
  readonly read: Statement
  readOnly(query: ReadQuery): Statement
  /** One Entity by `$id`, if it was live at a time: id, version, JSON. */
  readAsOf(fields: ReadonlySet<string> | undefined): Statement
  /** Where fields of it are searched that whoever looks sees. */
  readonly search: SearchPlan | undefined
  readonly defaultSort: readonly SortKey[]
  /** What most lists are asked for: nothing in particular. */
  readonly plain: ListQuery
  /** Best first; among what fits equally, the newest. */
  readonly byRank: readonly SortKey[]
  parseSort(text: string, errors: Errors): readonly SortKey[]
  parseFields(text: string, errors: Errors): ReadonlySet<string>
  parseExpand(text: string, errors: Errors): Expansion
  parseCursor(text: string, sort: readonly SortKey[], errors: Errors): Bound[] | undefined
  /** The cursor that goes on behind a row, from what `page` gave besides its JSON. */
  cursor(sort: readonly SortKey[], place: Bound): string
  /** The same, from the JSON of all sort values. */
  cursorAt(sort: readonly SortKey[], values: string): string
}

/** Which Entities whoever looks may see, and what of them. */
export interface Seen {
  readonly shown: Shown
  /** The same of a row of the past. */
  readonly shownThen: Shown
  readonly expansions: Expansions
  readonly filters: Filters
  readonly conditions: Conditions
  /** What migrations did to values of the type. */
  readonly steps: readonly MigrationStep[]
  /** Whether they see a field of every Entity, by its dot path. */
  always(path: string): boolean
  /** The rule of reading. */
  readonly asked: Expression
  /** What a rule asks of the Entity; undefined where it asks for nothing. */
  rule(action: 'read' | 'restore' | 'history', rowSource: RowSource): Sql | undefined
  /** The rule of reading, each side of its `||` by itself; none where it has but one. */
  sides(rowSource: RowSource): readonly Sql[]
}

export function compileLists(type: EntityType, dialect: Dialect, seen: Seen): ListPlan {
  const { shown, expansions, filters, conditions } = seen
  const readable = readablePaths(shown.fields ?? type.fields)
  const cache = new ShapeCache<Statement>()
  const compiled = (shape: string, make: () => Sql, bounded = false) =>
    cache.of(shape, () => refuseLong(compile(make(), dialect.placeholder, bounded)))
  /** What a request adds to the statement that the declaration makes by itself. */
  function refuseLong(statement: Statement): Statement {
    const added = Buffer.byteLength(statement.text) - Buffer.byteLength(first.text)
    if (added <= budget.statementBytes) return statement
    throw invalidAt(
      '',
      `needs ${added} bytes of SQL, more than ${budget.statementBytes}: ask with a shorter filter, sort or expand`,
    )
  }
  const past = tableAsOf(type, dialect, seen.steps)
  const table = ({ at }: Pick<ListQuery, 'at'>) => (at === undefined ? id(type.name) : past)
  const rowSource = (at: string | undefined): RowSource => ({ ...rowOf(type), stored: at === undefined })
  const whole = renderEntity(type, dialect, shown)
  const full = new Set([...neverEmpty(type, seen.always), RANK])
  const search = compileSearch(type, dialect, seen.always)

  /** The JSON of a row called `t`, as it is or as it was; in the trash it is told how things came there. */
  function json({ fields, expand }: ReadQuery, rows: number, at: string | undefined, trashed = false): Sql {
    if (fields === undefined && expand === undefined && !trashed && at === undefined) return whole
    const plain = at === undefined ? shown : seen.shownThen
    const all = expand === undefined ? plain : expansions.shown(type, expand, rowOf(type).self, rows)
    const deletion = trashed && fields === undefined ? [renderDeletion(type, dialect)] : []
    // What is expanded comes along, whatever else is asked for.
    const chosen = fields === undefined ? undefined : new Set([...fields, ...(expand?.keys() ?? [])])
    return renderEntity(type, dialect, { ...all, chosen, more: [...(all.more ?? []), ...deletion] })
  }

  function where({ filters: asked, trashed, at, search: words }: Selection, side?: Sql): Sql[] {
    const here = rowSource(at)
    const rule = side ?? seen.rule('read', here)
    const restore = trashed === 'without' ? undefined : seen.rule('restore', here)
    const history = at === undefined ? undefined : seen.rule('history', here)
    const state = {
      without: sql`t."deleted_at" IS NULL`,
      only:
        restore === undefined ? sql`t."deletion" IS NOT NULL` : sql`t."deletion" IS NOT NULL AND ${restore}`,
      with: restore === undefined ? sql`1 = 1` : sql`(t."deleted_at" IS NULL OR ${restore})`,
    }[trashed]
    return [
      state,
      ...[rule, history].filter((one) => one !== undefined),
      ...asked.map(({ expression }) => conditions.of(expression, here)),
      ...(words === undefined || search === undefined ? [] : [search.condition(words)]),
    ]
  }

  /** What is sorted by: a value, or how well it fits what is looked for. */
  const sortedBy = ({ by }: SortKey, { search: words, at }: PageQuery): Sql =>
    by.path === RANK && search !== undefined && words !== undefined
      ? search.rank(words)
      : conditions.value(by.value, rowSource(at))

  /** Of the live: an index has no others, and the past has none. */
  function hasIndex(query: ListQuery): boolean {
    const { filters: asked, sort } = query
    const held = heldIn([seen.asked, ...asked.map(({ expression }) => expression)])
    const keys = sort.flatMap((key) => ({ column: columnOf(key) ?? '', descending: key.descending }))
    return isOfToday(query) && isServed(type, keys, held)
  }

  const isById = ({ sort }: PageQuery) => sort.length === 1 && sort[0]?.by.path === 'id'

  /** Whether it costs what its page does: all of the live, in an order that is there already. */
  function isBounded(query: ListQuery): boolean {
    const all = query.filters.length === 0 && seen.rule('read', rowSource(query.at)) === undefined
    return all && isOfToday(query) && (isById(query) || hasIndex(query))
  }

  /** What a page is sorted by, which rows it can have, and the place of a row in it. */
  function parts(query: PageQuery, side?: Sql): { order: Sql; condition: Sql; place: Sql } {
    const keys = query.sort.map((key) => ({
      ...key,
      sql: sortedBy(key, query),
      mayBeEmpty: query.at !== undefined || !full.has(columnOf(key) ?? ''),
    }))
    const behind = query.after === undefined ? [] : [isBehind(keys, query.after)]
    return {
      order: join(keys.map((key) => ordered(key.sql, columnOf(key) ?? '', key.descending))),
      condition: and([...where(query, side), ...behind]),
      place: dialect.array(keys.map(({ by, sql: value }) => dialect.render(by.kind, value, by.scale))),
    }
  }

  /** `cuts`: with as much of the page as fits into an answer, where not all of it does. */
  function select(query: ListQuery, cuts = false): Sql {
    const byId = isById(query)
    const { order, condition, place: placeInAll } = parts(query)
    const place = byId ? sql`t."id"` : placeInAll
    const limit = count(query.limit + 1)
    const from = sql`FROM ${table(query)} t`
    const shownAs = json(query, query.limit, query.at, query.trashed !== 'without' && query.at === undefined)
    const sides = isOfToday(query) ? seen.sides(rowSource(query.at)) : []
    // A page of each side, which may have an index of its own: in an order, no database puts two of them together.
    const pages = sides.map((side, at) => {
      const met = parts(query, side).condition
      return sql`SELECT s${count(at)}."id" FROM (SELECT t."id" ${from} WHERE ${met} ORDER BY ${order} LIMIT ${limit}) s${count(at)}`
    })
    const inOrder = (byId && query.trashed !== 'only') || hasIndex(query)
    // The `+` keeps a walk over the whole table from looking cheaper than the index of the deleted.
    const picked = byId && !inOrder ? sql`+${order}` : order
    const ids =
      pages.length > 0
        ? join(pages, sql` UNION ALL `)
        : sql`SELECT t."id" ${from} WHERE ${condition} ORDER BY ${picked} LIMIT ${limit}`
    if (query.limit > UNWEIGHED) {
      const bytes = bytesOf(shown.fields ?? type.fields, dialect, rowOf(type).self)
      const inPlace = sql`${from} WHERE ${condition} ORDER BY ${order} LIMIT ${limit}`
      const page = { table: table(query), ids, inPlace, order, limit, bytes, shown: shownAs, place }
      if (cuts) return cutPage(page)
      return isBounded(query) && query.expand === undefined ? boundedPage(page) : wholePage(page)
    }
    // Most lists: the order of the live is that of the table, or of an index.
    if (pages.length === 0 && inOrder)
      return sql`SELECT ${shownAs}, ${place} ${from} WHERE ${condition} ORDER BY ${order} LIMIT ${limit}`
    // Otherwise the page is picked first: JSON is made for it, not for everything that had to be sorted.
    return sql`SELECT ${shownAs}, ${place} ${from} WHERE t."id" IN (${ids}) ORDER BY ${order} LIMIT ${limit}`
  }

  function readOf(query: ReadQuery, at?: string): Sql {
    const rules = [
      seen.rule('read', rowSource(at)),
      at === undefined ? undefined : seen.rule('history', rowSource(at)),
    ]
    const guards = rules.flatMap((one) => (one === undefined ? [] : [sql` AND ${one}`]))
    return sql`SELECT t."id", t."version", ${json(query, 1, at)} FROM ${table({ at })} t
      WHERE t."id" = ${param('$id')} AND t."deleted_at" IS NULL${join(guards, sql``)}`
  }

  const paramsOf = (query: PageQuery) => {
    const params = boundOf(query)
    if (query.search !== undefined) search?.bind(query.search, params)
    return params
  }
  const cursorAt = (sort: readonly SortKey[], values: string) =>
    Buffer.from(`${signatureOf(type, sort)}${values}`).toString('base64url')
  const byId = filters.comparable('id')
  const idKey = (descending: boolean): SortKey[] => (byId === undefined ? [] : [{ by: byId, descending }])

  /** Others write `title desc`, `title:asc` or `+title`, whose `+` is a space in a URL. */
  const sortHint = (path: string): string => {
    const [, name = '', way = ''] = /^[ +]?([\w.]+)(?:[ :]+(asc|desc))?$/i.exec(path) ?? []
    if (filters.comparable(name) === undefined) return filters.hint(path)
    return `: write ${way.toLowerCase() === 'desc' ? '-' : ''}${name}`
  }

  const plain: ListQuery = {
    filters: [],
    sort: idKey(false),
    after: undefined,
    trashed: 'without',
    fields: undefined,
    expand: undefined,
    limit: budget.pageDefault,
    at: undefined,
    search: undefined,
  }
  const first = compile(select(plain), dialect.placeholder, isBounded(plain))

  return {
    ...filters,
    page(query) {
      if (query === plain) return { statement: first, params: {} }
      const key = `page|${shapeOf(query)}`
      return { statement: compiled(key, () => select(query), isBounded(query)), params: paramsOf(query) }
    },
    cutPage(query) {
      const key = `cut|${shapeOf(query)}`
      return { statement: compiled(key, () => select(query, true)), params: paramsOf(query) }
    },
    total(query) {
      const key = `total|${shapeOf({ ...query, after: undefined, fields: undefined, expand: undefined, sort: [], limit: 0 })}`
      const counted = (condition: Sql) => sql`SELECT count(*) FROM ${table(query)} t WHERE ${condition}`
      // All but the deleted, of which there is an index: not a look at every row.
      const live = () =>
        sql`SELECT (SELECT count(*) FROM ${id(type.name)}) - (${counted(sql`t."deletion" IS NOT NULL`)})`
      const all =
        query.filters.length === 0 &&
        query.search === undefined &&
        query.trashed === 'without' &&
        query.at === undefined &&
        seen.rule('read', rowOf(type)) === undefined
      const make = () => (all ? live() : counted(and(where(query))))
      return { statement: compiled(key, make), params: paramsOf(query) }
    },
    summary(query, figures) {
      const key = `summary|${pageShape(query)}|${figuresShape(figures)}`
      const make = () => {
        const { condition } = parts(query)
        const value = (by: Comparable) => conditions.value(by.value, rowSource(query.at))
        const rows = { from: sql`${table(query)} t`, where: condition, limit: query.limit, value }
        return selectSummary(figures, rows, dialect)
      }
      return { statement: compiled(key, make), params: paramsOf(query) }
    },
    read: compile(readOf({ fields: undefined, expand: undefined }), dialect.placeholder),
    readOnly: (query) => compiled(`read|${shownShape(query)}`, () => readOf(query)),
    readAsOf: (fields) =>
      compiled(`at|${shownShape({ fields, expand: undefined })}`, () =>
        readOf({ fields, expand: undefined }, 'at'),
      ),
    search,
    defaultSort: plain.sort,
    plain,
    byRank: [{ by: ranked, descending: true }, ...idKey(true)],
    parseSort(text, errors) {
      const parts = text.split(',')
      if (parts.length > budget.sortKeys) {
        note(errors, 'sort', `names more than ${budget.sortKeys} values`)
        return plain.sort
      }
      const keys = parts.flatMap((part): SortKey[] => {
        const descending = part.startsWith('-')
        const path = descending ? part.slice(1) : part
        const by = filters.comparable(path)
        if (by !== undefined) return [{ by, descending }]
        note(
          errors,
          'sort',
          () => `"${path}" is not a value of ${type.name} that can be sorted by${sortHint(path)}`,
        )
        return []
      })
      if (new Set(keys.map(({ by }) => by.path)).size < keys.length)
        note(errors, 'sort', 'names a value twice')
      return withId(keys, ({ by }) => by.path === 'id', idKey)
    },
    parseFields(text, errors) {
      const chosen = new Set(text.split(','))
      for (const path of chosen)
        if (!readable.has(path))
          note(errors, 'fields', () => `"${path}" is not a field of ${type.name}${filters.hint(path)}`)
      return chosen
    },
    parseExpand: expansions.parse,
    parseCursor(text, sort, errors) {
      const values = openCursor(text, signatureOf(type, sort))
      const bound = values?.map((value, at) => {
        const by = sort[at]?.by
        return by === undefined ? undefined : bindJson(value, by, dialect)
      })
      if (bound?.length === sort.length && !bound.includes(undefined)) return bound as Bound[]
      return note(errors, 'cursor', 'is not a cursor of this list with this sort')
    },
    cursor: (sort, place) => cursorAt(sort, sort.length === 1 ? `[${place}]` : String(place)),
    cursorAt,
  }
}

function boundOf({ filters, after, at }: PageQuery): Params {
  const params: Params = at === undefined ? {} : { [AS_OF]: at }
  for (const { params: bound } of filters) Object.assign(params, bound)
  for (const [place, value] of (after ?? []).entries()) params[`>${place}`] = value
  return params
}

/** The column that is sorted by; undefined where it is that of another Entity. */
function columnOf({ by }: SortKey): string | undefined {
  const { hops, column } = by.value.place
  return hops.length === 0 ? column : undefined
}
