import { type Expression, type ListPlace, no, type Referrers, yes } from '../../declare/cel/expression.ts'
import type { EntityType, Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { and, id, type Sql, sql } from '../../store/sql.ts'
import type { Viewer } from '../viewer/viewer.ts'
import { isFree, isPinned, type Tie, tieIn } from './pinned.ts'
import { eachOf } from './quantifier.ts'
import { type RowSource, rowOf } from './row-source.ts'

/** What ReferrersSql needs from its SqlWriter. */
export interface ReferrersWriter {
  readonly model: Model
  readonly dialect: Dialect
  /** The viewer of a filter; undefined for a rule, which sees everything. */
  readonly viewer: Viewer | undefined
  readonly rowSource: RowSource
  table(name: string): Sql
  alias(): Sql
  write(expression: Expression, holds: boolean): Sql
  rule(rule: Expression, rowSource: RowSource): Sql
  /** A condition on a value that few rows meet. If the value is behind references, its targets are found first. */
  over(value: Expression, make: (value: Sql) => Sql): Sql
  /** Gives the rows with the items of a depth an alias. */
  name(depth: number, list: ListPlace, alias: Sql): void
}

type Each = Extract<Expression, { op: 'exists' | 'all' }>

/** Referrers as rows: the id that each refers to, and the condition for it to count. */
interface ReferrerRows {
  readonly tables: Sql
  readonly target: Sql
  readonly counts: Sql
}

/** Writes the SQL of `exists`, `all` and `size` over referrers. */
export class ReferrersSql {
  readonly #around: ReferrersWriter

  constructor(around: ReferrersWriter) {
    this.#around = around
  }

  each({ op, list, depth, condition }: Each, referrers: Referrers, holds: boolean): Sql {
    if (op === 'exists' && holds) return this.#exists({ list, depth, condition }, referrers)
    const around = this.#around
    return this.#ofSource(list, (source) => {
      const rows = this.#rows(list, referrers, depth)
      const met = around.write(condition, false)
      const where = sql`${rows.target} = ${source} AND ${rows.counts}`
      return eachOf(op, { rows: rows.tables, where, last: around.dialect.forEachRow }, met, holds)
    })
  }

  /** The number of referrers. If it is compared with `most`, counting stops at `most` + 1. */
  size(list: ListPlace, referrers: Referrers, most?: Sql): Sql {
    return this.#ofSource(list, (source) => {
      const { tables, target, counts } = this.#rows(list, referrers)
      const from = sql`FROM ${tables} WHERE ${target} = ${source} AND ${counts}`
      if (most === undefined) return sql`(SELECT count(*) ${from})`
      const limit = sql`CASE WHEN ${most} < 0 THEN 0 ELSE ${most} END + 1`
      return sql`(SELECT count(*) FROM (SELECT 1 AS "one" ${from} LIMIT ${limit}) counted)`
    })
  }

  /** `exists`, if only truth counts. If an index finds the few matching referrers, they are found first. */
  #exists({ list, depth, condition }: Omit<Each, 'op' | 'kind'>, referrers: Referrers): Sql {
    const { model, dialect, rowSource } = this.#around
    const { root, hops } = list.place
    const parts = condition.op === 'and' ? condition.of : [condition]
    const free = parts.filter((part) => isFree(part, depth))
    const tied = parts.filter((part) => !isFree(part, depth))
    const whole = () => this.#anyOf(list, referrers, depth, parts)
    if (root.of === 'me') {
      const ties = tied.map((part) => tieIn(part, depth)).filter((tie) => tie !== undefined)
      const [tie] = ties
      if (tie === undefined) return whole()
      const found = this.#tied(tie, { list, depth, referrers, free })
      return tied.length === 1 ? found : sql`(${found} AND ${whole()})`
    }
    const pins = free.filter((part) => isPinned(part, { depth, referrers }, model))
    const isSought = root.of === 'item' || hops.length > 0 || rowSource.live === true
    if (!isSought || pins.length === 0) return whole()
    const conditions = tied.length === 0 ? free : pins
    const found = this.#around.over(referredId(list), (source) => {
      const { tables, target, counts } = this.#rows(list, referrers, depth)
      const few = sql`SELECT ${target} FROM ${tables} WHERE ${and([counts, ...this.#written(conditions)])}`
      return dialect.isAmong(source, few)
    })
    return tied.length === 0 ? found : sql`(${found} AND ${whole()})`
  }

  /** `exists`, evaluated for each row by itself. */
  #anyOf(list: ListPlace, referrers: Referrers, depth: number, parts: readonly Expression[]): Sql {
    const source = this.#around.write(referredId(list), false)
    const { tables, target, counts } = this.#rows(list, referrers, depth)
    const met = [sql`${target} = ${source}`, counts, ...this.#written(parts)]
    return sql`EXISTS (SELECT 1 FROM ${tables} WHERE ${and(met)}${this.#around.dialect.forEachRow})`
  }

  /** For referrers of the caller: the value of the row must be among theirs. */
  #tied(
    { inner, outer }: Tie,
    {
      list,
      depth,
      referrers,
      free,
    }: {
      readonly list: ListPlace
      readonly depth: number
      readonly referrers: Referrers
      readonly free: readonly Expression[]
    },
  ): Sql {
    return this.#around.over(outer, (value) => {
      const source = this.#around.write(referredId(list), false)
      const { tables, target, counts } = this.#rows(list, referrers, depth)
      const met = [sql`${target} = ${source}`, counts, ...this.#written(free)]
      const wanted = this.#around.write(inner, false)
      return this.#around.dialect.isAmong(value, sql`SELECT ${wanted} FROM ${tables} WHERE ${and(met)}`)
    })
  }

  #written(parts: readonly Expression[]): Sql[] {
    return parts.map((part) => this.#around.write(part, true))
  }

  /** Writes SQL with the id that the referrers refer to; unknown if there is none. */
  #ofSource(list: ListPlace, make: (source: Sql) => Sql): Sql {
    const source = this.#around.write(referredId(list), false)
    const { root, hops } = list.place
    if (root.of !== 'next' && hops.length === 0) return make(source)
    const one = this.#around.alias()
    const made = make(sql`${one}."id"`)
    return sql`(SELECT ${made} FROM (SELECT ${source} AS "id" LIMIT 1) ${one} WHERE ${one}."id" IS NOT NULL)`
  }

  #rows(list: ListPlace, referrers: Referrers, depth?: number): ReferrerRows {
    const { model, alias, table } = this.#around
    const { from, column, links } = referrers
    const type = model.entities.get(from)
    if (type === undefined) throw new Error(`There is no Entity type ${from}.`)
    const row = alias()
    if (depth !== undefined) this.#around.name(depth, list, row)
    const counts = and([this.#isThere(list, referrers, row), ...this.#isSeen(type, referrers, row)])
    if (links === undefined)
      return { tables: sql`${table(from)} ${row}`, target: sql`${row}.${id(column)}`, counts }
    const link = alias()
    return {
      tables: sql`${table(from)} ${row} JOIN ${table(links)} ${link} ON ${link}."source" = ${row}."id"`,
      target: sql`${link}."target"`,
      counts,
    }
  }

  /**
   * That a referrer counts: it is live. A rule about a deleted Entity also counts referrers that were deleted with it,
   * so that those who could delete it can restore it.
   */
  #isThere({ place: { root, hops } }: ListPlace, { from, column }: Referrers, row: Sql): Sql {
    const { model, viewer, rowSource } = this.#around
    const live = sql`${row}."deleted_at" IS NULL`
    const isOwn = root.of === 'self' && hops.length === 0 && rowSource.stored && rowSource.live !== true
    const edge = model.edges.find((one) => one.from === from && one.column === column)
    if (viewer !== undefined || !isOwn || edge?.onDelete !== 'cascade') return live
    return sql`(${live} OR ${row}."deletion" = ${rowSource.self('deletion')})`
  }

  /** In a filter: that the viewer may read the referrer and its reference. */
  #isSeen(type: EntityType, { path }: Referrers, row: Sql): Sql[] {
    const { viewer } = this.#around
    if (viewer === undefined) return []
    return [viewer.may(type, 'read'), viewer.mayField(type, path, 'read')].flatMap((rule) => {
      if (rule === yes) return []
      if (rule === no) return [sql`1 = 0`]
      return [this.#around.rule(rule, { ...rowOf(type, row), live: true })]
    })
  }
}

/** The id of the Entity that the referrers refer to. */
function referredId({ place }: Pick<ListPlace, 'place'>): Expression {
  return { op: 'value', kind: 'reference', scale: 0, place }
}
