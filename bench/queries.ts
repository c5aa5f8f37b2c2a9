import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Actor } from '../src/plan/viewer/actor.ts'
import { valuesOf } from '../test/plans.ts'
import { type Call, drive } from './generator.ts'
import type { Options } from './options.ts'
import type { Page } from './page.ts'
import { type FoundPlan, lookUp, type PlannedRequest, refuseScans } from './plans.ts'
import { folder, run, type Server, startPage, startTakeback, storeFlags } from './processes.ts'
import { ask, logIn, makeDatabase, member } from './setup.ts'
import type { BenchStore, Database } from './store.ts'
import { judge, type Line, median, whole } from './table.ts'

const CONFIG = 'bench/queries.config.ts'
const VISITS = 1_000_000
const CONNECTIONS = 64
const LIMIT = 20
const BAR = { least: 0.4 }
/** More filters than the server caches. */
const LITERALS = 2000
const GUEST = 'guest@example.com'
const guest: Actor = { kind: 'user', entity: 'members', id: 1, admin: false }

/** A filter, a sort and an expansion, besides the rule. Each number makes another filter, and another page. */
function queryOf(at: number): string {
  const filter = `status == "open" && guests >= 3 && price < ${4000 + 3 * at}`
  return `filter=${encodeURIComponent(filter)}&sort=-price&expand=room`
}

/** Compares lists, of the rows that one user may see of a million, with exactly the same SQL alone. */
export async function measureQueries(
  store: BenchStore,
  options: Options,
  say: (what: string) => void,
): Promise<Line[]> {
  say(`queries: filling ${whole(VISITS)} rows`)
  const database = await makeDatabase(store, 'queries', { visits: VISITS }, { config: CONFIG })
  await addGuest(database)
  const pages = await lookUp(database, CONFIG, pageRequests())
  const others = await lookUp(database, CONFIG, otherRequests())
  await refuseScans(database, [...pages.slice(0, 1), ...others], ['visits'])
  const [takeback, limit] = [
    await startTakeback(database, false, CONFIG),
    await startPage(database, writePage(pages)),
  ]
  const token = await logIn(takeback, GUEST)
  for (const at of [0, 1, LITERALS - 1]) await compare(takeback, limit, token, at)
  const lines: Line[] = []
  for (const [what, length] of [
    ['queries of 20', 1],
    ['queries of 20, all different', LITERALS],
  ] as const) {
    say(what)
    lines.push(await measure(what, length, options, takeback, limit, token))
  }
  await Promise.all([takeback.stop(), limit.stop()])
  return lines
}

/** Creates a user of one company who is no admin. */
async function addGuest(database: Database): Promise<void> {
  const add = ['user', 'add', 'members', GUEST, '--password', member.password, '--set', 'company.id=7']
  await run([process.execPath, 'src/cli/main.ts', ...add, ...storeFlags(database, CONFIG)], 60)
}

function pageRequests(): PlannedRequest[] {
  return Array.from({ length: LITERALS }, (_, at) => ({ actor: guest, entity: 'visits', query: queryOf(at) }))
}

/** Other requests, whose plans are checked but not measured. */
function otherRequests(): PlannedRequest[] {
  const visits = { actor: guest, entity: 'visits' }
  return [
    { ...visits, query: `${queryOf(0)}&count=1` },
    { ...visits, query: 'status=open&count=1' },
    { ...visits, query: 'sort=price&status=held' },
    { ...visits, query: `filter=${encodeURIComponent('room.title == "Room 7"')}` },
    { ...visits, id: 6 },
  ]
}

/** Writes the file that bench/page.ts serves. All pages must have the same SQL text. */
function writePage(found: readonly FoundPlan[]): string {
  const statements = found.flatMap((one) => one.statements)
  const texts = new Set(statements.map(({ statement }) => statement.text))
  const [text] = texts
  if (text === undefined || texts.size > 1)
    throw new Error(`${statements.length} queries of one shape are ${texts.size} texts of SQL.`)
  const { next } = JSON.parse(found[0]?.body ?? '{}') as { next?: string }
  const opened = Buffer.from(next ?? '', 'base64url').toString()
  const page: Page = {
    text,
    bound: statements.map((one) =>
      valuesOf(one).map((value) => (typeof value === 'bigint' ? Number(value) : value)),
    ),
    limit: LIMIT,
    signature: opened.slice(0, opened.indexOf('[')),
  }
  const file = join(folder, 'page.json')
  writeFileSync(file, JSON.stringify(page))
  return file
}

const takebackCall = (at: number): Call => ({ method: 'GET', path: `/api/visits/?${queryOf(at)}` })
const limitCall = (at: number): Call => ({ method: 'GET', path: `/${at}` })

async function compare(takeback: Server, limit: Server, token: string, at: number): Promise<void> {
  const ours = await ask(takeback, 'GET', takebackCall(at).path, token)
  const theirs = await ask(limit, 'GET', limitCall(at).path, token)
  const { data } = JSON.parse(ours) as { data: object[] }
  if (ours !== theirs || data.length !== LIMIT)
    throw new Error(`bench/page.ts does not answer query ${at} as Takeback does:\n${ours}\n${theirs}`)
}

/** Measures both servers in turns. The first round only warms them up. */
async function measure(
  what: string,
  length: number,
  { rounds, seconds }: Options,
  takeback: Server,
  limit: Server,
  token: string,
): Promise<Line> {
  const rates: [ours: number[], theirs: number[]] = [[], []]
  for (let round = 0; round <= rounds; round++)
    for (const [which, [server, call]] of [
      [takeback, takebackCall] as const,
      [limit, limitCall] as const,
    ].entries()) {
      const calls = Array.from({ length }, (_, at) => call(at))
      const done = await drive(server, token, { calls, connections: CONNECTIONS }, round === 0 ? 1 : seconds)
      server.cutLog()
      if (round > 0) rates[which]?.push(done.requests / done.seconds)
    }
  const [ours, theirs] = [median(rates[0]), median(rates[1])]
  return {
    what,
    takeback: `${whole(ours)} /s`,
    against: `${whole(theirs)} /s limit`,
    ratio: (ours / theirs).toFixed(2),
    ...judge(ours / theirs, BAR),
  }
}
