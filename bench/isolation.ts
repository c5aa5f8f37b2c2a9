import { type Call, drive, time } from './generator.ts'
import type { Options } from './options.ts'
import { type Server, startTakeback } from './processes.ts'
import { bookingOf } from './rates.ts'
import { ask, logIn, makeDatabase } from './setup.ts'
import type { BenchStore } from './store.ts'
import { judge, type Line, median, milliseconds, whole } from './table.ts'

const ROWS = 1_000_000
/** Requests per turn. */
const READS = 400
const WRITES = 200
const WARMING = 100
const SCANNERS = 4
const BAR = { most: 2 }

/** Finds nothing, and has to read every row for that. */
const SCAN: Call = { method: 'GET', path: `/api/bookings/?filter=${encodeURIComponent('guests > 100')}` }

const kinds = ['read by id', 'create', 'health'] as const
type Kind = (typeof kinds)[number]
type Latencies = Readonly<Record<Kind, number[]>>

/** Compares the latencies of one client while others scan all rows with those on an idle server. */
export async function measureIsolation(
  store: BenchStore,
  { rounds }: Options,
  say: (what: string) => void,
): Promise<Line[]> {
  say(`isolation: filling ${whole(ROWS)} rows`)
  // Not pinned to one core: scans run on other cores.
  const server = await startTakeback(await makeDatabase(store, 'isolation', { bookings: ROWS }), true)
  const token = await logIn(server)
  await ask(server, SCAN.method, SCAN.path, token)
  say('isolation: requests')
  const [quiet, loaded]: [Latencies, Latencies] = [nothing(), nothing()]
  for (let round = 0; round <= rounds; round++) {
    await measureTurn(server, token, round === 0 ? nothing() : quiet)
    await underScans(server, token, () => measureTurn(server, token, round === 0 ? nothing() : loaded))
  }
  const cores = await measureCores(server, token, rounds)
  await server.stop()
  return [...kinds.map((kind) => compare(kind, quiet[kind], loaded[kind])), cores]
}

const nothing = (): Latencies => ({ 'read by id': [], create: [], health: [] })

async function underScans(server: Server, token: string, work: () => Promise<void>): Promise<void> {
  let going = true
  const scan = async () => {
    while (going) await ask(server, SCAN.method, SCAN.path, token)
  }
  const scanners = Array.from({ length: SCANNERS }, scan)
  try {
    await work()
  } finally {
    going = false
    await Promise.all(scanners)
  }
}

async function measureTurn(server: Server, token: string, latencies: Latencies): Promise<void> {
  const readCall = (): Call => ({
    method: 'GET',
    path: `/api/bookings/${1 + Math.floor(Math.random() * ROWS)}/`,
  })
  const calls: Readonly<Record<Kind, readonly Call[]>> = {
    'read by id': Array.from({ length: READS }, readCall),
    create: Array.from({ length: WRITES }, (_, at) => ({
      method: 'POST',
      path: '/api/bookings/',
      body: bookingOf(at),
    })),
    health: Array.from({ length: WRITES }, () => ({ method: 'GET', path: '/api/health' })),
  }
  const warming = Array.from({ length: WARMING }, readCall)
  const took = await time(server, token, [...warming, ...kinds.flatMap((kind) => calls[kind])])
  let at = WARMING
  for (const kind of kinds) {
    latencies[kind].push(...took.slice(at, at + calls[kind].length))
    at += calls[kind].length
  }
}

/** Compares scans per second by one client and by several. */
async function measureCores(server: Server, token: string, rounds: number): Promise<Line> {
  const rates: [one: number[], several: number[]] = [[], []]
  for (let round = 0; round < rounds; round++)
    for (const [which, connections] of [1, SCANNERS].entries()) {
      const done = await drive(server, token, { calls: [SCAN], connections }, 2)
      rates[which]?.push(done.requests / done.seconds)
    }
  const [one, several] = [median(rates[0]), median(rates[1])]
  return {
    what: `scans by ${SCANNERS} clients`,
    takeback: `${several.toFixed(1)} /s`,
    against: `${one.toFixed(1)} /s by one`,
    ratio: (several / one).toFixed(2),
  }
}

function compare(kind: Kind, quiet: readonly number[], loaded: readonly number[]): Line {
  const [before, during] = [p99(quiet), p99(loaded)]
  return {
    what: `${kind} beside scans, p99`,
    takeback: milliseconds(during),
    against: `${milliseconds(before)} quiet`,
    ratio: (during / before).toFixed(2),
    ...judge(during / before, BAR),
  }
}

function p99(latencies: readonly number[]): number {
  const sorted = [...latencies].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN
}
