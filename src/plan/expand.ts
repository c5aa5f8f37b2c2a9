import { budget } from '../budget.ts'
import { no } from '../declare/cel/expression.ts'
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
} from '../declare/model.ts'
import { type Errors, note } from '../errors.ts'
import type { Dialect } from '../store/dialect.ts'
import { count, id, type Sql, sql, word } from '../store/sql.ts'
import { renderEntity, type Shown } from './render.ts'
import type { Viewer } from './viewer.ts'

/** What comes along, by dot path of the reference or by the name of those that refer to it. */
export type Expansion = ReadonlyMap<string, Expansion>

export interface Expansions {
  /** `?expand=customer,customer.company` */
  parse(text: string, errors: Errors): Expansion
  /** What is shown of an Entity, with what comes along. `row` is where its columns are. */
  shown(type: EntityType, expansion: Expansion, row: (column: string) => Sql, depth?: number): Shown
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
          const far =
            found === undefined
              ? `is not a reference of ${type.name}`
              : `is more than ${budget.expandDepth} away`
          note(errors, 'expand', `"${path}" ${far}`)
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

  function shown(type: EntityType, expansion: Expansion, row: (column: string) => Sql, depth = 0): Shown {
    const { shown: plain } = shownTo(type, row)
    if (expansion.size === 0) return plain
    const more = reverses(type).flatMap((reverse): [string, Sql][] => {
      const inner = expansion.get(reverse.name)
      return inner === undefined ? [] : [[reverse.name, theirs(reverse, row('id'), inner, depth + 1)]]
    })
    return {
      ...plain,
      more,
      expand: (path, reference) => {
        const inner = expansion.get(path)
        const target = targetOf(type, path)
        if (inner === undefined || target === undefined) return undefined
        const theirs = rendered(target, inner, depth + 1)
        const { alias, json, condition } = theirs
        const field = [...walk(type.fields)].find((one) => one.path === path)
        if (field?.kind === 'links') return members(type, field, target, row('id'), theirs)
        return sql`(SELECT ${json} FROM ${id(target.name)} ${alias} WHERE ${alias}."id" = ${reference}
          AND ${alias}."deleted_at" IS NULL AND ${condition})`
      },
    }
  }

  function rendered(type: EntityType, expansion: Expansion, depth: number) {
    const alias = { parts: [`e${depth}`] }
    const row = (column: string) => sql`${alias}.${id(column)}`
    const json = renderEntity(type, dialect, shown(type, expansion, row, depth))
    const { condition, shown: plain } = shownTo(type, row)
    return { alias, json, condition, guard: plain.guard }
  }

  /** All of a list of references, in its order; of what must not be seen the id. */
  function members(
    type: EntityType,
    { path }: Field,
    target: EntityType,
    source: Sql,
    { alias, json, condition }: ReturnType<typeof rendered>,
  ): Sql {
    const plain = dialect.object([['id', dialect.render('reference', sql`l."target"`, 0)]])
    const seen = sql`SELECT CASE WHEN ${alias}."id" IS NULL THEN ${plain} ELSE ${json} END AS j, l."place" AS n
      FROM ${id(linkTableOf(type.name, path).table)} l LEFT JOIN ${id(target.name)} ${alias}
      ON ${alias}."id" = l."target" AND ${alias}."deleted_at" IS NULL AND ${condition} WHERE l."source" = ${source}`
    return dialect.nested(
      sql`'[' || coalesce((SELECT string_agg(q.j, ',' ORDER BY q.n) FROM (${seen}) q), '') || ']'`,
    )
  }

  /** A page of those that refer to it, and are seen to: the first ones, and the cursor by which their own list goes on. */
  function theirs({ from, field }: Reverse, to: Sql, expansion: Expansion, depth: number): Sql {
    const { alias, json, condition, guard } = rendered(from, expansion, depth)
    const seen = guard?.(field.path) ?? sql`1 = 1`
    const page = sql`SELECT ${json} AS j, ${alias}."id" AS n FROM ${id(from.name)} ${alias}
      WHERE ${refersBy(field, from, alias, to)} AND ${seen} AND ${alias}."deleted_at" IS NULL AND ${condition}
      ORDER BY ${alias}."id" LIMIT ${count(budget.expandReverse + 1)}`
    const numbered = sql`SELECT p.j, p.n, row_number() OVER (ORDER BY p.n) AS place FROM (${page}) p`
    const here = sql`q.place <= ${count(budget.expandReverse)}`
    const place = sql`${word(`${from.name}+id [`)} || CAST(max(CASE WHEN ${here} THEN q.n END) AS text) || ']'`
    const cursor = dialect.render('text', sql`'~' || ${dialect.hex(place)}`, 0)
    const data = sql`'[' || coalesce(string_agg(CASE WHEN ${here} THEN q.j END, ',' ORDER BY q.n), '') || ']'`
    const object = dialect.object([
      ['data', dialect.nested(data)],
      ['next', sql`CASE WHEN count(*) > ${count(budget.expandReverse)} THEN ${cursor} END`],
    ])
    return dialect.nested(sql`(SELECT ${object} FROM (${numbered}) q)`)
  }

  return { parse, shown }
}

/** Whether the row of that alias refers to it. */
function refersBy(field: PointingField, from: EntityType, alias: Sql, to: Sql): Sql {
  if (field.kind === 'reference') return sql`${alias}.${id(columnOf(field))} = ${to}`
  const links = id(linkTableOf(from.name, field.path).table)
  return sql`${alias}."id" IN (SELECT l."source" FROM ${links} l WHERE l."target" = ${to})`
}
