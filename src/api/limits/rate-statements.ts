import { SKEW_MS } from '../../clock.ts'
import type { Dialect } from '../../store/dialect.ts'
import { compile, id, intLiteral, param, type Sql, type Statement, sql } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'

const RATES = id('takeback_rates')

/**
 * Token buckets that all instances share. Each is a row with the time at which the bucket is full again. The statements
 * return how many milliseconds that time lies ahead. A time further ahead than possible was written by a wrong clock:
 * then the bucket counts as full.
 */
export interface RatesPlan {
  /** Postpones that time by `$cost`, but to at most `$most` ahead. */
  readonly add: readonly Step[]
  /** The same, but refused if the time would be further ahead. */
  readonly take: readonly Step[]
  readonly find: Statement
  /** Deletes full buckets: no row means the same. */
  readonly clear: readonly Step[]
}

export function compileRates(dialect: Dialect): RatesPlan {
  const now = dialect.milliseconds(dialect.clock)
  const cost = param('$cost', 'integer')
  const most = sql`(${now} + ${param('$most', 'integer')})`
  const held = sql`${RATES}."full_at"`
  const next = sql`(CASE WHEN ${held} > ${now} AND ${held} <= ${most} + ${intLiteral(SKEW_MS)} THEN ${held} ELSE ${now} END + ${cost})`
  const atMost = (time: Sql) => sql`CASE WHEN ${time} > ${most} THEN ${most} ELSE ${time} END`
  const put = (where: Sql) =>
    sql`INSERT INTO ${RATES} ("key", "full_at") VALUES (${param('$key')}, ${atMost(sql`(${now} + ${cost})`)})
      ON CONFLICT ("key") DO UPDATE SET "full_at" = ${atMost(next)}${where} RETURNING "full_at" - ${now}`
  return {
    add: [step(dialect, 'rate', 'some', put(sql``))],
    take: [step(dialect, 'rate', 'some', put(sql` WHERE ${next} <= ${most}`))],
    find: compile(
      sql`SELECT "full_at" - ${now} FROM ${RATES} WHERE "key" = ${param('$key')}`,
      dialect.placeholder,
    ),
    clear: [step(dialect, 'rate', 'any', sql`DELETE FROM ${RATES} WHERE "full_at" < ${now}`)],
  }
}
