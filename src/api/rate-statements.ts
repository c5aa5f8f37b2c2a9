import type { Dialect } from '../store/dialect.ts'
import { compile, id, param, type Sql, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'

const RATES = id('takeback_rates')

/** Token buckets that all instances share: a row each, with the time at which it is full again, in milliseconds. */
export interface RatesPlan {
  /** Puts that off by `$cost`, but no later than `$most`; gives it back. */
  readonly add: readonly Step[]
  /** The same, refused where it would be later than `$most`. */
  readonly take: readonly Step[]
  readonly find: Statement
  /** Those that are full again: no row says the same. */
  readonly clear: readonly Step[]
}

export function compileRates(dialect: Dialect): RatesPlan {
  const [now, cost, most] = [param('$now', 'integer'), param('$cost', 'integer'), param('$most', 'integer')]
  const held = sql`${RATES}."full_at"`
  const next = sql`(CASE WHEN ${held} > ${now} THEN ${held} ELSE ${now} END + ${cost})`
  const atMost = (time: Sql) => sql`CASE WHEN ${time} > ${most} THEN ${most} ELSE ${time} END`
  const put = (where: Sql) =>
    sql`INSERT INTO ${RATES} ("key", "full_at") VALUES (${param('$key')}, ${atMost(sql`(${now} + ${cost})`)})
      ON CONFLICT ("key") DO UPDATE SET "full_at" = ${atMost(next)}${where} RETURNING "full_at"`
  return {
    add: [step(dialect, 'rate', 'some', put(sql``))],
    take: [step(dialect, 'rate', 'some', put(sql` WHERE ${next} <= ${most}`))],
    find: compile(sql`SELECT "full_at" FROM ${RATES} WHERE "key" = ${param('$key')}`, dialect.placeholder),
    clear: [step(dialect, 'rate', 'any', sql`DELETE FROM ${RATES} WHERE "full_at" < ${now}`)],
  }
}
