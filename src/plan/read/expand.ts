import { budget } from '../../budget.ts'
import { no } from '../../declare/cel/expression.ts'
import { didYouMean } from '../../declare/closest.ts'
import {
  columnOf,
  type EntityType,
  type Field,
  isPointing,
  linkTableOf,
  type Model,
  type PointingField,
  type Reverse,
  reversesOf,
  walk,
} from '../../declare/model.ts'
import { type Errors, note } from '../../errors.ts'
import type { Dialect } from '../../store/dialect.ts'
import { count, id, type Sql, sql, word } from '../../store/sql.ts'
import { bytesOf } from '../tables/bytes.ts'
import { renderEntity, type Shown } from '../tables/render.ts'
import type { Viewer } from '../viewer/viewer.ts'
import { type Allotment, allotmentOf } from './allotment.ts'

/** What comes along, by dot path of the reference or by the name of those that refer to it. */
export type Expansion = ReadonlyMap<string, Expansion>

export interface Expansions {
  /** `?expand=customer,customer.company` */
  parse(text: string, errors: Errors): Expansion
  /** What is shown of an Entity, with what comes along. `row` is where its columns are, `rows` how many there can be. */
  shown(type: EntityType, expansion: Expansion, row: (column: string) => Sql, rows: number): Shown
}

/**
 * Expansions are made by the database with the Entity itself: each target by its id, under the rule by which whoever
 * looks may read it. So a list with any number of them is one query.
 */
export function compileExpansions(
  start: EntityType,
  viewer: Viewer,
  model: Model,
  dialect: Dialect,
  shownTo: (type: EntityType, row: (column: string) => Sql) => { shown: Shown; condition: Sql },
): Expansions {
  const reverses = ({ name }: EntityType): Reverse[] =>
    reversesOf(model, name).filter(({ from, field }) => viewer.mayField(from, field.path, 'read') !== no)
  const targetOf = (type: EntityType, path: string): EntityType | undefined => {
    const field = [...walk(viewer.seen(type))].find((one) => one.path === path)
    const target =
      field !== undefined && isPointing(field)
        ? model.entities.get(field.target)
        : reverses(type).find(({ name }) => name === path)?.from
    return target !== undefined && viewer.sight.reaches(target) ? target : undefined
  }

  const expandable = (type: EntityType): string[] =>
    [...walk(viewer.seen(type)), ...reverses(type).map(({ name }) => ({ path: name }))]
      .map(({ path }) => path)
      .filter((path) => targetOf(type, path) !== undefined)

  /** The longest beginning of the names that can be expanded, and what is behind it. */
  function step(
    type: EntityType,
    names: readonly string[],
  ): [string, EntityType, readonly string[]] | undefined {
    for (let length = names.length; length > 0; length--) {
      const path = names.slice(0, length).join('.')
      const target = targetOf(type, path)
      if (target !== undefined) return [path, target, names.slice(length)]
    }
    return undefined
  }

  function parse(text: string, errors: Errors): Expansion {
    const root = new Map<string, Map<string, unknown>>()
    const paths = text.split(',')
    if (paths.length > budget.expandPaths) {
      note(errors, 'expand', `names more than ${budget.expandPaths} paths`)
      return root as Expansion
    }
    for (const path of paths) {
      let here = root as Map<string, unknown>
      let type = start
      let names: readonly string[] = path.split('.')
      for (let depth = 0; names.length > 0; depth++) {
        const found = step(type, names)
        if (found === undefined || depth === budget.expandDepth) {
          const [at, left] = [type, names]
          note(errors, 'expand', () =>
            found === undefined
              ? `"${path}" is not a reference of ${at.name}${didYouMean(left.join('.'), expandable(at))}`
              : `"${path}" is more than ${budget.expandDepth} away`,
          )
          break
        }
        const next = (here.get(found[0]) ?? new Map()) as Map<string, unknown>
        here.set(found[0], next)
        here = next
        type = found[1]
        names = found[2]
      }
    }
    return root as Expansion
  }

  /** How many lists are behind each other, at most. */
  function listsIn(type: EntityType, expansion: Expansion): number {
    const each = [...expansion].map(([path, inner]) => {
      const target = targetOf(type, path)
      const behind = target === undefined ? 0 : listsIn(target, inner)
      return behind + (fieldAt(type, path)?.kind === 'reference' ? 0 : 1)
    })
    return Math.max(0, ...each)
  }

  function shown(type: EntityType, expansion: Expansion, row: (column: string) => Sql, rows: number): Shown {
    const allotment = allotmentOf({ rows, paths: countPaths(expansion), depth: listsIn(type, expansion) })
    return shownFrom(type, expansion, row, { depth: 0, lists: 0, allotment })
  }

  function shownFrom(
    type: EntityType,
    expansion: Expansion,
    row: (column: string) => Sql,
    reached: Reached,
  ): Shown {
    const { shown: plain } = shownTo(type, row)
    if (expansion.size === 0) return plain
    const more = reverses(type).flatMap((reverse): [string, Sql][] => {
      const inner = expansion.get(reverse.name)
      return inner === undefined
        ? []
        : [[reverse.name, theirs(reverse, row('id'), rendered(reverse.from, inner, further(reached, 1)))]]
    })
    return {
      ...plain,
      more,
      expand: (path, reference) => {
        const inner = expansion.get(path)
        const target = targetOf(type, path)
        if (inner === undefined || target === undefined) return undefined
        const field = fieldAt(type, path)
        if (field?.kind === 'links')
          return members(type, field, row('id'), rendered(target, inner, further(reached, 1)))
        return single(reference, rendered(target, inner, further(reached, 0)))
      },
    }
  }

  function rendered(type: EntityType, expansion: Expansion, reached: Reached): Rendered {
    const alias: Sql = { parts: [`e${reached.depth}`] }
    const row = (column: string) => sql`${alias}.${id(column)}`
    const json = renderEntity(type, dialect, shownFrom(type, expansion, row, reached))
    return { type, reached, alias, json, asked: askOf(type, alias) }
  }

  /** What is asked of a row before its JSON is made: whether it is seen, and how large it is. */
  function askOf(type: EntityType, alias: Sql): Asked {
    const row = (column: string) => sql`${alias}.${id(column)}`
    const { condition, shown: plain } = shownTo(type, row)
    return {
      seen: sql`${alias}."deleted_at" IS NULL AND ${condition}`,
      bytes: bytesOf(plain.fields ?? type.fields, dialect, row),
      guard: plain.guard,
    }
  }

  /** The one that a reference points at, where it is seen. */
  function single(reference: Sql, { type, reached, alias, json, asked }: Rendered): Sql {
    const most = reached.allotment?.bytes(reached.lists)
    const made =
      most === undefined
        ? json
        : sql`CASE WHEN ${asked.bytes} <= ${count(most)} THEN ${json} ELSE ${cut(reference)} END`
    return sql`(SELECT ${made} FROM ${id(type.name)} ${alias} WHERE ${alias}."id" = ${reference} AND ${asked.seen})`
  }

  /** A reference that is not expanded, although it could be: too much would come along. */
  function cut(target: Sql): Sql {
    return dialect.object([
      ['id', dialect.render('reference', target, 0)],
      ['truncated', dialect.nested(sql`'true'`)],
    ])
  }

  /** All of a list of references, in its order; of what must not be seen the id. */
  function members(type: EntityType, { path }: Field, source: Sql, rendered: Rendered): Sql {
    const { type: target, alias, json, reached } = rendered
    const { entities, bytes: most } = allotted(reached)
    const { seen: isSeen, bytes } = askOf(target, weighed)
    const plain = dialect.object([['id', dialect.render('reference', sql`q."target"`, 0)]])
    // Which ones come along is told by their size, before any JSON is made.
    const all = sql`SELECT l."target", l."place", ${weighed}."id" AS "found",
      sum(CASE WHEN ${weighed}."id" IS NULL THEN 0 ELSE ${bytes} END) OVER (ORDER BY l."place" ROWS UNBOUNDED PRECEDING) AS "bytes"
      FROM ${id(linkTableOf(type.name, path).table)} l LEFT JOIN ${id(target.name)} ${weighed}
      ON ${weighed}."id" = l."target" AND l."place" < ${count(entities)} AND ${isSeen}
      WHERE l."source" = ${source}`
    const seen = sql`SELECT CASE WHEN ${alias}."id" IS NOT NULL THEN ${json}
      WHEN q."found" IS NOT NULL OR q."place" >= ${count(entities)} THEN ${cut(sql`q."target"`)} ELSE ${plain} END AS j, q."place" AS n
      FROM (${all}) q LEFT JOIN ${id(target.name)} ${alias} ON ${alias}."id" = q."found" AND q."bytes" <= ${count(most)}`
    return dialect.nested(
      sql`'[' || coalesce((SELECT string_agg(s.j, ',' ORDER BY s.n) FROM (${seen}) s), '') || ']'`,
    )
  }

  /** A page of those that refer to it, and are seen to: the first ones, and the cursor by which their own list goes on. */
  function theirs({ from, field }: Reverse, to: Sql, rendered: Rendered): Sql {
    const { alias, json, reached } = rendered
    const { entities, bytes: most } = allotted(reached)
    const { seen: isSeen, bytes, guard } = askOf(from, weighed)
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
    // Behind the last one that is here; behind none, where the first is too large already.
    const last = sql`coalesce(max(CASE WHEN s.j IS NOT NULL THEN s.n END), 0)`
    const place = sql`${word(`${from.name}+id [`)} || CAST(${last} AS text) || ']'`
    const cursor = dialect.render('text', sql`'~' || ${dialect.hex(place)}`, 0)
    const data = sql`'[' || coalesce(string_agg(s.j, ',' ORDER BY s.n), '') || ']'`
    const object = dialect.object([
      ['data', dialect.nested(data)],
      ['next', sql`CASE WHEN count(*) > count(s.j) THEN ${cursor} END`],
    ])
    return dialect.nested(sql`(SELECT ${object} FROM (${made}) s)`)
  }

  return { parse, shown }
}

/** How far an expansion is from the Entity: over how many references, how many of them lists. */
interface Reached {
  readonly depth: number
  readonly lists: number
  readonly allotment: Allotment | undefined
}

function further({ depth, lists, allotment }: Reached, more: 0 | 1): Reached {
  return { depth: depth + 1, lists: lists + more, allotment }
}

/** What a list may bring along: the lists before it share with it, not it with itself. */
function allotted({ allotment, lists }: Reached): { entities: number; bytes: number } {
  if (allotment === undefined) throw new Error('a list has its allotment')
  return { entities: allotment.entities, bytes: allotment.bytes(lists - 1) }
}

function countPaths(expansion: Expansion): number {
  return [...expansion.values()].reduce((all, inner) => all + 1 + countPaths(inner), 0)
}

function fieldAt({ fields }: EntityType, path: string): Field | undefined {
  return [...walk(fields)].find((one) => one.path === path)
}

/** What is made of an Entity that comes along, and what is asked of it before. */
interface Rendered {
  readonly type: EntityType
  readonly reached: Reached
  readonly alias: Sql
  readonly json: Sql
  readonly asked: Asked
}

interface Asked {
  readonly seen: Sql
  readonly bytes: Sql
  readonly guard: Shown['guard']
}

/** A row where it is weighed, before its JSON is made. */
const weighed = sql`w`

/** Whether the row of that alias refers to it. */
function refersBy(field: PointingField, from: EntityType, alias: Sql, to: Sql): Sql {
  if (field.kind === 'reference') return sql`${alias}.${id(columnOf(field))} = ${to}`
  const links = id(linkTableOf(from.name, field.path).table)
  return sql`${alias}."id" IN (SELECT l."source" FROM ${links} l WHERE l."target" = ${to})`
}
