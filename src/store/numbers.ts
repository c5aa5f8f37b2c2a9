import { NUMBER_LEAST, NUMBER_MOST } from '../declare/cel/numbers.ts'
import { DECIMAL_DIGITS } from '../declare/fields/number.ts'
import { once, type Sql, sql } from './sql.ts'

/** 10 to the power of `places`, written out. */
export function powerOfTen(places: number): Sql {
  return { parts: [`1${'0'.repeat(places)}`] }
}

const INTEGER_MOST: Sql = { parts: [String(Number.MAX_SAFE_INTEGER)] }

/** The value, or null beyond the limits of an integer. */
export function withinIntegers(value: Sql): Sql {
  return boundedBy(value, INTEGER_MOST)
}

/** The value, or null if a decimal has more than 18 digits. `scale`: its decimal places, if they are written. */
export function withinDecimals(value: Sql, scale = 0): Sql {
  const whole = '9'.repeat(DECIMAL_DIGITS - scale)
  return boundedBy(value, { parts: [scale === 0 ? whole : `${whole}.${'9'.repeat(scale)}`] })
}

function boundedBy(value: Sql, most: Sql): Sql {
  return once([value], ([one = value]) => sql`CASE WHEN ${one} BETWEEN -${most} AND ${most} THEN ${one} END`)
}

const [LEAST, MOST] = [NUMBER_LEAST, NUMBER_MOST].map((limit) => ({ parts: [String(limit)] }))

/** The result of arithmetic with numbers: null beyond the limit, and zero if it is tiny. */
export function withinNumbers(value: Sql): Sql {
  return once(
    [value],
    ([one = value]) =>
      sql`CASE WHEN abs(${one}) < ${LEAST ?? sql``} THEN 0.0 WHEN abs(${one}) <= ${MOST ?? sql``} THEN ${one} END`,
  )
}

export function symbolOf(how: string): Sql {
  return { parts: [` ${how} `] }
}
