import type { Actor } from '../src/plan/viewer/actor.ts'
import { ROOMS } from './fill.ts'
import { type Call, drive, type Load } from './generator.ts'
import type { Options, Part } from './options.ts'
import { lookUp, refuseScans } from './plans.ts'
import { CONFIG, memoryOf, processorTimeOf, type Server, startLimit, startTakeback } from './processes.ts'
import { compareAnswers, logIn, makeDatabase, member } from './setup.ts'
import { type BenchStore, BLIND, type Counts, type Database, LIKE_TAKEBACK } from './store.ts'
import { judge, type Line, median, whole } from './table.ts'

const BOOKINGS = 100_000
const CONNECTIONS = 64
/** Takeback runs at most five logins of an account at once. With more, the time in the queue would be measured. */
const LOGINS = 4
const RATIO = { least: 0.5 }
const admin: Actor = { kind: 'user', entity: 'admins', id: 1, admin: true }
const MEMORY = { most: 150, unit: ' MB' }

type Rate = Extract<Part, 'creates' | 'reads' | 'lists' | 'pairs' | 'logins'>

interface Row {
  readonly name: Rate
  readonly what: string
  /** Returns the load of a round. Rounds may need different Entities. */
  load(round: number): Load
  /** How many requests count as one. */
  readonly requests: number
  /** The path at the limit server, if it is another one. */
  readonly limitPath?: (path: string) => string
  /** The database on which the limit server cannot do this. */
  readonly not?: string
  /** The table in which each request must leave a row. */
  readonly leaves?: keyof Counts
  readonly bar?: typeof RATIO
}

export function bookingOf(index: number): object {
  return {
    room: { id: 1 + (index % ROOMS) },
    starts_at: '2027-02-03T15:00:00.000Z',
    guests: 1 + (index % 20),
    status: 'held',
    address: { city: 'Hamburg', zip: String(20_000 + (index % 1000)) },
  }
}

const many = (length: number, call: (index: number) => Call) => Array.from({ length }, (_, at) => call(at))
const shared = (calls: readonly Call[]) => () => ({ calls, connections: CONNECTIONS })

/** Much larger than the number of connections, so that each delete is answered before its restore is sent. */
const BLOCK = 500
const BLOCKS = 8

/** Each round has its own Entities, because the round before may have left some of its Entities deleted. */
function pairs(round: number): Load {
  const first = 1 + ((round * BLOCKS * BLOCK) % (BOOKINGS - BLOCKS * BLOCK))
  const starts = Array.from({ length: BLOCKS }, (_, at) => first + at * BLOCK)
  const calls = starts.flatMap((start) =>
    ['', '?restore=1'].flatMap((query) =>
      many(BLOCK, (at) => ({ method: 'DELETE', path: `/api/bookings/${start + at}/${query}` })),
    ),
  )
  return { calls, connections: CONNECTIONS }
}

const rates: readonly Row[] = [
  {
    name: 'creates',
    what: 'durable creates',
    load: shared(many(200, (at) => ({ method: 'POST', path: '/api/bookings/', body: bookingOf(at) }))),
    requests: 1,
    leaves: 'bookings',
    bar: RATIO,
  },
  {
    name: 'creates',
    what: 'durable creates, nothing read back',
    load: shared(many(200, (at) => ({ method: 'POST', path: '/api/bookings/', body: bookingOf(at) }))),
    limitPath: () => BLIND,
    not: 'postgres',
    requests: 1,
    leaves: 'bookings',
  },
  {
    name: 'reads',
    what: 'reads by id',
    // 7919 shares no factor with the number of rows, so that reads spread over the whole table.
    load: shared(
      many(2000, (at) => ({ method: 'GET', path: `/api/bookings/${1 + ((at * 7919) % BOOKINGS)}/` })),
    ),
    requests: 1,
    bar: RATIO,
  },
  {
    name: 'lists',
    what: 'lists of 20',
    load: shared([{ method: 'GET', path: '/api/bookings/' }]),
    requests: 1,
    bar: RATIO,
  },
  { name: 'pairs', what: 'delete + restore pairs', load: pairs, requests: 2, leaves: 'journal' },
  {
    name: 'logins',
    what: 'logins',
    load: () => ({ calls: [{ method: 'POST', path: '/api/auth/login', body: member }], connections: LOGINS }),
    requests: 1,
  },
]

/** Compares with a bare server that has Takeback's headers and a log. */
function likeTakeback({ bar: _, ...row }: Row): Row {
  return { ...row, what: `${row.what}, same headers and log`, limitPath: (path) => LIKE_TAKEBACK + path }
}

const rows = rates.flatMap((row) =>
  row.bar === undefined || row.limitPath !== undefined ? [row] : [row, likeTakeback(row)],
)

/** A rate per second, and the processor time of each in milliseconds. */
interface Measured {
  readonly rate: number
  readonly time: number
}

/** A server under load, and the database in which its writes must be found. */
interface Subject {
  readonly server: Server
  readonly database: Database
  readonly token: string
}

/** Compares requests per second of Takeback and of the limit server, in turns, and measures Takeback's memory. */
export async function measureRates(
  store: BenchStore,
  options: Options,
  say: (what: string) => void,
): Promise<Line[]> {
  const chosen = rows.filter(
    ({ name, not, limitPath }) =>
      options.parts.has(name) &&
      not !== options.store &&
      (options.against === undefined || limitPath === undefined),
  )
  if (chosen.length === 0) return []
  const database = await makeDatabase(store, 'rates', { bookings: BOOKINGS })
  const requests = [
    { actor: admin, entity: 'bookings' } as const,
    { actor: admin, entity: 'bookings', id: 7 } as const,
  ]
  await refuseScans(database, await lookUp(database, CONFIG, requests), ['bookings'])
  const copy = options.against === undefined ? await database.copy('limit') : undefined
  const server = await startTakeback(database)
  await Bun.sleep(1000)
  const idle = memoryOf(server.pid).now
  const takeback: Subject = { server, database, token: await logIn(server) }
  const limit = await startOther(store, options.against, copy, takeback.token)
  await compareAnswers(takeback, limit, bookingOf(0))
  const lines: Line[] = []
  const peaks = new Map([takeback, limit].map((one) => [one, 0]))
  for (const row of chosen) {
    say(row.what)
    lines.push(...(await measureRow(row, options, takeback, limit)))
    // The bar for memory does not include the hashing of passwords.
    if (row.bar !== undefined) for (const one of peaks.keys()) peaks.set(one, memoryOf(one.server.pid).peak)
  }
  await Promise.all([takeback.server.stop(), limit.server.stop()])
  if (!options.parts.has('memory')) return lines
  const [peak = 0, other] = peaks.values()
  const loaded = memoryLine('memory, creates + reads + lists', peak)
  const beside = options.against !== undefined && { against: `${whole(other ?? 0)} MB other` }
  return [...lines, memoryLine('memory, idle', idle), { ...loaded, ...beside }]
}

function memoryLine(what: string, size: number): Line {
  return { what, takeback: `${whole(size)} MB`, ...judge(size, MEMORY) }
}

/** Starts the bare server on a copy of the rows, or another Takeback on a database that it has made. */
async function startOther(
  store: BenchStore,
  against: string | undefined,
  copy: Database | undefined,
  token: string,
): Promise<Subject> {
  if (copy !== undefined) return { server: await startLimit(copy), database: copy, token }
  const database = await makeDatabase(store, 'other', { bookings: BOOKINGS }, { from: against })
  const server = await startTakeback(database, false, CONFIG, against)
  return { server, database, token: await logIn(server) }
}

async function measureRow(
  row: Row,
  { rounds, seconds, against }: Options,
  takeback: Subject,
  limit: Subject,
): Promise<Line[]> {
  const measured = new Map<Subject, Measured[]>([
    [takeback, []],
    [limit, []],
  ])
  for (let round = 0; round <= rounds; round++)
    for (const [subject, found] of measured) {
      const asked = subject === limit ? atLimit(row) : row
      const one = await measureRound(asked, round, seconds, subject)
      // The first round only warms up.
      if (round > 0) found.push(one)
    }
  const of = (key: keyof Measured) => [...measured.values()].map((all) => median(all.map((one) => one[key])))
  const [ours = 0, theirs = 0] = of('rate')
  const ratio = ours / theirs
  const line = {
    what: row.what,
    takeback: `${whole(ours)} /s`,
    against: `${whole(theirs)} /s ${against === undefined ? 'limit' : 'other'}`,
    ratio: ratio.toFixed(2),
    ...(row.bar !== undefined && judge(ratio, row.bar)),
  }
  return [line, compareTimes(row.what, of('time'), against === undefined ? 'limit' : 'other')]
}

/** Compares processor time, which hardly depends on other load on the machine. */
function compareTimes(what: string, [ours = 0, theirs = 0]: readonly number[], other: string): Line {
  const micros = (ms: number) => `${(ms * 1000).toFixed(1)} µs`
  return {
    what: `${what}, processor time`,
    takeback: micros(ours),
    against: `${micros(theirs)} ${other}`,
    ratio: (theirs / ours).toFixed(2),
  }
}

/** Moves the load to the path of the limit server. */
function atLimit(row: Row): Row {
  const { limitPath, load } = row
  if (limitPath === undefined) return row
  const moved = (round: number) => {
    const { calls, ...rest } = load(round)
    return { ...rest, calls: calls.map((call) => ({ ...call, path: limitPath(call.path) })) }
  }
  return { ...row, load: moved }
}

async function measureRound(
  { load, requests, leaves, what }: Row,
  round: number,
  seconds: number,
  { server, database, token }: Subject,
): Promise<Measured> {
  const before = leaves === undefined ? 0 : (await database.count())[leaves]
  const began = processorTimeOf(server.pid)
  const done = await drive(server, token, load(round), round === 0 ? 1 : seconds)
  const took = processorTimeOf(server.pid) - began
  server.cutLog()
  if (leaves !== undefined) {
    const left = (await database.count())[leaves] - before
    if (left < done.requests)
      throw new Error(`${done.requests} ${what} were acknowledged, and ${left} are in the database.`)
  }
  return { rate: done.requests / done.seconds / requests, time: (took / done.requests) * requests }
}
