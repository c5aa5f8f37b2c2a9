import { budget } from '../../budget.ts'
import {
  columnOf,
  type EntityType,
  type Field,
  linkTableOf,
  type PointingField,
  type Reverse,
} from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { count, id, type Sql, sql, word } from '../../store/sql.ts'
import { bytesOf } from '../tables/bytes.ts'
import { renderEntity, type Shown } from '../tables/render.ts'
import type { Allotment } from './allotment.ts'
import { type Expandable, type Expansion, fieldAt } from './expandable.ts'

type Columns = (column: string) => Sql

/** What a viewer sees of a row of any type, and the condition under which they see it at all. */
export type ShownTo = (type: EntityType, row: Columns) => { shown: Shown; condition: Sql }

/** How far an expansion is from the listed Entity: how many references away, and how many of them are lists. */
interface Reached {
  readonly depth: number
  readonly lists: number
  readonly allotment: Allotment | undefined
}

/** An expanded Entity: the alias of its row, its JSON, and what is checked before the JSON is made. */
interface Rendered {
  readonly type: EntityType
  readonly reached: Reached
  readonly alias: Sql
  readonly json: Sql
  readonly asked: RowFacts
}

/** Whether a row is seen, how large its JSON will be, and under which conditions its fields are shown. */
interface RowFacts {
  readonly seen: Sql
  readonly bytes: Sql
  readonly guard: Shown['guard']
}

/** The alias of a row whose size is measured, before its JSON is made. */
const weighed = sql`w`

/**
 * The JSON of an Entity with its expansions, made by the database: each target by its id, under the rule by which the
 * viewer may read it. So a list with any number of expansions is one query.
 */
export class ExpandedJson {
  readonly #expandable: Expandable
  readonly #dialect: Dialect
  readonly #shownTo: ShownTo

  constructor(expandable: Expandable, dialect: Dialect, shownTo: ShownTo) {
    this.#expandable = expandable
    this.#dialect = dialect
    this.#shownTo = shownTo
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
        return this.#members(type, field, row('id'), this.#render(target, inner, further(reached, 1)))
      },
    }
  }

  #render(type: EntityType, expansion: Expansion, reached: Reached): Rendered {
    const alias: Sql = { parts: [`e${reached.depth}`] }
    const row = columnsOf(alias)
    const json = renderEntity(type, this.#dialect, this.shown(type, expansion, row, reached))
    return { type, reached, alias, json, asked: this.#ask(type, alias) }
  }

  #ask(type: EntityType, alias: Sql): RowFacts {
    const row = columnsOf(alias)
    const { condition, shown: plain } = this.#shownTo(type, row)
    return {
      seen: sql`${alias}."deleted_at" IS NULL AND ${condition}`,
      bytes: bytesOf(plain.fields ?? type.fields, this.#dialect, row),
      guard: plain.guard,
    }
  }

  /** The target of a reference; null if the viewer may not see it. */
  #single(reference: Sql, { type, reached, alias, json, asked }: Rendered): Sql {
    const most = reached.allotment?.bytes(reached.lists)
    const made =
      most === undefined
        ? json
        : sql`CASE WHEN ${asked.bytes} <= ${count(most)} THEN ${json} ELSE ${this.#truncated(reference)} END`
    return sql`(SELECT ${made} FROM ${id(type.name)} ${alias} WHERE ${alias}."id" = ${reference} AND ${asked.seen})`
  }

  /** A reference that is not expanded because the answer would become too large. */
  #truncated(target: Sql): Sql {
    return this.#dialect.object([
      ['id', this.#dialect.render('reference', target, 0)],
      ['truncated', this.#dialect.nested(sql`'true'`)],
    ])
  }

  /** All members of a list of references, in order. Members that the viewer may not see have only their id. */
  #members(type: EntityType, { path }: Field, source: Sql, rendered: Rendered): Sql {
    const { type: target, alias, json, reached } = rendered
    const { entities, bytes: most } = allotted(reached)
    const { seen: isSeen, bytes } = this.#ask(target, weighed)
    const plain = this.#dialect.object([['id', this.#dialect.render('reference', sql`q."target"`, 0)]])
    // Sizes decide which members are expanded, before any JSON is made.
    const all = sql`SELECT l."target", l."place", ${weighed}."id" AS "found",
      sum(CASE WHEN ${weighed}."id" IS NULL THEN 0 ELSE ${bytes} END) OVER (ORDER BY l."place" ROWS UNBOUNDED PRECEDING) AS "bytes"
      FROM ${id(linkTableOf(type.name, path).table)} l LEFT JOIN ${id(target.name)} ${weighed}
      ON ${weighed}."id" = l."target" AND l."place" < ${count(entities)} AND ${isSeen}
      WHERE l."source" = ${source}`
    const seen = sql`SELECT CASE WHEN ${alias}."id" IS NOT NULL THEN ${json}
      WHEN q."found" IS NOT NULL OR q."place" >= ${count(entities)} THEN ${this.#truncated(sql`q."target"`)} ELSE ${plain} END AS j, q."place" AS n
      FROM (${all}) q LEFT JOIN ${id(target.name)} ${alias} ON ${alias}."id" = q."found" AND q."bytes" <= ${count(most)}`
    return this.#dialect.nested(
      sql`'[' || coalesce((SELECT string_agg(s.j, ',' ORDER BY s.n) FROM (${seen}) s), '') || ']'`,
    )
  }

  /** The first page of the Entities that refer to it, as far as the viewer sees them, and the cursor of the next page. */
  #referring({ from, field }: Reverse, to: Sql, { alias, json, reached }: Rendered): Sql {
    const { entities, bytes: most } = allotted(reached)
    const { seen: isSeen, bytes, guard } = this.#ask(from, weighed)
    const limit = Math.min(budget.expandReverse, entities)
    const seen = guard?.(field.path) ?? sql`1 = 1`
    const page = sql`SELECT ${weighed}."id" AS n, ${bytes} AS b FROM ${id(from.name)} ${weighed}
      WHERE ${refersBy(field, from, weighed, to)} AND ${seen} AND ${isSeen}
      ORDER BY ${weighed}."id" LIMIT ${count(limit + 1)}`
    const numbered = sql`SELECT p.n, row_number() OVER (ORDER BY p.n) AS place,
      sum(p.b) OVER (ORDER BY p.n ROWS UNBOUNDED PRECEDING) AS bytes FROM (${page}) p`
    const here = sql`q.place <= ${count(limit)} AND q.bytes <= ${count(most)}`
    const made = sql`SELECT q.n, CASE WHEN ${here} THEN (SELECT ${json} FROM ${id(from.name)} ${alias} WHERE ${alias}."id" = q.n) END AS j
      FROM (${numbered}) q`
    const data = sql`'[' || coalesce(string_agg(s.j, ',' ORDER BY s.n), '') || ']'`
    const object = this.#dialect.object([
      ['data', this.#dialect.nested(data)],
      ['next', sql`CASE WHEN count(*) > count(s.j) THEN ${this.#cursor(from)} END`],
    ])
    return this.#dialect.nested(sql`(SELECT ${object} FROM (${made}) s)`)
  }

  /** The cursor after the last row `s` that has JSON; at the beginning if even the first row is too large. */
  #cursor({ name }: EntityType): Sql {
    const last = sql`coalesce(max(CASE WHEN s.j IS NOT NULL THEN s.n END), 0)`
    const place = sql`${word(`${name}+id [`)} || CAST(${last} AS text) || ']'`
    return this.#dialect.render('text', sql`'~' || ${this.#dialect.hex(place)}`, 0)
  }
}

function columnsOf(alias: Sql): Columns {
  return (column) => sql`${alias}.${id(column)}`
}

function further({ depth, lists, allotment }: Reached, more: 0 | 1): Reached {
  return { depth: depth + 1, lists: lists + more, allotment }
}

/** The share of a list. Lists before it on the path divide the budget; the list itself does not divide its share. */
function allotted({ allotment, lists }: Reached): { entities: number; bytes: number } {
  if (allotment === undefined) throw new Error('a list has its allotment')
  return { entities: allotment.entities, bytes: allotment.bytes(lists - 1) }
}

/** That the row with this alias refers to `to`. */
function refersBy(field: PointingField, from: EntityType, alias: Sql, to: Sql): Sql {
  if (field.kind === 'reference') return sql`${alias}.${id(columnOf(field))} = ${to}`
  const links = id(linkTableOf(from.name, field.path).table)
  return sql`${alias}."id" IN (SELECT l."source" FROM ${links} l WHERE l."target" = ${to})`
}
