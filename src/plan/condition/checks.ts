import { columnsRead, conditionOf } from '../../declare/checks.ts'
import { columnOf, type EntityCheck, type EntityType, type Model, walk } from '../../declare/model.ts'
import { addReferenceError } from '../../declare/values.ts'
import { addError, type Errors } from '../../errors.ts'
import type { Dialect } from '../../store/dialect.ts'
import type { BrokenCheck } from '../../store/migration/checks.ts'
import { type Sql, sql } from '../../store/sql.ts'
import type { Disclosure } from '../viewer/disclosure.ts'
import { Conditions } from './condition.ts'
import { type RowSource, rowOf } from './row-source.ts'

/** A check of a type as SQL. */
export interface CheckSql extends EntityCheck {
  /** The columns of the Entity that it reads. */
  readonly reads: ReadonlySet<string>
  /** That a row fails the check. As in SQL, unknown passes. */
  broken(rowSource: RowSource): Sql
}

/** The checks of a type. They see everything, whoever writes. */
export function checksOf(type: EntityType, model: Model, dialect: Dialect): readonly CheckSql[] {
  const conditions = new Conditions(model, dialect)
  return type.checks.map((check) => {
    const condition = conditionOf(check, type, model.entities)
    return {
      ...check,
      reads: columnsRead(condition),
      broken: (rowSource) => sql`(${conditions.value(condition, rowSource)}) IS FALSE`,
    }
  })
}

/** The row as a write would leave it. Its link tables are not updated yet. */
export function rowAfter(rowSource: RowSource): RowSource {
  return { type: rowSource.type, stored: false, self: (name) => (rowSource.next ?? rowSource.self)(name) }
}

/** Reports a failed check with its own text: at its field, or at no field if the viewer may not know of it. */
export function addBrokenCheck(
  errors: Errors,
  { at, says }: EntityCheck,
  { type, disclosure, prefix = '' }: { type: EntityType; disclosure: Disclosure; prefix?: string },
): void {
  const field = [...walk(type.fields)].find(({ path }) => path === at)
  if (field === undefined || !disclosure.column(type.name, columnOf(field)))
    addError(errors, prefix.slice(0, -1), says)
  else if (field.kind === 'reference') addReferenceError(errors, prefix + at, says)
  else addError(errors, prefix + at, says)
}

/** For migrations: the rows `t` that break a check of a table. */
export function brokenChecks(model: Model, dialect: Dialect): BrokenCheck {
  return (table, that) => {
    const type = model.entities.get(table)
    const check =
      type === undefined ? undefined : checksOf(type, model, dialect).find((one) => one.that === that)
    return type === undefined ? undefined : check?.broken(rowOf(type))
  }
}
