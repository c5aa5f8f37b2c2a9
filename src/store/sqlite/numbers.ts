import type { NumbersSql } from '../dialect.ts'
import { powerOfTen, symbolOf, withinDecimals, withinIntegers, withinNumbers } from '../numbers.ts'
import { intLiteral, join, type Sql, sql } from '../sql.ts'

/**
 * A decimal is an integer: its digits without the point. If a sum or a product exceeds 64 bits, SQLite continues with a
 * double, which is beyond the limits too and becomes null.
 */
export const numbersSql: NumbersSql = {
  integer(how, left, right) {
    const result = sql`(${left}${symbolOf(how)}${right})`
    return how === '/' || how === '%' ? result : withinIntegers(result)
  },
  number: (how, left, right) =>
    withinNumbers(sql`(CAST(${left} AS REAL)${symbolOf(how)}CAST(${right} AS REAL))`),
  decimal(how, left, right, scale) {
    if (how === '*') return withinDecimals(sql`(${left.value} * ${right.value})`)
    if (how === '/')
      return sql`takeback_quotient(${left.value}, ${right.value}, ${intLiteral(scale - left.scale + right.scale)})`
    const [a, b] = [left, right].map((one) => lift(one.value, scale - one.scale))
    if (how !== '%') return withinDecimals(sql`(${a ?? sql``}${symbolOf(how)}${b ?? sql``})`)
    return sql`takeback_remainder(${left.value}, ${intLiteral(scale - left.scale)}, ${right.value}, ${intLiteral(scale - right.scale)})`
  },
  toScale(of, scale, bounded) {
    const value = lift(of.value, scale - of.scale)
    return bounded ? withinDecimals(value) : value
  },
  roundDecimal: ({ value, scale: from }, scale) => sql`takeback_round(${value}, ${intLiteral(from - scale)})`,
  roundNumber(value, kind, scale) {
    const digits = sql`takeback_digits(${value}, ${intLiteral(scale)})`
    return kind === 'integer' ? withinIntegers(digits) : withinDecimals(digits)
  },
  order: (number, { value, scale }) => sql`takeback_order(${number}, ${value}, ${intLiteral(scale)})`,
  extreme: (op, values) => sql`${{ parts: [op] }}(${join(values)})`,
}

function lift(value: Sql, places: number): Sql {
  return places === 0 ? value : sql`(${value} * ${powerOfTen(places)})`
}
