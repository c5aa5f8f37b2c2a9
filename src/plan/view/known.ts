import { type Expression, no, yes } from '../../declare/cel/expression.ts'
import type { EntityType, Field } from '../../declare/model.ts'
import type { Bound, Dialect, Row } from '../../store/dialect.ts'
import { compile, id, join, type Sql, type Statement, sql } from '../../store/sql.ts'

/** What a viewer may know about the past of Entities. */
export interface KnownPlan {
  /**
   * By `$ids`, live or deleted: id, whether they may see the history, and a flag for each field that they see only in
   * some Entities.
   */
  readonly known: Statement
  /** Reads a row of `known`. */
  readKnown(row: Row): Knowledge & { readonly id: number }
}

/** What a viewer may know of one Entity: whether they see its history, and which fields they see. */
export interface Knowledge {
  readonly history: boolean
  readonly fields: readonly Field[]
}

/** `read`: the read rule of each field. `history`: the condition for seeing the history of the row `t`. */
export function compileKnown(
  type: EntityType,
  read: ReadonlyMap<string, Expression>,
  dialect: Dialect,
  { guard, history }: { guard(expression: Expression): Sql; readonly history: Sql },
): KnownPlan {
  const some = [...read].filter(([, one]) => one !== yes && one !== no)
  const flag = (condition: Sql) => sql`CASE WHEN ${condition} THEN 1 ELSE 0 END`
  const flags = [history, ...some.map(([, one]) => guard(one))].map(flag)
  const made = new Map<string, readonly Field[]>()
  const fieldsOf = (flags: readonly Bound[]): readonly Field[] => {
    const key = flags.join('')
    const known = made.get(key)
    if (known !== undefined) return known
    const seen = new Set([
      ...[...read].filter(([, one]) => one === yes).map(([path]) => path),
      ...some.filter((_, at) => Number(flags[at]) === 1).map(([path]) => path),
    ])
    const fields = seenFields(type.fields, (path) => seen.has(path))
    if (made.size < 1000) made.set(key, fields)
    return fields
  }
  return {
    known: compile(
      sql`SELECT t."id", ${join(flags)} FROM ${id(type.name)} t WHERE t."id" IN ${dialect.listed('$ids', 'integer')}`,
      dialect.placeholder,
    ),
    readKnown: ([id, history, ...flags]) => ({
      id: Number(id),
      history: Number(history) === 1,
      fields: fieldsOf(flags),
    }),
  }
}

/** The visible fields. Objects keep only those fields, and are left out if none remain. */
export function seenFields(fields: readonly Field[], isSeen: (path: string) => boolean): Field[] {
  return fields.flatMap((field): Field[] => {
    if (!isSeen(field.path)) return []
    if (field.kind !== 'object') return [field]
    const inner = seenFields(field.fields, isSeen)
    return inner.length === 0 ? [] : [{ ...field, fields: inner }]
  })
}
