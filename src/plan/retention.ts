import type { EntityType, Model } from '../declare/model.ts'
import type { Dialect } from '../store/dialect.ts'
import { compile, count, join, param, type Statement, sql, word } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import { JOURNAL } from './journal.ts'

/** The statements by which the server clears out what is old. */
export interface RetentionPlan {
  /** Takes the turn until `$until`, if nobody else has it at `$now`. `$me` is who asks. */
  readonly takeTurn: readonly Step[]
  /** Gives it back. */
  readonly giveTurn: readonly Step[]
  /** Behind `$after`: the last of the next few places in the journal; none where that was all. */
  readonly next: Statement
  /** Between `$after` and `$upto`: what has been followed by something that is old itself. Its types' times are `$before …`. */
  readonly cut: readonly Step[]
  readonly types: readonly EntityType[]
}

/** How many places of the journal are looked at in one step: others must hardly notice. */
const STEP = 500

export const beforeOf = (type: string) => `$before ${type}`

export function compileRetention(model: Model, dialect: Dialect): RetentionPlan {
  const types = [...model.entities.values()].filter(({ retention }) => retention.journal !== undefined)
  const old = types.map(({ name }) => {
    const before = param(beforeOf(name), 'datetime')
    // What it was at the time that is still kept must be known, so what came next must be old as well.
    return sql`(j."entity" = ${word(name)} AND j."at" < ${before} AND EXISTS (SELECT 1 FROM ${JOURNAL} k
      WHERE k."entity" = j."entity" AND k."entity_id" = j."entity_id" AND k."version" = j."version" + 1 AND k."at" <= ${before}))`
  })
  const between = sql`j."seq" > ${param('$after', 'integer')} AND j."seq" <= ${param('$upto', 'integer')}`
  return {
    types,
    takeTurn: [
      step(
        dialect,
        'turn',
        'some',
        sql`INSERT INTO "takeback_meta" ("key", "value") VALUES ('keeper', ${param('$mine')})
          ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value"
          WHERE "takeback_meta"."value" < ${param('$now')} OR "takeback_meta"."value" LIKE ${param('$me')} RETURNING "value"`,
      ),
    ],
    giveTurn: [
      step(
        dialect,
        'turn',
        'any',
        sql`UPDATE "takeback_meta" SET "value" = '' WHERE "key" = 'keeper' AND "value" LIKE ${param('$me')}`,
      ),
    ],
    next: compile(
      sql`SELECT max(n."seq") FROM (SELECT j."seq" FROM ${JOURNAL} j WHERE j."seq" > ${param('$after', 'integer')} ORDER BY j."seq" LIMIT ${count(STEP)}) n`,
      dialect.placeholder,
    ),
    cut:
      old.length === 0
        ? []
        : [
            step(
              dialect,
              'cut',
              'any',
              sql`DELETE FROM ${JOURNAL} WHERE "seq" IN (SELECT j."seq" FROM ${JOURNAL} j WHERE ${between} AND (${join(old, sql` OR `)}))`,
            ),
          ],
  }
}
