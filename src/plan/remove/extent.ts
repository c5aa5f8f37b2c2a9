import type { Edge, EntityType, Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { id, intLiteral, join, param, quoted, type Sql, sql } from '../../store/sql.ts'
import { LATE, type Step, step } from '../../store/step.ts'
import { type ChangeKind, journal } from '../past/journal.ts'
import type { Reach } from '../tables/graph.ts'
import { referenceRowsOf } from '../tables/links.ts'
import { lockRows } from '../tables/lock-rows.ts'
import { lockGraphs } from '../tables/locks.ts'

/**
 * What one removal takes: the Entity and everything that cascades from it. The transaction notes it as rows (`type`,
 * `id`), where `type` is the number of a type in the reach. If nothing can cascade, it is just the Entity.
 */
export class Extent {
  readonly #reach: Reach
  readonly #model: Model
  readonly #dialect: Dialect
  /** Whether it is always a single Entity. */
  readonly #isSingle: boolean
  /** The Entities that it starts from: `$id`, or all of `$ids`. */
  readonly #roots: 'one' | 'many'

  constructor(reach: Reach, model: Model, dialect: Dialect, roots: 'one' | 'many' = 'one') {
    this.#reach = reach
    this.#model = model
    this.#dialect = dialect
    this.#roots = roots
    this.#isSingle = roots === 'one' && reach.cascades.length === 0 && reach.clears.length === 0
  }

  /** Finds the extent: the Entity, if it meets `root`, and the rows `c` that cascade from it and meet `rest`. */
  find(root: Sql, rest: Sql): readonly Step[] {
    const { fence, lock } = this.#dialect
    const order = this.#roots === 'many' ? sql` ORDER BY t."id"` : sql``
    const first = sql`${this.#start(root)}${fence === undefined ? sql`` : sql` AND ${fence}`}${order}${lock?.toChange ?? sql``}`
    const findRoot = () => step(this.#dialect, 'root', 'some', first)
    if (this.#isSingle) return [findRoot()]
    const found = this.closure(root, rest)
    const noting = [
      ...this.#dialect.forget.map((source) => step(this.#dialect, 'root', 'any', source)),
      { ...step(this.#dialect, 'root', 'some', this.#dialect.note(found)), notes: true },
    ]
    if (lock === undefined) return noting
    return [
      ...lockGraphs(this.#reach.types, this.#model, this.#dialect),
      findRoot(),
      ...noting,
      ...this.#reach.types.map(({ name }) =>
        step(this.#dialect, 'hold', 'any', lockRows(name, this.has(sql`h."id"`, name), lock.toChange)),
      ),
      this.#isStillThat(found),
    ]
  }

  closure(root: Sql, rest: Sql): Sql {
    const arms = this.#reach.cascades.map(({ from, to, column, list }) => ({
      from: this.#code(to),
      to: this.#code(from),
      table: from,
      column,
      links: list?.links,
      condition: rest,
    }))
    return this.#dialect.closure(this.#start(root), arms)
  }

  #start(condition: Sql): Sql {
    const table = id(this.#reach.types[0]?.name ?? '')
    return sql`SELECT 0 AS "type", t."id" FROM ${table} t WHERE ${this.isRoot(sql`t."id"`)} AND ${condition}`
  }

  /** That an id is one of those that the request removes. */
  isRoot(value: Sql): Sql {
    if (this.#roots === 'one') return sql`${value} = ${param('$id')}`
    return this.#dialect.isAmong(value, sql`SELECT i.* FROM ${this.#dialect.listed('$ids', 'integer')} i`)
  }

  /** The number of a type in the notes; negative if the type cannot be in the extent. */
  #code(name: string): number {
    return this.#reach.types.findIndex((type) => type.name === name)
  }

  /** The ids of one type in the extent, as the right side of `IN`. */
  ids(type: string): Sql {
    return this.#isSingle ? sql`(${param('$id')})` : this.#dialect.noted(this.#code(type))
  }

  /** That an id of a type is in the extent. For many, it is written so that no planner compares all with all. */
  has(value: Sql, type: string): Sql {
    const ids = this.ids(type)
    return this.#isSingle
      ? sql`${value} IN ${ids}`
      : this.#dialect.isAmong(value, sql`SELECT n.* FROM ${ids} n`)
  }

  #isOutside(alias: Sql, type: string): Sql {
    return this.#code(type) < 0 ? sql`` : sql` AND ${alias}."id" NOT IN ${this.ids(type)}`
  }

  #hold(table: string, ids: Sql, lock: Sql): Step {
    return step(this.#dialect, 'hold', 'any', lockRows(table, this.#dialect.isAmong(sql`h."id"`, ids), lock))
  }

  /** Finds the extent again, after its rows are locked. It must be the same. */
  #isStillThat(found: Sql): Step {
    const { types } = this.#reach
    const isMember = types.map(
      ({ name }, at) => sql`(x."type" = ${intLiteral(at)} AND x."id" IN ${this.ids(name)})`,
    )
    const noted = join(
      types.map(({ name }) => sql`(SELECT count(*) FROM ${this.ids(name)} m)`),
      sql` + `,
    )
    return step(
      this.#dialect,
      LATE,
      'none',
      sql`SELECT 1 FROM (SELECT count(*) AS "all", count(CASE WHEN ${join(isMember, sql` OR `)} THEN 1 END) AS "known" FROM (${found}) x) y
        WHERE y."all" <> y."known" OR y."all" <> ${noted}`,
    )
  }

  /** The number of rows outside of the extent that refer into it: edge number, number of rows. */
  holders(edge: Edge, at: number, condition: Sql): Sql {
    const { rows, target } = referenceRowsOf(edge)
    const number = edge.list === undefined ? sql`count(*)` : sql`count(DISTINCT c."id")`
    return sql`SELECT ${quoted(String(at))}, ${number}, 0 FROM ${rows}
        WHERE ${this.has(target, edge.to)} AND ${condition}${this.#isOutside(sql`c`, edge.from)} HAVING count(*) > 0`
  }

  /** The number of lists outside of the extent that would become too short: edge number, number of rows. */
  undercut({ from, to, list }: Edge, at: number): Sql {
    const links = id(list?.links ?? '')
    return sql`SELECT ${quoted(String(at))}, count(*), 0 FROM ${id(from)} c
        WHERE c."id" IN (SELECT l."source" FROM ${links} l WHERE l."target" IN ${this.ids(to)})
        AND (SELECT count(*) FROM ${links} k WHERE k."source" = c."id" AND k."target" NOT IN ${this.ids(to)}) < ${intLiteral(list?.min ?? 0)}
        AND c."deleted_at" IS NULL${this.#isOutside(sql`c`, from)} HAVING count(*) > 0`
  }

  /** Rows of the extent with a deleted target outside of it: edge number and place in the list, row, target. */
  deadTargets(edge: Edge, at: number): Sql {
    const { rows, target, place } = referenceRowsOf(edge)
    return sql`SELECT ${quoted(String(at))} || ${place}, c."id", d."id" FROM ${rows} JOIN ${id(edge.to)} d ON d."id" = ${target}
        WHERE c."id" IN ${this.ids(edge.from)} AND d."deleted_at" IS NOT NULL${this.#isOutside(sql`d`, edge.to)}`
  }

  /** Locks the targets of the extent's rows until the transaction ends. */
  holdTargets(edges: readonly Edge[]): readonly Step[] {
    const { lock } = this.#dialect
    if (lock === undefined) return []
    return edges.map((edge) => {
      const { rows, target } = referenceRowsOf(edge)
      const targets = sql`(SELECT ${target} FROM ${rows} WHERE c."id" IN ${this.ids(edge.from)})`
      return this.#hold(edge.to, targets, lock.toStay)
    })
  }

  journal(type: EntityType, kind: ChangeKind): Sql {
    return journal(
      type,
      kind,
      this.#dialect,
      sql`${id(type.name)} t WHERE ${this.has(sql`t."id"`, type.name)}`,
    )
  }

  /** Notes rows outside of the extent that change because of it. */
  noteAffected(type: EntityType, rows: Sql): readonly Step[] {
    const { lock } = this.#dialect
    const held = sql`(${rows}${lock?.toChange ?? sql``}) r`
    const hasLists = this.#reach.clears.some(({ from, list }) => from === type.name && list !== undefined)
    const ids = sql`SELECT ${intLiteral(this.#affectedCode(type))} AS "type", r."id" FROM ${held}`
    return [
      // After waiting for a lock, the row is read anew, but its links are not. So they are read again afterwards.
      ...(lock !== undefined && hasLists
        ? [step(this.#dialect, 'hold', 'any', sql`SELECT count(*) FROM ${held}`)]
        : []),
      { ...step(this.#dialect, 'change', 'any', this.#dialect.note(ids)), notes: true },
    ]
  }

  affectedIds(type: EntityType): Sql {
    return this.#dialect.noted(this.#affectedCode(type))
  }

  #affectedCode({ name }: EntityType): number {
    const { types, clears } = this.#reach
    return types.length + clears.findIndex(({ from }) => from === name)
  }
}
