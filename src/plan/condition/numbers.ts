import { type Expression, type NumberExpression, scaleOf } from '../../declare/cel/expression.ts'
import { NUMBER_LEAST } from '../../declare/cel/numbers.ts'
import type { Dialect, NumberSql } from '../../store/dialect.ts'
import { once, type Sql, sql } from '../../store/sql.ts'

/** Writes the SQL of arithmetic. `write` writes the operands. */
export function numberSql(
  expression: NumberExpression,
  { numbers }: Dialect,
  write: (operand: Expression) => Sql,
): Sql {
  const operand = (one: Expression): NumberSql => ({ value: write(one), scale: scaleOf(one) })
  switch (expression.op) {
    case 'arithmetic': {
      const { kind, how, left, right, scale } = expression
      if (kind === 'decimal') return numbers.decimal(how, operand(left), operand(right), scale)
      if (kind === 'integer') return numbers.integer(how, write(left), write(right))
      return numbers.number(how, zeroIfTiny(left, write(left)), zeroIfTiny(right, write(right)))
    }
    case 'decimal':
      return numbers.toScale(operand(expression.of), expression.scale, expression.bounded)
    case 'order':
      return numbers.order(write(expression.left), operand(expression.right))
    case 'round':
      return expression.of.kind === 'decimal'
        ? numbers.roundDecimal(operand(expression.of), expression.scale)
        : numbers.roundNumber(write(expression.of), expression.kind, expression.scale)
    case 'abs':
      return sql`abs(${write(expression.of)})`
    case 'min':
    case 'max':
      return numbers.extreme(expression.op, expression.of.map(write))
  }
}

/** Takes a tiny number as zero: products of such numbers could underflow. */
function zeroIfTiny(expression: Expression, value: Sql): Sql {
  if (expression.kind !== 'number' || ['arithmetic', 'literal'].includes(expression.op)) return value
  const least = { parts: [String(NUMBER_LEAST)] }
  return once([value], ([one = value]) => sql`CASE WHEN abs(${one}) < ${least} THEN 0 ELSE ${one} END`)
}
