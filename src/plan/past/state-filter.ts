import type { Expression } from '../../declare/cel/expression.ts'
import type { EntityType, Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { compile, id, type Statement, sql } from '../../store/sql.ts'
import { Conditions } from '../condition/condition.ts'
import { journalStates, ROW_NUMBER } from './place.ts'

/**
 * The numbers of those `$rows` (lists of a number and the JSON of a version) that meet a condition. Other Entities that
 * the condition reaches through references are as they are today.
 */
export function compileStateFilter(
  type: EntityType,
  condition: Expression,
  model: Model,
  dialect: Dialect,
): Statement {
  const rowSource = { type, stored: false, self: (column: string) => sql`t.${id(column)}` }
  const met = new Conditions(model, dialect).of(condition, rowSource)
  return compile(
    sql`SELECT t.${ROW_NUMBER} FROM ${journalStates(type, dialect)} t WHERE ${met}`,
    dialect.placeholder,
    true,
  )
}
