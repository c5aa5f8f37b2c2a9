import type { EntityType } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { and, compile, id, param, type Sql, type Statement, sql } from '../../store/sql.ts'
import { ShapeCache } from '../condition/shape-cache.ts'
import type { BodyColumn } from '../tables/columns.ts'
import { EMAIL_KEY, uniquesOf } from '../tables/schema.ts'
import type { Disclosure } from '../viewer/disclosure.ts'

/** Finds the live Entity that has given values of a unique set, for writes that match by it. */
export interface MatchPlan {
  /** The unique sets that the viewer may know of: their dot paths in bodies, and their columns. */
  readonly sets: readonly MatchedSet[]
  /** Its id, if the viewer sees it and these values. The values are bound by the names of their columns. */
  find(columns: readonly string[]): Statement
}

export interface MatchedSet {
  readonly paths: readonly string[]
  readonly columns: readonly string[]
}

/** `seen`: the conditions for seeing the row `t` and these columns of it. */
export function compileMatches(
  type: EntityType,
  columns: readonly BodyColumn[],
  dialect: Dialect,
  { disclosure, seen }: { disclosure: Disclosure; seen(columns: readonly string[]): readonly Sql[] },
): MatchPlan {
  const statements = new ShapeCache<Statement>()
  return {
    sets: uniqueSets(type).filter((set) =>
      set.columns.every((column) => disclosure.column(type.name, column)),
    ),
    find: (set) =>
      statements.of(set.join('|'), () => {
        const same = set.map((name) => {
          const kind = columns.find((column) => column.name === name)?.kind
          return sql`t.${id(name)} = ${param(name, kind)}`
        })
        const conditions = [...same, sql`t."deleted_at" IS NULL`, ...seen(set)]
        return compile(
          sql`SELECT t."id" FROM ${id(type.name)} t WHERE ${and(conditions)}`,
          dialect.placeholder,
          true,
        )
      }),
  }
}

/** The unique sets of a type. The key of an e-mail is sent as the e-mail. */
export function uniqueSets(type: EntityType): MatchedSet[] {
  return uniquesOf(type).map((columns) => ({
    columns,
    paths: columns.map((column) => (column === EMAIL_KEY ? 'email' : column)),
  }))
}
