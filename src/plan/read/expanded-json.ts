import { budget } from '../../budget.ts'
import {
  columnOf,
  type EntityType,
  type LinksField,
  linkTableOf,
  type ObjectField,
  type PointingField,
  type Reverse,
} from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { ordered } from '../../store/order.ts'
import { and, id, intLiteral, join, quoted, type Sql, sql } from '../../store/sql.ts'
import type { Conditions } from '../condition/condition.ts'
import { type SortKey, signatureOf, sortColumn } from '../condition/query.ts'
import { rowOf } from '../condition/row-source.ts'
import { bytesOf } from '../tables/bytes.ts'
import { renderEntity, type Shown } from '../tables/render.ts'
import { type Expandable, type Expanded, type ExpandOptions, type Expansion, fieldAt } from './expandable.ts'
import type { ExpansionBudget } from './expansion-budget.ts'

type Columns = (column: string) => Sql

/** What a viewer sees of a row of any type, and the condition for seeing it at all. */
export type ShownTo = (type: EntityType, row: Columns) => { shown: Shown; condition: Sql }

/** The distance of an expansion from the listed Entity: the number of references, and how many of them are lists. */
interface Reached {
  readonly depth: number
  readonly lists: number
  readonly expansionBudget: ExpansionBudget | undefined
}

/** An expanded Entity: the alias of its row, its JSON, and what is evaluated before the JSON is made. */
interface Rendered {
  readonly type: EntityType
  readonly options: ExpandOptions
  readonly reached: Reached
  readonly alias: Sql
  readonly json: Sql
  readonly facts: RowFacts
}

/** Facts about a row: whether it is visible, the size of its JSON, and which of its fields are shown. */
interface RowFacts {
  readonly seen: Sql
  readonly bytes: Sql
  readonly guard: Shown['guard']
}

/** The alias of a row that is measured before its JSON is made. */
const weighed = sql`w`

/** A sort key of a list: its name in the queries around the list, and its direction. */
interface ListKey {
  readonly value: Sql
  readonly name: Sql
  readonly order: (value: Sql) => Sql
}

interface Making {
  readonly expandable: Expandable
  readonly dialect: Dialect
  readonly shownTo: ShownTo
  /** The conditions of filters, limited to what the viewer sees. */
  readonly conditions: Conditions
}

/**
 * The JSON of an Entity with its expansions, made by the database. Each target is found by its id and checked against
 * the viewer's read rule. So a list with any number of expansions is one query.
 */
export class ExpandedJson {
  readonly #expandable: Expandable
  readonly #dialect: Dialect
  readonly #shownTo: ShownTo
  readonly #conditions: Conditions

  constructor({ expandable, dialect, shownTo, conditions }: Making) {
    this.#expandable = expandable
    this.#dialect = dialect
    this.#shownTo = shownTo
    this.#conditions = conditions
  }

  shown(type: EntityType, expansion: Expansion, row: Columns, reached: Reached): Shown {
    const { shown: plain } = this.#shownTo(type, row)
    if (expansion.size === 0) return plain
    const more = this.#expandable.reverses(type).flatMap((reverse): [string, Sql][] => {
      const inner = expansion.get(reverse.name)
      if (inner === undefined) return []
      const rendered = this.#render(reverse.from, inner, further(reached, 1))
      return [[reverse.name, this.#referring(reverse, row('id'), rendered)]]
    })
    return {
      ...plain,
      more,
      expand: (path, reference) => {
        const inner = expansion.get(path)
        const target = this.#expandable.target(type, path)
        if (inner === undefined || target === undefined) return undefined
        const field = fieldAt(type, path)
        if (field?.kind !== 'links')
          return this.#single(reference, this.#render(target, inner, further(reached, 0)))
        const rendered = this.#render(target, inner, further(reached, 1))
        if (field.item !== undefined) return this.#entries(field, field.item, reference, rendered)
        const links = id(linkTableOf(type.name, path).table)
        const { filter, sort, limit } = rendered.options
        return (filter ?? sort ?? limit) === undefined
          ? this.#members(links, row('id'), rendered)
          : this.#chosenMembers(links, row('id'), rendered)
      },
    }
  }

  #render(type: EntityType, { options, inner }: Expanded, reached: Reached): Rendered {
    const alias: Sql = { parts: [`e${reached.depth}`] }
    const { fields } = options
    // A reference always shows its id, and the references expanded in it.
    const chosen = fields === undefined ? undefined : new Set(['id', ...fields, ...inner.keys()])
    const shown = { ...this.shown(type, inner, columnsOf(alias), reached), chosen }
    const json = renderEntity(type, this.#dialect, shown)
    return { type, options, reached, alias, json, facts: this.#ask(type, alias, chosen) }
  }

  #ask(type: EntityType, alias: Sql, chosen?: ReadonlySet<string>): RowFacts {
    const row = columnsOf(alias)
    const { condition, shown: plain } = this.#shownTo(type, row)
    return {
      seen: sql`${alias}."deleted_at" IS NULL AND ${this.#dialect.rowByRow(condition)}`,
      bytes: bytesOf(plain.fields ?? type.fields, this.#dialect, row, chosen),
      guard: plain.guard,
    }
  }

  /** The target of a reference; null if the viewer may not see it. */
  #single(reference: Sql, { type, reached, alias, json, facts }: Rendered): Sql {
    const most = reached.expansionBudget?.bytes(reached.lists)
    const made =
      most === undefined
        ? json
        : sql`CASE WHEN ${facts.bytes} <= ${intLiteral(most)} THEN ${json} ELSE ${this.#truncated(reference)} END`
    return sql`(SELECT ${made} FROM ${id(type.name)} ${alias} WHERE ${alias}."id" = ${reference} AND ${facts.seen})`
  }

  /** A reference that is not expanded because the answer would become too large. */
  #truncated(target: Sql): Sql {
    return this.#dialect.object([
      ['id', this.#dialect.render('reference', target, 0)],
      ['truncated', this.#dialect.nested(sql`'true'`)],
    ])
  }

  /** All members of a list of references, in order. Members that the viewer may not see have only their id. */
  #members(links: Sql, source: Sql, { type: target, options, alias, json, reached }: Rendered): Sql {
    const { entities, bytes: most } = shareOf(reached)
    const { seen: isSeen, bytes } = this.#ask(target, weighed, options.fields)
    const plain = this.#dialect.object([['id', this.#dialect.render('reference', sql`q."target"`, 0)]])
    // Sizes decide which members are expanded, before JSON is made.
    const all = sql`SELECT l."target", l."place", ${weighed}."id" AS "found",
      sum(CASE WHEN ${weighed}."id" IS NULL THEN 0 ELSE ${bytes} END) OVER (ORDER BY l."place" ROWS UNBOUNDED PRECEDING) AS "bytes"
      FROM ${links} l LEFT JOIN ${id(target.name)} ${weighed}
      ON ${weighed}."id" = l."target" AND l."place" < ${intLiteral(entities)} AND ${isSeen}
      WHERE l."source" = ${source}`
    const seen = sql`SELECT CASE WHEN ${alias}."id" IS NOT NULL THEN ${json}
      WHEN q."found" IS NOT NULL OR q."place" >= ${intLiteral(entities)} THEN ${this.#truncated(sql`q."target"`)} ELSE ${plain} END AS j, q."place" AS n
      FROM (${all}) q LEFT JOIN ${id(target.name)} ${alias} ON ${alias}."id" = q."found" AND q."bytes" <= ${intLiteral(most)}`
    return this.#dialect.nested(
      sql`'[' || coalesce((SELECT string_agg(s.j, ',' ORDER BY s.n) FROM (${seen}) s), '') || ']'`,
    )
  }

  /** A list of objects, with the Entity in place of each reference. */
  #entries(field: LinksField, item: ObjectField, list: Sql, rendered: Rendered): Sql {
    const { type: target, options, alias, json, reached } = rendered
    const dialect = this.#dialect
    const { entities, bytes: most } = shareOf(reached)
    const { rows, target: member, place } = dialect.members(list, field.member)
    const { seen: isSeen, bytes } = this.#ask(target, weighed, options.fields)
    const all = sql`SELECT m."value" AS "item", ${member} AS "target", ${place} AS "place", ${weighed}."id" AS "found",
      sum(CASE WHEN ${weighed}."id" IS NULL THEN 0 ELSE ${bytes} END) OVER (ORDER BY ${place} ROWS UNBOUNDED PRECEDING) AS "bytes"
      FROM ${rows} LEFT JOIN ${id(target.name)} ${weighed} ON ${weighed}."id" = ${member} AND ${place} < ${intLiteral(entities)} AND ${isSeen}`
    const plain = dialect.object([['id', dialect.render('reference', sql`q."target"`, 0)]])
    const reference = sql`CASE WHEN ${alias}."id" IS NOT NULL THEN ${json}
      WHEN q."found" IS NOT NULL OR q."place" >= ${intLiteral(entities)} THEN ${this.#truncated(sql`q."target"`)} ELSE ${plain} END`
    const entry = dialect.object(
      item.fields.map(({ name }): [string, Sql] => [
        name,
        name === field.member
          ? dialect.nested(reference)
          : dialect.render('json', dialect.extract(sql`q."item"`, name, 'json', 0), 0),
      ]),
    )
    const made = sql`SELECT ${entry} AS j, q."place" AS n FROM (${all}) q
      LEFT JOIN ${id(target.name)} ${alias} ON ${alias}."id" = q."found" AND q."bytes" <= ${intLiteral(most)}`
    const text = sql`'[' || coalesce((SELECT string_agg(s.j, ',' ORDER BY s.n) FROM (${made}) s), '') || ']'`
    return sql`CASE WHEN ${list} IS NOT NULL THEN ${dialect.nested(text)} END`
  }

  /** The members that the viewer sees and that meet the filter, in the order of the sort or of the list. */
  #chosenMembers(links: Sql, source: Sql, rendered: Rendered): Sql {
    const { type: target, options, reached } = rendered
    const { entities } = shareOf(reached)
    const limit = Math.min(options.limit ?? entities, entities)
    const keys =
      options.sort === undefined
        ? [{ value: sql`l."place"`, name: sql`k0`, order: (value: Sql) => value }]
        : this.#keysOf(target, options.sort)
    const { seen, bytes } = this.#ask(target, weighed, options.fields)
    const from = sql`${links} l JOIN ${id(target.name)} ${weighed} ON ${weighed}."id" = l."target"`
    const where = and([sql`l."source" = ${source}`, seen, ...this.#filtered(rendered)])
    const page = sql`SELECT ${weighed}."id" AS n, ${bytes} AS b${columnsFor(keys)} FROM ${from} WHERE ${where}`
    const made = this.#made(page, keys, limit, rendered)
    const truncated = this.#truncated(sql`s.n`)
    return this.#dialect.nested(
      sql`(SELECT '[' || coalesce(string_agg(coalesce(s.j, ${truncated}), ',' ORDER BY s.place), '') || ']' FROM (${made}) s)`,
    )
  }

  /** The first page of the visible Entities that refer to it, and the cursor of the next page. */
  #referring({ from, field }: Reverse, to: Sql, rendered: Rendered): Sql {
    const { options, reached } = rendered
    const { seen: isSeen, bytes, guard } = this.#ask(from, weighed, options.fields)
    const limit = Math.min(options.limit ?? budget.expandReverse, shareOf(reached).entities)
    const seen = this.#dialect.rowByRow(guard?.(field.path) ?? sql`1 = 1`)
    const sort = options.sort ?? []
    const keys = sort.length === 0 ? [byId] : this.#keysOf(from, sort)
    const where = and([refersBy(field, from, weighed, to), seen, isSeen, ...this.#filtered(rendered)])
    const page = sql`SELECT ${weighed}."id" AS n, ${bytes} AS b${columnsFor(keys)} FROM ${id(from.name)} ${weighed}
      WHERE ${where} ORDER BY ${join(keys.map(({ value, order }) => order(value)))} LIMIT ${intLiteral(limit + 1)}`
    const made = this.#made(page, keys, limit, rendered)
    const data = sql`'[' || coalesce(string_agg(s.j, ',' ORDER BY s.place), '') || ']'`
    const object = this.#dialect.object([
      ['data', this.#dialect.nested(data)],
      ['next', sql`CASE WHEN count(*) > count(s.j) THEN ${this.#cursor(from, sort)} END`],
    ])
    return this.#dialect.nested(sql`(SELECT ${object} FROM (${made}) s)`)
  }

  #filtered({ type, options: { filter } }: Rendered): Sql[] {
    if (filter === undefined) return []
    return [this.#dialect.rowByRow(this.#conditions.of(filter.expression, rowOf(type, weighed)))]
  }

  #keysOf(type: EntityType, sort: readonly SortKey[]): ListKey[] {
    const row = rowOf(type, weighed)
    return sort.map((key, at) => ({
      value: this.#conditions.value(key.by.value, row),
      name: { parts: [`k${at}`] },
      order: (value) => ordered(value, sortColumn(key) ?? '', key.descending),
    }))
  }

  /**
   * The rows of a page with their `place` in the order, and as `j` the JSON of as many as fit. `ends` marks the last of
   * these, if there are more. Sizes are added up before JSON is made.
   */
  #made(page: Sql, keys: readonly ListKey[], limit: number, { type, alias, json, reached }: Rendered): Sql {
    const { bytes: most } = shareOf(reached)
    const order = join(keys.map(({ name, order }) => order(sql`p.${name}`)))
    const numbered = sql`SELECT p.*, row_number() OVER (ORDER BY ${order}) AS place,
      sum(p.b) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) AS bytes FROM (${page}) p`
    const fits = sql`q.place <= ${intLiteral(limit)} AND q.bytes <= ${intLiteral(most)}`
    const next = sql`lead(CASE WHEN ${fits} THEN 1 ELSE 0 END) OVER (ORDER BY q.place)`
    return sql`SELECT q.*, ${next} = 0 AS ends,
      CASE WHEN ${fits} THEN (SELECT ${json} FROM ${id(type.name)} ${alias} WHERE ${alias}."id" = q.n) END AS j
      FROM (${numbered}) q`
  }

  /** The cursor after the last row `s` that has JSON; at the beginning if even the first row is too large. */
  #cursor(type: EntityType, sort: readonly SortKey[]): Sql {
    const dialect = this.#dialect
    const values =
      sort.length === 0
        ? [dialect.render('integer', sql`s.k0`, 0)]
        : sort.map(({ by }, at) => dialect.render(by.kind, { parts: [`s.k${at}`] }, by.scale))
    const last = sql`max(CASE WHEN s.ends AND s.j IS NOT NULL THEN ${dialect.array(values)} END)`
    const signature = sort.length === 0 ? `${type.name}+id ` : signatureOf(type, sort)
    const place = sql`${quoted(signature)} || coalesce(${last}, '[]')`
    return dialect.render('text', sql`'~' || ${dialect.hex(place)}`, 0)
  }
}

/** The default order of a list of referrers. */
const byId: ListKey = {
  value: sql`${weighed}."id"`,
  name: sql`k0`,
  order: (value) => ordered(value, 'id', false),
}

function columnsFor(keys: readonly ListKey[]): Sql {
  return join(
    keys.map(({ value, name }) => sql`, ${value} AS ${name}`),
    sql``,
  )
}

function columnsOf(alias: Sql): Columns {
  return (column) => sql`${alias}.${id(column)}`
}

function further({ depth, lists, expansionBudget }: Reached, more: 0 | 1): Reached {
  return { depth: depth + 1, lists: lists + more, expansionBudget }
}

/** The share of a list. Lists before it on the path divide the budget; the list itself does not divide its share. */
function shareOf({ expansionBudget, lists }: Reached): { entities: number; bytes: number } {
  if (expansionBudget === undefined) throw new Error('a list has its budget')
  return { entities: expansionBudget.entities, bytes: expansionBudget.bytes(lists - 1) }
}

/** That the row with this alias refers to `to`. */
function refersBy(field: PointingField, from: EntityType, alias: Sql, to: Sql): Sql {
  if (field.kind === 'reference') return sql`${alias}.${id(columnOf(field))} = ${to}`
  const links = id(linkTableOf(from.name, field.path).table)
  return sql`${alias}."id" IN (SELECT l."source" FROM ${links} l WHERE l."target" = ${to})`
}
