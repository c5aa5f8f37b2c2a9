import { type Call, time } from './generator.ts'
import type { Options } from './options.ts'
import { type Server, startTakeback } from './processes.ts'
import { bookingOf } from './rates.ts'
import { logIn, makeDatabase } from './setup.ts'
import type { BenchStore } from './store.ts'
import { judge, type Line, median, milliseconds, whole } from './table.ts'

const SMALL = 10_000
const LARGE = 1_000_000
/** Requests per turn. Turns are short, so that other load on this machine affects both servers alike. */
const READS = 300
const WRITES = 75
const WARMING = 100
const TURNS = 2
const BAR = { most: 1.5 }

const kinds = ['read by id', 'create', 'delete', 'restore'] as const
type Kind = (typeof kinds)[number]

interface Subject {
  readonly rows: number
  readonly server: Server
  readonly token: string
  readonly latencies: Readonly<Record<Kind, number[]>>
}

/** Compares one client's latencies with few rows and with many: requests must not depend on the number of rows. */
export async function measureGrowth(
  store: BenchStore,
  { rounds }: Options,
  say: (what: string) => void,
): Promise<Line[]> {
  const subjects: Subject[] = []
  for (const rows of [SMALL, LARGE]) {
    say(`growth: filling ${whole(rows)} rows`)
    const server = await startTakeback(await makeDatabase(store, `growth-${rows}`, { bookings: rows }))
    const latencies = { 'read by id': [], create: [], delete: [], restore: [] }
    subjects.push({ rows, server, token: await logIn(server), latencies })
  }
  say('growth: requests')
  for (let round = 0; round <= rounds * TURNS; round++)
    for (const subject of subjects) await measureRound(subject, round > 0)
  await Promise.all(subjects.map(({ server }) => server.stop()))
  const [small, large] = subjects
  if (small === undefined || large === undefined) return []
  return kinds.map((kind) => compare(kind, small, large))
}

/** Measures all kinds in one run, reads first, so that the client is warm when it writes. */
async function measureRound({ rows, server, token, latencies }: Subject, keep: boolean): Promise<void> {
  const anyId = () => 1 + Math.floor(Math.random() * rows)
  const ids = [...new Set(Array.from({ length: WRITES }, anyId))]
  const readCall = (): Call => ({ method: 'GET', path: `/api/bookings/${anyId()}/` })
  const calls: Readonly<Record<Kind, readonly Call[]>> = {
    'read by id': Array.from({ length: READS }, readCall),
    create: ids.map((id) => ({ method: 'POST', path: '/api/bookings/', body: bookingOf(id) })),
    delete: ids.map((id) => ({ method: 'DELETE', path: `/api/bookings/${id}/` })),
    restore: ids.map((id) => ({ method: 'DELETE', path: `/api/bookings/${id}/?restore=1` })),
  }
  const warming = Array.from({ length: WARMING }, readCall)
  const took = await time(server, token, [...warming, ...kinds.flatMap((kind) => calls[kind])])
  if (!keep) return
  let at = WARMING
  for (const kind of kinds) {
    latencies[kind].push(...took.slice(at, at + calls[kind].length))
    at += calls[kind].length
  }
}

function compare(kind: Kind, small: Subject, large: Subject): Line {
  const [few, many] = [median(small.latencies[kind]), median(large.latencies[kind])]
  return {
    what: `${kind}, ${whole(LARGE)} rows`,
    takeback: milliseconds(many),
    against: `${milliseconds(few)}, ${whole(SMALL)} rows`,
    ratio: (many / few).toFixed(2),
    ...judge(many / few, BAR),
  }
}
