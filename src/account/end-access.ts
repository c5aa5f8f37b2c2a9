import { randomInt } from 'node:crypto'
import { EMAIL_KEY, TOKEN_EPOCH } from '../plan/tables/schema.ts'
import type { Metadata } from '../store/migration/metadata.ts'
import type { StructureSession } from '../store/migration/structure.ts'
import { id, intLiteral, quoted, type Sql, sql } from '../store/sql.ts'
import { INVITE, TAKEN_BACK } from './links.ts'

/** How many sessions and mailed links were open before all of them were ended. */
export interface EndedSessions {
  readonly sessions: number
  readonly links: number
}

/**
 * Ends all sessions of all users with their tokens, all mailed links, and pending logins through providers. For a
 * database that has gone back in time: it does not know what has ended since. Its tables may have an older format.
 */
export async function endAllSessions(
  database: StructureSession,
  { tables }: Pick<Metadata, 'tables'>,
): Promise<EndedSessions> {
  const held = await heldTables(database)
  const logins = tables.filter(({ columns }) =>
    [EMAIL_KEY, TOKEN_EPOCH].every((one) => columns.some(({ name }) => name === one)),
  )
  let sessions = 0
  if (held.has(SESSIONS)) {
    for (const { name } of logins) sessions += await countIn(database, openSessions(name))
    await database.session.run(sql`DELETE FROM ${id(SESSIONS)}`)
  }
  for (const { name } of logins) await raiseEpochs(database, name)
  if (held.has(HANDOFFS)) await database.session.run(sql`DELETE FROM ${id(HANDOFFS)}`)
  return { sessions, links: held.has(LINKS) ? await endLinks(database) : 0 }
}

/** Ends all keys, and returns how many there were. */
export async function endAllKeys(database: StructureSession): Promise<number> {
  if (!(await heldTables(database)).has(KEYS)) return 0
  const isOpen = sql`"ended_at" IS NULL`
  const keys = await countIn(database, sql`${id(KEYS)} WHERE ${isOpen}`)
  const { clock } = database.structure.dialect
  await database.session.run(
    sql`UPDATE ${id(KEYS)} SET "ended_at" = ${clock}, "digest" = NULL WHERE ${isOpen}`,
  )
  return keys
}

const [SESSIONS, HANDOFFS, LINKS, KEYS] = [
  'takeback_sessions',
  'takeback_handoffs',
  'takeback_links',
  'takeback_keys',
] as const

/** Ignores when tokens expire: the sessions may have got later ones since. */
function openSessions(login: string): Sql {
  return sql`${id(SESSIONS)} s WHERE s."entity" = ${quoted(login)}
    AND EXISTS (SELECT 1 FROM ${id(login)} u WHERE u."id" = s."entity_id" AND u.${id(TOKEN_EPOCH)} = s."epoch")
    AND NOT EXISTS (SELECT 1 FROM "takeback_ended_sessions" e WHERE e."session" = s."session")`
}

/**
 * Raises epochs to values that no token has. Tokens of the lost time may have later epochs than the database knows, and
 * the same backup may be restored twice, so the step is random.
 */
async function raiseEpochs({ session }: StructureSession, login: string): Promise<void> {
  const by = intLiteral(randomInt(2 ** 32, 2 ** 40))
  await session.run(sql`UPDATE ${id(login)} SET ${id(TOKEN_EPOCH)} = ${id(TOKEN_EPOCH)} + ${by}`)
}

/** Ends all links. Invitations stay, but expire, so that they can be sent again. */
async function endLinks(database: StructureSession): Promise<number> {
  const { clock } = database.structure.dialect
  const isOpen = sql`"purpose" <> ${TAKEN_BACK} AND "until" > ${clock}`
  const links = await countIn(database, sql`${id(LINKS)} WHERE ${isOpen}`)
  await database.session.run(sql`DELETE FROM ${id(LINKS)} WHERE "purpose" NOT IN (${INVITE}, ${TAKEN_BACK})`)
  await database.session.run(
    sql`UPDATE ${id(LINKS)} SET "digest" = 'ended ' || "digest", "until" = ${clock} WHERE ${isOpen}`,
  )
  return links
}

async function heldTables({ structure, session }: StructureSession): Promise<ReadonlySet<string>> {
  return new Set((await session.all(structure.ddl.tables)).map(([name]) => String(name)))
}

async function countIn({ session }: StructureSession, rows: Sql): Promise<number> {
  const [row] = await session.all(sql`SELECT count(*) FROM ${rows}`)
  return Number(row?.[0])
}
