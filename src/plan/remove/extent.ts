import type { Edge, EntityType, Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { count, id, join, param, type Sql, sql, word } from '../../store/sql.ts'
import { LATE, type Step, step } from '../../store/step.ts'
import { type ChangeKind, journal } from '../past/journal.ts'
import { lockGraphs, type Reach } from '../tables/graph.ts'
import { arrowsOf } from '../tables/links.ts'

/**
 * What one removal takes: the Entity and all that cascades from it. Noted by the transaction as rows (`type`, `id`),
 * where a type is its place in the reach; where nothing can hang from the Entity, it is just that Entity.
 */
export interface Extent {
  /** Finds it: the Entity, if it meets `root`, and what cascades from it, as far as that, called `c`, meets `rest`. */
  find(root: Sql, rest: Sql): readonly Step[]
  closure(root: Sql, rest: Sql): Sql
  /** The ids of one type in it, as the right side of `IN`. */
  ids(type: string): Sql
  /** How many refer into it from outside: edge's place, number. */
  holders(edge: Edge, at: number, condition: Sql): Sql
  /** How many outside of it would have too few left in a list: edge's place, number. */
  undercut(edge: Edge, at: number): Sql
  /** Its members whose target is deleted and not a member: edge's place and the one in the list, member, target. */
  deadTargets(edge: Edge, at: number): Sql
  /** Keeps the targets of its members as they are until the end. */
  holdTargets(edges: readonly Edge[]): readonly Step[]
  journal(type: EntityType, kind: ChangeKind): Sql
  /** Rows `t` that are changed because of it without being in it: how to note them, and their ids. */
  aside(type: EntityType, rows: Sql): readonly Step[]
  asideIds(type: EntityType): Sql
}

export function extentOf(reach: Reach, model: Model, dialect: Dialect): Extent {
  const { lock } = dialect
  const [root] = reach.types
  const alone = reach.cascades.length === 0 && reach.clears.length === 0
  const code = (name: string) => reach.types.findIndex((type) => type.name === name)
  const aside = (name: string) => reach.types.length + reach.clears.findIndex((edge) => edge.from === name)
  const members = (name: string) => (alone ? sql`(${param('$id')})` : dialect.noted(code(name)))
  const fence = dialect.fence === undefined ? sql`` : sql` AND ${dialect.fence}`
  const start = (condition: Sql) =>
    sql`SELECT 0 AS "type", t."id" FROM ${id(root?.name ?? '')} t WHERE t."id" = ${param('$id')} AND ${condition}`
  const outside = (alias: Sql, name: string) =>
    code(name) < 0 ? sql`` : sql` AND ${alias}."id" NOT IN ${members(name)}`

  function closure(condition: Sql, rest: Sql): Sql {
    const arms = reach.cascades.map(({ from, to, column, list }) => ({
      from: code(to),
      to: code(from),
      table: from,
      column,
      links: list?.links,
      condition: rest,
    }))
    return dialect.closure(start(condition), arms)
  }

  /** Locks rows of a table, in one order for everybody. */
  const hold = (table: string, ids: Sql, manner: Sql) =>
    step(
      dialect,
      'hold',
      'any',
      sql`SELECT count(*) FROM (SELECT 1 FROM ${id(table)} h WHERE h."id" IN ${ids} ORDER BY h."id"${manner}) x`,
    )

  /** The extent, looked for again now that nobody can change it any more, must be the one that was found. */
  function stillThat(found: Sql): Step {
    const isMember = reach.types.map(
      (type, at) => sql`(x."type" = ${count(at)} AND x."id" IN ${members(type.name)})`,
    )
    const noted = join(
      reach.types.map((type) => sql`(SELECT count(*) FROM ${members(type.name)} m)`),
      sql` + `,
    )
    return step(
      dialect,
      LATE,
      'none',
      sql`SELECT 1 FROM (SELECT count(*) AS "all", count(CASE WHEN ${join(isMember, sql` OR `)} THEN 1 END) AS "known" FROM (${found}) x) y
        WHERE y."all" <> y."known" OR y."all" <> ${noted}`,
    )
  }

  return {
    closure,
    find(condition, rest) {
      const first = sql`${start(condition)}${fence}`
      const held = lock === undefined ? first : sql`${first}${lock.toChange}`
      if (alone) return [step(dialect, 'root', 'some', held)]
      const found = closure(condition, rest)
      const noting = [
        ...dialect.forget.map((source) => step(dialect, 'root', 'any', source)),
        step(dialect, 'root', 'some', dialect.note(found), { notes: true }),
      ]
      if (lock === undefined) return noting
      return [
        ...lockGraphs(reach.types, model, dialect),
        step(dialect, 'root', 'some', held),
        ...noting,
        ...reach.types.map((type) => hold(type.name, members(type.name), lock.toChange)),
        stillThat(found),
      ]
    },
    ids: members,
    holders(edge, at, condition) {
      const { rows, target } = arrowsOf(edge)
      const number = edge.list === undefined ? sql`count(*)` : sql`count(DISTINCT c."id")`
      return sql`SELECT ${word(String(at))}, ${number}, 0 FROM ${rows}
        WHERE ${target} IN ${members(edge.to)} AND ${condition}${outside(sql`c`, edge.from)} HAVING count(*) > 0`
    },
    undercut({ from, to, list }, at) {
      const links = id(list?.links ?? '')
      return sql`SELECT ${word(String(at))}, count(*), 0 FROM ${id(from)} c
        WHERE c."id" IN (SELECT l."source" FROM ${links} l WHERE l."target" IN ${members(to)})
        AND (SELECT count(*) FROM ${links} k WHERE k."source" = c."id" AND k."target" NOT IN ${members(to)}) < ${count(list?.min ?? 0)}
        AND c."deleted_at" IS NULL${outside(sql`c`, from)} HAVING count(*) > 0`
    },
    deadTargets(edge, at) {
      const { rows, target, place } = arrowsOf(edge)
      return sql`SELECT ${word(String(at))} || ${place}, c."id", d."id" FROM ${rows} JOIN ${id(edge.to)} d ON d."id" = ${target}
        WHERE c."id" IN ${members(edge.from)} AND d."deleted_at" IS NOT NULL${outside(sql`d`, edge.to)}`
    },
    holdTargets: (edges) =>
      lock === undefined
        ? []
        : edges.map((edge) => {
            const { rows, target } = arrowsOf(edge)
            const targets = sql`(SELECT ${target} FROM ${rows} WHERE c."id" IN ${members(edge.from)})`
            return hold(edge.to, targets, lock.toStay)
          }),
    journal: (type, kind) =>
      journal(type, kind, dialect, sql`${id(type.name)} t WHERE t."id" IN ${members(type.name)}`),
    aside(type, rows) {
      const held = sql`(${rows}${lock?.toChange ?? sql``}) r`
      const lists = reach.clears.some(({ from, list }) => from === type.name && list !== undefined)
      return [
        // Whoever has waited for a row sees it anew, but not the link table: that is looked at again, once the row is locked.
        ...(lock !== undefined && lists
          ? [step(dialect, 'hold', 'any', sql`SELECT count(*) FROM ${held}`)]
          : []),
        step(
          dialect,
          'change',
          'any',
          dialect.note(sql`SELECT ${count(aside(type.name))} AS "type", r."id" FROM ${held}`),
          { notes: true },
        ),
      ]
    },
    asideIds: (type) => dialect.noted(aside(type.name)),
  }
}
