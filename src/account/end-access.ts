import { randomInt } from 'node:crypto'
import { EMAIL_KEY, TOKEN_EPOCH } from '../plan/tables/schema.ts'
import type { Memory } from '../store/migration/memory.ts'
import type { Site } from '../store/migration/structure.ts'
import { count, id, type Sql, sql, word } from '../store/sql.ts'
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
export async function endAllSessions(site: Site, { tables }: Pick<Memory, 'tables'>): Promise<EndedSessions> {
  const held = await heldTables(site)
  const logins = tables.filter(({ columns }) =>
    [EMAIL_KEY, TOKEN_EPOCH].every((one) => columns.some(({ name }) => name === one)),
  )
  let sessions = 0
  if (held.has(SESSIONS)) {
    for (const { name } of logins) sessions += await countIn(site, openSessions(name))
    await site.session.run(sql`DELETE FROM ${id(SESSIONS)}`)
  }
  for (const { name } of logins) await raiseEpochs(site, name)
  if (held.has(HANDOFFS)) await site.session.run(sql`DELETE FROM ${id(HANDOFFS)}`)
  return { sessions, links: held.has(LINKS) ? await endLinks(site) : 0 }
}

/** Ends all keys, and returns how many there were. */
export async function endAllKeys(site: Site): Promise<number> {
  if (!(await heldTables(site)).has(KEYS)) return 0
  const isOpen = sql`"ended_at" IS NULL`
  const keys = await countIn(site, sql`${id(KEYS)} WHERE ${isOpen}`)
  const { clock } = site.structure.dialect
  await site.session.run(sql`UPDATE ${id(KEYS)} SET "ended_at" = ${clock}, "digest" = NULL WHERE ${isOpen}`)
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
  return sql`${id(SESSIONS)} s WHERE s."entity" = ${word(login)}
    AND EXISTS (SELECT 1 FROM ${id(login)} u WHERE u."id" = s."entity_id" AND u.${id(TOKEN_EPOCH)} = s."epoch")
    AND NOT EXISTS (SELECT 1 FROM "takeback_ended_sessions" e WHERE e."session" = s."session")`
}

/**
 * Raises epochs to values that no token has. Tokens of the lost time may have later epochs than the database knows, and
 * the same backup may be restored twice, so the step is random.
 */
async function raiseEpochs({ session }: Site, login: string): Promise<void> {
  const by = count(randomInt(2 ** 32, 2 ** 40))
  await session.run(sql`UPDATE ${id(login)} SET ${id(TOKEN_EPOCH)} = ${id(TOKEN_EPOCH)} + ${by}`)
}

/** Ends all links. Invitations stay, but expire, so that they can be sent again. */
async function endLinks(site: Site): Promise<number> {
  const { clock } = site.structure.dialect
  const isOpen = sql`"purpose" <> ${TAKEN_BACK} AND "until" > ${clock}`
  const links = await countIn(site, sql`${id(LINKS)} WHERE ${isOpen}`)
  await site.session.run(sql`DELETE FROM ${id(LINKS)} WHERE "purpose" NOT IN (${INVITE}, ${TAKEN_BACK})`)
  await site.session.run(
    sql`UPDATE ${id(LINKS)} SET "digest" = 'ended ' || "digest", "until" = ${clock} WHERE ${isOpen}`,
  )
  return links
}

async function heldTables({ structure, session }: Site): Promise<ReadonlySet<string>> {
  return new Set((await session.all(structure.ddl.tables)).map(([name]) => String(name)))
}

async function countIn({ session }: Site, rows: Sql): Promise<number> {
  const [row] = await session.all(sql`SELECT count(*) FROM ${rows}`)
  return Number(row?.[0])
}
