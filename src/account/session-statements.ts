import { budget } from '../budget.ts'
import type { Dialect } from '../store/dialect.ts'
import { namedColumns } from '../store/named-columns.ts'
import { compile, intLiteral, param, type Sql, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'

/** The statements for listed and for ended sessions. */
export interface SessionStatements {
  readonly start: readonly Step[]
  readonly replace: readonly Step[]
  readonly renew: readonly Step[]
  readonly end: readonly Step[]
  readonly endListed: readonly Step[]
  readonly endOthers: readonly Step[]
  /** Ends all sessions of the caller but the calling one, for the transaction of something else. Needs `endedNow`. */
  readonly endBeside: readonly Step[]
  readonly list: Statement
  readonly recordUse: readonly Step[]
  readonly clear: readonly Step[]
}

const LISTED = sql`"takeback_sessions"`
const ENDED = sql`"takeback_ended_sessions"`
const session = param('$session')
const until = param('$until', 'datetime')
const now = param('$now', 'datetime')
const isOwned = sql`"entity" = ${param('$entity')} AND "entity_id" = ${param('$id')}`
/** The columns of `list`. */
export const sessionColumns = namedColumns({
  session: sql`s."session"`,
  how: sql`s."how"`,
  started: sql`s."started_at"`,
  seen: sql`s."seen_at"`,
  expires: sql`s."expires_at"`,
  address: sql`s."address"`,
  agent: sql`s."agent"`,
})

/** The use of a session is noted again after this time. */
export const SEEN_MS = budget.seenMinutes * 60_000

const isIt = sql`"session" = ${session}`
const isOther = sql`${isOwned} AND "session" <> ${session}`
/** With the parameters of `sessionLock`. */
const isBeside = sql`"entity" = ${param('$calling_entity')} AND "entity_id" = ${param('$calling_id', 'integer')} AND "session" <> ${param('$calling_session')}`
const isEpoch = sql`"epoch" = ${param('$epoch')}`

export function compileSessions(dialect: Dialect): SessionStatements {
  const { clock, shift } = dialect
  const any = (source: Sql) => step(dialect, 'session', 'any', source)
  const insert = insertRow(clock)
  const ends = compileEnds(dialect)
  return {
    ...ends,
    // Sessions of a former epoch have ended.
    start: [any(sql`DELETE FROM ${LISTED} WHERE ${isOwned} AND NOT (${isEpoch})`), any(insert)],
    renew: [
      ...ends.replace,
      any(sql`${insert} ON CONFLICT ("session") DO UPDATE SET "seen_at" = excluded."seen_at", "expires_at" = excluded."expires_at",
        "until" = excluded."until", "address" = excluded."address", "agent" = excluded."agent"`),
    ],
    list: compile(
      sql`SELECT ${sessionColumns.sql} FROM ${LISTED} s WHERE ${isOwned} AND ${isEpoch} AND s."expires_at" > ${clock}
        AND NOT EXISTS (SELECT 1 FROM ${ENDED} e WHERE e."session" = s."session")
        ORDER BY s."started_at" DESC, s."seen_at" DESC, s."session" LIMIT ${intLiteral(budget.pageEntities)}`,
      dialect.placeholder,
      true,
    ),
    recordUse: [
      any(
        sql`UPDATE ${LISTED} SET "seen_at" = ${clock} WHERE ${isIt} AND "seen_at" < ${shift(clock, -SEEN_MS)}`,
      ),
    ],
    clear: [any(sql`DELETE FROM ${LISTED} WHERE "until" < ${now}`)],
  }
}

function compileEnds(
  dialect: Dialect,
): Pick<SessionStatements, 'replace' | 'end' | 'endListed' | 'endOthers' | 'endBeside'> {
  const any = (source: Sql) => step(dialect, 'session', 'any', source)
  const some = (source: Sql) => step(dialect, 'session', 'some', source)
  // Ended sessions are forgotten once none of their tokens can be valid.
  const clearEnded = any(sql`DELETE FROM ${ENDED} WHERE "until" < ${now}`)
  const remove = (which: Sql) => any(sql`DELETE FROM ${LISTED} WHERE ${which}`)
  const endThose = (which: Sql) =>
    sql`INSERT INTO ${ENDED} ("session", "until") SELECT "session", ${until} FROM ${LISTED} WHERE ${which} ON CONFLICT ("session") DO NOTHING`
  const isOwnOne = sql`${isOwned} AND ${isIt}`
  return {
    replace: [
      clearEnded,
      some(sql`INSERT INTO ${ENDED} ("session", "until") SELECT ${param('$token')}, ${until}
        WHERE NOT EXISTS (SELECT 1 FROM ${ENDED} WHERE ${isIt}) ON CONFLICT ("session") DO NOTHING`),
    ],
    end: [
      clearEnded,
      any(
        sql`INSERT INTO ${ENDED} ("session", "until") VALUES (${session}, ${until}) ON CONFLICT ("session") DO NOTHING`,
      ),
      remove(isIt),
    ],
    endListed: [clearEnded, some(endThose(isOwnOne)), remove(isOwnOne)],
    endOthers: [clearEnded, any(endThose(isOther)), remove(isOther)],
    endBeside: [any(endThose(isBeside)), remove(isBeside)],
  }
}

function insertRow(clock: Sql): Sql {
  return sql`INSERT INTO ${LISTED} ("session", "entity", "entity_id", "epoch", "how", "started_at", "seen_at", "expires_at", "until", "address", "agent")
    VALUES (${session}, ${param('$entity')}, ${param('$id')}, ${param('$epoch')}, ${param('$how')}, ${param('$started', 'datetime')}, ${clock},
      ${param('$expires', 'datetime')}, ${param('$listed', 'datetime')}, ${param('$address')}, ${param('$agent')})`
}
