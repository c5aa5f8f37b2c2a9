import { budget } from '../budget.ts'
import type { Dialect } from '../store/dialect.ts'
import { namedColumns } from '../store/named-columns.ts'
import { compile, intLiteral, param, type Sql, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'

/** The statements of second factors. */
export interface FactorStatements {
  readonly find: Statement
  readonly begin: readonly Step[]
  readonly confirm: readonly Step[]
  readonly use: readonly Step[]
  readonly recover: readonly Step[]
  readonly renewCodes: readonly Step[]
  readonly remove: readonly Step[]
  /** The next sealed secrets after `$entity` and `$id`, as `sealedColumns`. */
  readonly after: Statement
  readonly reseal: readonly Step[]
}

/** A time step further ahead than this was used under a wrong clock: it must not lock anybody out. */
const STEPS_AHEAD = 10

const FACTORS = sql`"takeback_second_factors"`
const CODES = sql`"takeback_recovery_codes"`
const isOwned = sql`"entity" = ${param('$entity')} AND "entity_id" = ${param('$id')}`
const isSet = sql`"confirmed_at" IS NOT NULL`
/** The columns of `find`. */
export const factorColumns = namedColumns({
  secret: sql`f."secret"`,
  confirmed: sql`f."confirmed_at"`,
  codes: sql`(SELECT count(*) FROM ${CODES} WHERE ${isOwned})`,
})

/** The columns of `after`. */
export const sealedColumns = namedColumns({
  entity: sql`"entity"`,
  id: sql`"entity_id"`,
  secret: sql`"secret"`,
})

export function compileFactors(dialect: Dialect): FactorStatements {
  const { clock } = dialect
  const any = (source: Sql) => step(dialect, 'factor', 'any', source)
  const some = (source: Sql) => step(dialect, 'factor', 'some', source)
  const at = param('$step', 'integer')
  const removeCodes = any(sql`DELETE FROM ${CODES} WHERE ${isOwned}`)
  const newCodes = [
    removeCodes,
    any(sql`INSERT INTO ${CODES} ("entity", "entity_id", "digest") SELECT ${param('$entity')}, ${param('$id')}, r."digest"
      FROM ${dialect.rows('$digests', [{ name: 'digest', kind: 'text' }])} r`),
  ]
  return {
    find: compile(
      sql`SELECT ${factorColumns.sql} FROM ${FACTORS} f WHERE ${isOwned}`,
      dialect.placeholder,
      true,
    ),
    begin: [
      some(sql`INSERT INTO ${FACTORS} ("entity", "entity_id", "secret", "last_step") VALUES (${param('$entity')}, ${param('$id')}, ${param('$secret')}, 0)
        ON CONFLICT ("entity", "entity_id") DO UPDATE SET "secret" = excluded."secret" WHERE ${FACTORS}."confirmed_at" IS NULL`),
    ],
    confirm: [
      some(sql`UPDATE ${FACTORS} SET "confirmed_at" = ${clock}, "last_step" = ${at}
        WHERE ${isOwned} AND "confirmed_at" IS NULL AND "secret" = ${param('$secret')}`),
      ...newCodes,
    ],
    use: [
      some(sql`UPDATE ${FACTORS} SET "last_step" = ${at}
        WHERE ${isOwned} AND ${isSet} AND ("last_step" < ${at} OR "last_step" > ${at} + ${intLiteral(STEPS_AHEAD)})`),
    ],
    recover: [some(sql`DELETE FROM ${CODES} WHERE ${isOwned} AND "digest" = ${param('$digest')}`)],
    renewCodes: [
      some(sql`UPDATE ${FACTORS} SET "last_step" = "last_step" WHERE ${isOwned} AND ${isSet}`),
      ...newCodes,
    ],
    ...compileReseal(dialect),
    remove: [some(sql`DELETE FROM ${FACTORS} WHERE ${isOwned}`), removeCodes],
  }
}

/** The statements that seal all secrets again when the server has a new secret. */
function compileReseal(dialect: Dialect): Pick<FactorStatements, 'after' | 'reseal'> {
  const any = (source: Sql) => step(dialect, 'factor', 'any', source)
  return {
    after: compile(
      sql`SELECT ${sealedColumns.sql} FROM ${FACTORS} WHERE ("entity", "entity_id") > (${param('$entity')}, ${param('$id')})
        ORDER BY "entity", "entity_id" LIMIT ${intLiteral(budget.stepEntities)}`,
      dialect.placeholder,
      true,
    ),
    reseal: [
      any(
        sql`UPDATE ${FACTORS} SET "secret" = ${param('$sealed')} WHERE ${isOwned} AND "secret" = ${param('$secret')}`,
      ),
    ],
  }
}
