import type { NumbersSql } from '../dialect.ts'
import { powerOfTen, symbolOf, withinDecimals, withinIntegers, withinNumbers } from '../numbers.ts'
import { intLiteral, join, once, type Sql, sql } from '../sql.ts'

/** `numeric` has no limits that matter here, so no intermediate result is an error. */
export const numbersSql: NumbersSql = {
  integer(how, left, right) {
    if (how === '*') return sql`(${withinIntegers(sql`((${left})::numeric * (${right})::numeric)`)})::bigint`
    if (how === '/' || how === '%') return sql`((${left})${symbolOf(how)}NULLIF(${right}, 0))`
    return withinIntegers(sql`((${left})${symbolOf(how)}(${right}))`)
  },
  number(how, left, right) {
    const by = sql`(${right})::double precision`
    return withinNumbers(
      sql`((${left})::double precision${symbolOf(how)}${how === '/' ? sql`NULLIF(${by}, 0)` : by})`,
    )
  },
  decimal(how, left, right, scale) {
    const [a, b] = [exact(left.value), exact(right.value)]
    if (how === '/') return withinDecimals(quotient(a, b, scale), scale)
    if (how === '%') return sql`(${a} % NULLIF(${b}, 0))`
    return withinDecimals(sql`(${a}${symbolOf(how)}${b})`, scale)
  },
  toScale: ({ value }, scale, bounded) =>
    bounded ? withinDecimals(sql`round(${exact(value)}, ${intLiteral(scale)})`, scale) : exact(value),
  roundDecimal: ({ value }, scale) => sql`round(${value}, ${intLiteral(scale)})`,
  roundNumber(value, kind, scale) {
    const digits = sql`round(${shown(value)}, ${intLiteral(scale)})`
    return kind === 'integer' ? sql`(${withinIntegers(digits)})::bigint` : withinDecimals(digits, scale)
  },
  order: (number, { value }) => sql`sign(${shown(number)} - ${exact(value)})::bigint`,
  // LEAST and GREATEST ignore nulls.
  extreme: (op, values) =>
    once(values, (all) => {
      const known = join(
        all.map((one) => sql`${one} IS NOT NULL`),
        sql` AND `,
      )
      return sql`CASE WHEN ${known} THEN ${{ parts: [op === 'min' ? 'LEAST' : 'GREATEST'] }}(${join(all)}) END`
    }),
}

function exact(value: Sql): Sql {
  return sql`(${value})::numeric`
}

/** A double as the shortest decimal that identifies it. A direct cast keeps only 15 digits. */
function shown(value: Sql): Sql {
  return sql`((${value})::double precision)::text::numeric`
}

/** A quotient, rounded once, half away from zero: the operator itself chooses its number of places. */
function quotient(left: Sql, right: Sql, scale: number): Sql {
  return once([left, right], ([a = left, b = right]) => {
    const twice = { parts: [`2${'0'.repeat(scale)}`] }
    const digits = sql`div(abs(${a}) * ${twice} + abs(${b}), NULLIF(2 * abs(${b}), 0))`
    return sql`(sign(${a}) * sign(${b}) * ${digits} * ${unit(scale)})`
  })
}

/** 10 to the power of minus `scale`. */
function unit(scale: number): Sql {
  return scale === 0 ? powerOfTen(0) : { parts: [`0.${'1'.padStart(scale, '0')}`] }
}
