import type { EntityType, Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { and, compile, id, join, quoted, type Sql, type Statement, sql, unionAll } from '../../store/sql.ts'
import { referenceRowsOf } from '../tables/links.ts'
import { uniquesOf } from '../tables/schema.ts'
import type { Viewer } from '../viewer/viewer.ts'
import { AmendmentRows } from './amend-rows.ts'
import { type AmendmentGroup, amendedName, goneName, typesOf } from './amendment.ts'
import { edgeKey, uniqueKey } from './obstacle.ts'

/**
 * Statements that find all obstacles to amendments in the present data. They change nothing, so one obstacle does not
 * hide another. Each row has a text that `obstacleOf` reads, the id of the Entity, and the id of the other one.
 */
export class AmendChecks {
  readonly #groups: readonly AmendmentRows[]
  readonly #types: readonly EntityType[]
  readonly #model: Model
  readonly #dialect: Dialect

  constructor(groups: readonly AmendmentGroup[], model: Model, dialect: Dialect) {
    this.#groups = groups.map((group, at) => new AmendmentRows(group, at, model, dialect))
    this.#types = typesOf(groups)
    this.#model = model
    this.#dialect = dialect
  }

  all(viewer: Viewer): Statement[] {
    const found = [
      ...this.#groups.flatMap((one) => [one.forbidden(viewer), one.gone(), one.dead()]),
      ...this.#types.flatMap((type) => [this.#held(type), this.#taken(type), this.#clashing(type)]),
    ]
    return found.filter((queries) => queries.length > 0).map((queries) => this.#compile(queries))
  }

  #compile(queries: readonly Sql[]): Statement {
    return compile(unionAll(queries), this.#dialect.placeholder)
  }

  #amended(type: string): Sql {
    return this.#dialect.listed(amendedName(type), 'integer')
  }

  /** Live Entities that refer to one to be deleted. Those that are amended too are left to `dead`. */
  #held(type: EntityType): Sql[] {
    return this.#model.edges
      .filter(({ to }) => to === type.name)
      .map((edge) => {
        const { rows, target } = referenceRowsOf(edge)
        return sql`SELECT ${quoted(edgeKey('held', edge))}, ${target}, c."id" FROM ${rows}
          WHERE ${target} IN ${this.#dialect.listed(goneName(edge.to), 'integer')}
          AND c."deleted_at" IS NULL AND c."id" NOT IN ${this.#amended(edge.from)}`
      })
  }

  /** The future values of a unique set, for each amended Entity. */
  #next(type: EntityType, set: readonly string[]): Sql {
    return join(
      this.#groups
        .filter((one) => one.type === type)
        .map(
          (one) =>
            sql`SELECT v."$id" AS "$id", ${join(set.map((name) => sql`${one.next(name)} AS ${id(name)}`))} FROM ${one.both} WHERE ${one.willBeLive}`,
        ),
      sql` UNION ALL `,
    )
  }

  /** Other Entities that have these unique values already. */
  #taken(type: EntityType): Sql[] {
    return uniquesOf(type).map((set, at) => {
      const same = set.map((name) => sql`h.${id(name)} = a.${id(name)}`)
      return sql`SELECT ${quoted(uniqueKey('taken', type, at))}, a."$id", h."id" FROM (${this.#next(type, set)}) a
        JOIN ${id(type.name)} h ON ${and(same)} WHERE h."deleted_at" IS NULL AND h."id" NOT IN ${this.#amended(type.name)}`
    })
  }

  /** Two amended Entities that would have the same values. */
  #clashing(type: EntityType): Sql[] {
    return uniquesOf(type).map((set, at) => {
      const same = set.map((name) => sql`b.${id(name)} = a.${id(name)}`)
      const next = this.#next(type, set)
      return sql`SELECT ${quoted(uniqueKey('clash', type, at))}, a."$id", b."$id" FROM (${next}) a JOIN (${next}) b ON ${and(same)}
        WHERE a."$id" <> b."$id"`
    })
  }
}
