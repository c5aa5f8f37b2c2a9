import type { Edge, EntityType } from '../declare/model.ts'
import { count, id, param, type Sql, sql } from '../store/sql.ts'
import type { Dialect } from '../store/store.ts'
import type { Reach } from './graph.ts'
import { type ChangeKind, journal } from './journal.ts'

/**
 * What one removal takes: the Entity and all that cascades from it. Kept in a scratch table of rows (`type`, `id`),
 * where a type is its place in the reach; where nothing can hang from the Entity, it is just that Entity.
 */
export interface Extent {
  /** Finds it: the Entity, if it meets `root`, and what cascades from it, as far as that, called `c`, meets `rest`. */
  find(root: Sql, rest: Sql): readonly Sql[]
  closure(root: Sql, rest: Sql): Sql
  /** The ids of one type in it, as the right side of `IN`. */
  ids(type: string): Sql
  /** How many refer into it from outside: edge's place, number. */
  holders(edge: Edge, at: number, condition: Sql): Sql
  /** Its members whose target is deleted and not a member: edge's place, member, target. */
  deadTargets(edge: Edge, at: number): Sql
  journal(type: EntityType, kind: ChangeKind): Sql
  /** Rows that are changed because of it without being in it: how to note them, and their ids. */
  aside(type: EntityType, rows: Sql): Sql
  asideIds(type: EntityType): Sql
}

export function extentOf(reach: Reach, dialect: Dialect): Extent {
  const [root] = reach.types
  const alone = reach.cascades.length === 0 && reach.clears.length === 0
  const code = (name: string) => reach.types.findIndex((type) => type.name === name)
  const aside = (name: string) => reach.types.length + reach.clears.findIndex((edge) => edge.from === name)
  const of = (code: number) => sql`(SELECT x."id" FROM ${dialect.extent} x WHERE x."type" = ${count(code)})`
  const members = (name: string) => (alone ? sql`(${param('$id')})` : of(code(name)))
  const start = (condition: Sql) =>
    sql`SELECT 0 AS "type", "id" FROM ${id(root?.name ?? '')} WHERE "id" = ${param('$id')} AND ${condition}`
  const outside = (alias: Sql, name: string) =>
    code(name) < 0 ? sql`` : sql` AND ${alias}."id" NOT IN ${members(name)}`

  function closure(condition: Sql, rest: Sql): Sql {
    const arms = reach.cascades.map(({ from, to, column }) => ({
      from: code(to),
      to: code(from),
      table: from,
      column,
      condition: rest,
    }))
    return dialect.closure(start(condition), arms)
  }

  return {
    closure,
    find: (condition, rest) =>
      alone
        ? [start(condition)]
        : [
            dialect.emptyExtent,
            sql`INSERT INTO ${dialect.extent} ("type", "id") ${closure(condition, rest)}`,
          ],
    ids: members,
    holders: ({ from, to, column }, at, condition) =>
      sql`SELECT ${count(at)}, count(*), NULL FROM ${id(from)} c
        WHERE c.${id(column)} IN ${members(to)} AND ${condition}${outside(sql`c`, from)} HAVING count(*) > 0`,
    deadTargets: ({ from, to, column }, at) =>
      sql`SELECT ${count(at)}, c."id", d."id" FROM ${id(from)} c JOIN ${id(to)} d ON d."id" = c.${id(column)}
        WHERE c."id" IN ${members(from)} AND d."deleted_at" IS NOT NULL${outside(sql`d`, to)}`,
    journal: (type, kind) =>
      journal(type, kind, dialect, sql`${id(type.name)} t WHERE t."id" IN ${members(type.name)}`),
    aside: (type, rows) =>
      sql`INSERT INTO ${dialect.extent} ("type", "id") SELECT ${count(aside(type.name))}, r."id" FROM (${rows}) r`,
    asideIds: (type) => of(aside(type.name)),
  }
}
