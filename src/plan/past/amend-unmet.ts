import { budget } from '../../budget.ts'
import type { Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { id, intLiteral, join, quoted, type Sql, sql, unionAll } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'
import { type CheckSql, checksOf, rowAfter } from '../condition/checks.ts'
import { rowOf } from '../condition/row-source.ts'
import { AmendmentRows } from './amend-rows.ts'
import { type AmendmentGroup, UNMET } from './amendment.ts'
import { checkKey } from './obstacle.ts'

/** One check of one group. */
interface GroupCheck {
  readonly rows: AmendmentRows
  readonly check: CheckSql
  /** Its place among the checks of its type. */
  readonly at: number
  /** Whether the group sets a column that the check reads. Otherwise only restored Entities must meet it. */
  readonly touched: boolean
}

/**
 * The steps that enforce checks on amendments. A check may read other Entities that the same operation amends. Then it
 * must hold with these either as they were or as they will be: when the data was first written, it met one of the two.
 */
export function compileUnmet(
  groups: readonly AmendmentGroup[],
  model: Model,
  dialect: Dialect,
): { readonly suspect: Step[]; readonly refuse: Step[] } {
  if (groups.every(({ type }) => type.checks.length === 0)) return { suspect: [], refuse: [] }
  const all = groups.flatMap((group, number) =>
    checksIn(group, new AmendmentRows(group, number, model, dialect)),
  )
  const suspects = join(
    all.map((one, code) => suspectsOf(one, code)),
    sql` UNION ALL `,
  )
  const found = all.map((one, code) => stillBroken(one, dialect.noted(code)))
  return {
    suspect: [
      ...dialect.forget.map((source) => step(dialect, 'change', 'any', source)),
      { ...step(dialect, 'change', 'any', dialect.note(suspects)), notes: true },
    ],
    refuse: [step(dialect, UNMET, 'none', sql`${unionAll(found)} LIMIT ${intLiteral(budget.namedChanges)}`)],
  }

  function checksIn({ type, columns }: AmendmentGroup, rows: AmendmentRows): GroupCheck[] {
    return checksOf(type, model, dialect).map((check, at) => {
      const touched = columns.some((column) => check.reads.has(column))
      return { rows, check, at, touched }
    })
  }
}

/** Before the change: Entities that would fail the check with all others as they are now. */
function suspectsOf({ rows, check, touched }: GroupCheck, code: number): Sql {
  const next = rowAfter({ ...rowOf(rows.type), next: (name) => rows.next(name) })
  const isChecked = touched ? rows.willBeLive : sql`v."$kind" = 'restore'`
  return sql`SELECT ${intLiteral(code)} AS "type", v."$id" AS "id" FROM ${rows.both} WHERE ${isChecked} AND ${check.broken(next)}`
}

/** After the change: those of the suspects that still fail it. */
function stillBroken({ rows: { type }, check, at }: GroupCheck, suspects: Sql): Sql {
  return sql`SELECT ${quoted(checkKey(type, at))}, t."id", 0 FROM ${id(type.name)} t
    WHERE t."id" IN ${suspects} AND t."deleted_at" IS NULL AND ${check.broken(rowOf(type))}`
}
