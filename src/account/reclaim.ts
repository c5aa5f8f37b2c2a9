import { budget } from '../budget.ts'
import type { Dialect } from '../store/dialect.ts'
import { param, type Sql, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'

/** How long after the change its mail may be made. Whatever was added between the two ends as well. */
const MARGIN_MS = 10 * 60_000
const LASTING_MS = budget.revertLinkDays * 24 * 60 * 60_000

/**
 * Steps that end all other ways into an account that were added since a change of the e-mail: whoever took over the
 * account must not keep one. They come before the step that uses up the link `$link`, which has the time.
 */
export function compileReclaim(dialect: Dialect): readonly Step[] {
  const isSince = (table: Sql, added: Sql) => sql`EXISTS (SELECT 1 FROM "takeback_links" m
    WHERE m."digest" = ${param('$link')} AND m."entity" = ${table}."entity" AND m."entity_id" = ${table}."entity_id"
      AND ${added} >= ${dialect.shift(sql`m."until"`, -LASTING_MS - MARGIN_MS)})`
  const [factors, codes, passkeys, keys, identities] = [
    sql`"takeback_second_factors"`,
    sql`"takeback_recovery_codes"`,
    sql`"takeback_passkeys"`,
    sql`"takeback_keys"`,
    sql`"takeback_identities"`,
  ]
  const any = (source: Sql) => step(dialect, 'reclaim', 'any', source)
  return [
    any(sql`DELETE FROM ${codes} WHERE EXISTS (SELECT 1 FROM ${factors} f WHERE f."entity" = ${codes}."entity"
      AND f."entity_id" = ${codes}."entity_id" AND ${isSince(sql`f`, sql`f."confirmed_at"`)})`),
    any(sql`DELETE FROM ${factors} WHERE ${isSince(factors, sql`${factors}."confirmed_at"`)}`),
    any(sql`DELETE FROM ${passkeys} WHERE ${isSince(passkeys, sql`${passkeys}."created_at"`)}`),
    any(sql`UPDATE ${keys} SET "ended_at" = ${dialect.clock}, "digest" = NULL
      WHERE "ended_at" IS NULL AND ${isSince(keys, sql`${keys}."created_at"`)}`),
    any(sql`DELETE FROM ${identities} WHERE ${isSince(identities, sql`${identities}."created_at"`)}`),
  ]
}
