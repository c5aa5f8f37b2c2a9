import type { ColumnKind } from '../declare/fields/field.ts'
import { withId } from '../declare/indexes.ts'
import type { EntityType } from '../declare/model.ts'
import { type Errors, note } from '../errors.ts'
import type { Bag, Bound, Dialect } from '../store/dialect.ts'
import { ordered } from '../store/order.ts'
import { and, compile, count, id, join, param, type Sql, type Statement, sql } from '../store/sql.ts'
import { renderEntity } from './columns.ts'
import { AS_OF, tableAsOf } from './past.ts'
import {
  bindJson,
  type Comparable,
  comparablesOf,
  openCursor,
  parseText,
  readablePaths,
  type SortKey,
  shapes,
  signatureOf,
} from './query.ts'
import { compileSearch, RANK, ranked, type SearchPlan } from './search.ts'
import { isServed } from './served.ts'
import { Texts } from './texts.ts'
import { renderDeletion } from './trash.ts'

/** How many Entities a page has unless told, and at most. */
export const LIMIT = 20
export const LIMIT_MAX = 200

/** The parameters of a list's URL that are not the names of values. */
export const LIST_PARAMETERS = [
  'limit',
  'cursor',
  'sort',
  'count',
  'fields',
  'trashed',
  'at',
  'search',
] as const

export type Trashed = 'without' | 'only' | 'with'

/** A list as it was asked for, checked: what the statement's text depends on, and the values to bind. */
export interface ListQuery {
  readonly equals: readonly { readonly column: string; readonly value: Bound }[]
  readonly sort: readonly SortKey[]
  /** The sort values of the last row that the client has seen. */
  readonly after: readonly Bound[] | undefined
  readonly trashed: Trashed
  readonly fields: ReadonlySet<string> | undefined
  readonly limit: number
  /** As it stood at that time; now, where there is none. */
  readonly at: string | undefined
  /** The words that are looked for, the last one as the beginning of one. */
  readonly search: readonly string[] | undefined
}

export interface ListPlan {
  /** Rows of (JSON of the Entity, its place in the sort), one more than the limit. */
  page(query: ListQuery): { statement: Statement; bag: Bag }
  total(query: ListQuery): { statement: Statement; bag: Bag }
  /** One Entity by `$id`, live: id, version, JSON. */
  readonly read: Statement
  readOnly(fields: ReadonlySet<string>): Statement
  /** One Entity by `$id`, if it was live at a time: id, version, JSON. */
  readAsOf(fields: ReadonlySet<string> | undefined): Statement
  /** One Entity by `$id`, in whatever state: id, version, JSON, the operation that deleted it. */
  readonly state: Statement
  /** Where fields of it are searched. */
  readonly search: SearchPlan | undefined
  /** The value that a query parameter stands for; undefined, and a note, where it is none. */
  parse(path: string, text: string, errors: Errors): { column: string; value: Bound } | undefined
  parseSort(text: string, errors: Errors): SortKey[]
  parseFields(text: string, errors: Errors): ReadonlySet<string>
  parseCursor(text: string, sort: readonly SortKey[], errors: Errors): Bound[] | undefined
  /** The cursor that goes on behind a row, from what `page` gave besides its JSON. */
  cursor(sort: readonly SortKey[], place: Bound): string
}

export function compileLists(type: EntityType, dialect: Dialect): ListPlan {
  const comparables = comparablesOf(type)
  const readable = readablePaths(type.fields)
  const search = compileSearch(type, dialect)
  const comparableOf = (column: string) => (column === RANK ? ranked : comparables.get(column))
  /** What is sorted by: a column, or how well it fits what is looked for. */
  const keyOf = ({ search: words }: ListQuery) => {
    const rank = words === undefined ? undefined : search?.rank(words)
    return (column: string) => (column === RANK && rank !== undefined ? rank : sql`t.${id(column)}`)
  }
  const found = ({ search: words }: ListQuery) =>
    words === undefined || search === undefined ? [] : [search.condition(words)]
  const bagOf = (query: ListQuery) => {
    const bag = boundOf(query)
    if (query.search !== undefined) search?.bind(query.search, bag)
    return bag
  }
  const kindOf = (column: string) => comparables.get(column)?.kind ?? 'integer'
  const texts = new Texts<Statement>()
  const compiled = (shape: string, make: () => Sql) =>
    texts.of(shape, () => compile(make(), dialect.placeholder))
  const whole = renderEntity(type, dialect)
  const trashed = renderEntity(type, dialect, undefined, [renderDeletion(type, dialect)])
  /** In the trash it is told how things came there. */
  const wholeOf = ({ trashed: how, at }: ListQuery) =>
    how === 'without' || at !== undefined ? whole : trashed
  const past = tableAsOf(type, dialect)
  const table = ({ at }: Pick<ListQuery, 'at'>) => (at === undefined ? id(type.name) : past)
  const readOf = (json: Sql, from = id(type.name)) =>
    sql`SELECT t."id", t."version", ${json} FROM ${from} t WHERE t."id" = ${param('$id')} AND t."deleted_at" IS NULL`

  function select(query: ListQuery): Sql {
    const byId = query.sort.length === 1
    const json = query.fields === undefined ? wholeOf(query) : renderEntity(type, dialect, query.fields)
    const key = keyOf(query)
    const order = join(query.sort.map(({ column, descending }) => ordered(key(column), column, descending)))
    const behind =
      query.after === undefined
        ? []
        : [isBehind(query.sort, query.after, key, comparableOf, query.at !== undefined)]
    const where = and([...conditions(query, kindOf), ...found(query), ...behind])
    const limit = count(query.limit + 1)
    const from = sql`FROM ${table(query)} t`
    const place = byId ? sql`t."id"` : placeIn(query.sort, key)
    // Most lists: the order of the live is that of the table, or of an index.
    if ((byId && query.trashed !== 'only') || hasIndex(type, query))
      return sql`SELECT ${json}, ${place} ${from} WHERE ${where} ORDER BY ${order} LIMIT ${limit}`
    // Otherwise the page is picked first: JSON is made for it, not for everything that had to be sorted. The `+` keeps
    // a walk over the whole table from looking cheaper than the index of the deleted.
    const picked = byId ? sql`+${order}` : order
    return sql`SELECT ${json}, ${place} ${from} WHERE t."id" IN
      (SELECT t."id" ${from} WHERE ${where} ORDER BY ${picked} LIMIT ${limit}) ORDER BY ${order}`
  }

  function placeIn(sort: readonly SortKey[], key: (column: string) => Sql): Sql {
    const values = sort.map(({ column }) => {
      const { kind, scale } = comparableOf(column) ?? { kind: 'integer', scale: 0 }
      return dialect.render(kind, key(column), scale)
    })
    return dialect.array(values)
  }

  return {
    page(query) {
      const key = `page|${shapeOf(query)}`
      return { statement: compiled(key, () => select(query)), bag: bagOf(query) }
    },
    total(query) {
      const key = `total|${shapeOf({ ...query, after: undefined, fields: undefined, sort: [], limit: 0 })}`
      const counted = (where: Sql) => sql`SELECT count(*) FROM ${table(query)} t WHERE ${where}`
      // All but the deleted, of which there is an index: not a look at every row.
      const live = () =>
        sql`SELECT (SELECT count(*) FROM ${id(type.name)}) - (${counted(sql`t."deletion" IS NOT NULL`)})`
      const narrowed = query.equals.length > 0 || query.search !== undefined
      const all = !narrowed && query.trashed === 'without' && query.at === undefined
      const make = () => (all ? live() : counted(and([...conditions(query, kindOf), ...found(query)])))
      return { statement: compiled(key, make), bag: bagOf(query) }
    },
    search,
    read: compile(readOf(whole), dialect.placeholder),
    state: compile(
      sql`SELECT t."id", t."version", ${whole}, t."deletion" FROM ${id(type.name)} t WHERE t."id" = ${param('$id')}`,
      dialect.placeholder,
    ),
    readOnly: (fields) =>
      compiled(`read|${[...fields].join(',')}`, () => readOf(renderEntity(type, dialect, fields))),
    readAsOf: (fields) =>
      compiled(`at|${fields === undefined ? '*' : [...fields].join(',')}`, () =>
        readOf(fields === undefined ? whole : renderEntity(type, dialect, fields), past),
      ),
    parse(path, text, errors) {
      const target = comparables.get(path)
      if (target === undefined) return note(errors, path, `is not a parameter, nor a value of ${type.name}`)
      const value = parseText(text, target)
      if (value === undefined) return note(errors, path, `must be ${shapes[target.kind]}`)
      if (target.field?.type === 'choice') target.field.check(value, path, errors)
      return { column: path, value: value === null ? null : dialect.encode(target.kind, target.scale)(value) }
    },
    parseSort(text, errors) {
      const keys = text.split(',').map((part) => {
        const descending = part.startsWith('-')
        return { column: descending ? part.slice(1) : part, descending }
      })
      for (const { column } of keys)
        if (!comparables.has(column))
          note(errors, 'sort', `"${column}" is not a value of ${type.name} that can be sorted by`)
      if (new Set(keys.map(({ column }) => column)).size < keys.length)
        note(errors, 'sort', 'names a value twice')
      return withId(keys)
    },
    parseFields(text, errors) {
      const chosen = new Set(text.split(','))
      for (const path of chosen)
        if (!readable.has(path)) note(errors, 'fields', `"${path}" is not a field of ${type.name}`)
      return chosen
    },
    parseCursor(text, sort, errors) {
      const values = openCursor(text, signatureOf(type, sort))
      const bound = values?.map((value, at) => {
        const target = comparableOf(sort[at]?.column ?? '')
        return target === undefined ? undefined : bindJson(value, target, dialect)
      })
      if (bound?.length === sort.length && !bound.includes(undefined)) return bound as Bound[]
      return note(errors, 'cursor', 'is not a cursor of this list with this sort')
    },
    cursor(sort, place) {
      const values = sort.length === 1 ? `[${place}]` : place
      return Buffer.from(`${signatureOf(type, sort)}${values}`).toString('base64url')
    },
  }
}

/** Everything that the text of the statement depends on, and nothing else. The limit too: some databases compile anew for each that is bound. */
function shapeOf({ equals, sort, after, trashed, fields, limit, at, search }: ListQuery): string {
  const conditions = equals.map(({ column, value }) => `${column}${value === null ? '!' : '='}`).join('&')
  const order = sort.map(({ column, descending }) => `${descending ? '-' : '+'}${column}`).join(',')
  const behind = after?.map((value) => (value === null ? '0' : '1')).join('') ?? ''
  const chosen = fields === undefined ? '*' : [...fields].join(',')
  return [
    trashed,
    conditions,
    order,
    behind,
    limit,
    chosen,
    at === undefined ? '' : 'at',
    search?.length,
  ].join('|')
}

function boundOf({ equals, after, at }: ListQuery): Bag {
  const bag: Bag = at === undefined ? {} : { [AS_OF]: at }
  for (const { column, value } of equals) bag[`=${column}`] = value
  for (const [at, value] of (after ?? []).entries()) bag[`>${at}`] = value
  return bag
}

/** Of the live: an index has no others, and the past has none. */
function hasIndex(type: EntityType, { equals, sort, trashed, at, search }: ListQuery): boolean {
  const held = equals.flatMap(({ column, value }) => (value === null ? [] : [column]))
  if (search !== undefined) return false
  return trashed === 'without' && at === undefined && isServed(type, sort, new Set(held))
}

type KindOf = (column: string) => ColumnKind

function conditions({ equals, trashed }: ListQuery, kindOf: KindOf): Sql[] {
  const state = {
    without: sql`t."deleted_at" IS NULL`,
    only: sql`t."deletion" IS NOT NULL`,
    with: sql`1 = 1`,
  }[trashed]
  const same = equals.map(({ column, value }) =>
    value === null
      ? sql`t.${id(column)} IS NULL`
      : sql`t.${id(column)} = ${param(`=${column}`, kindOf(column))}`,
  )
  return [state, ...same]
}

/** Rows that come after the given sort values: greater in the first, or the same there and greater in the next, and so on. */
function isBehind(
  sort: readonly SortKey[],
  after: readonly Bound[],
  key: (column: string) => Sql,
  comparableOf: (column: string) => Comparable | undefined,
  past: boolean,
): Sql {
  const bound = (at: number) => param(`>${at}`, comparableOf(sort[at]?.column ?? '')?.kind ?? 'integer')
  const [first] = sort
  const always = (column: string) => !past && comparableOf(column)?.mayBeEmpty === false
  // All at once where that says the same: each is worked out once, and an index is read from there on.
  if (sort.every(({ column, descending }) => always(column) && descending === first?.descending)) {
    const beyond = first?.descending ? sql`<` : sql`>`
    return sql`(${join(sort.map(({ column }) => key(column)))}) ${beyond} (${join(sort.map((_, at) => bound(at)))})`
  }
  const same = (at: number) => {
    const column = key(sort[at]?.column ?? '')
    return after[at] === null ? sql`${column} IS NULL` : sql`${column} = ${bound(at)}`
  }
  const ways = sort.flatMap(({ column, descending }, at) => {
    const beyond = isBeyond(key(column), descending, after[at] ?? null, bound(at))
    return beyond === undefined ? [] : [and([...sort.slice(0, at).map((_, before) => same(before)), beyond])]
  })
  if (ways.length === 0) return sql`1 = 0`
  const anyWay = sql`(${join(
    ways.map((way) => sql`(${way})`),
    sql` OR `,
  )})`
  // Said once more of the first alone: what databases begin to read an index at. Not where `null` comes behind it, which
  // would be a second place to begin at.
  if (first === undefined || sort.length === 1 || after[0] === null) return anyWay
  if (!first.descending) return sql`${key(first.column)} >= ${bound(0)} AND ${anyWay}`
  return always(first.column) ? sql`${key(first.column)} <= ${bound(0)} AND ${anyWay}` : anyWay
}

function isBeyond(column: Sql, descending: boolean, value: Bound, bound: Sql): Sql | undefined {
  if (value === null) return descending ? undefined : sql`${column} IS NOT NULL`
  return descending ? sql`(${column} < ${bound} OR ${column} IS NULL)` : sql`${column} > ${bound}`
}
