// bun bench/batches.ts: how many batches per second one server does on PostgreSQL, with concurrent clients. --setting
// commit_delay=20000 --setting commit_siblings=0 makes every commit take as long as on a slow disk.
import { parseArgs } from 'node:util'
import { SQL } from 'bun'
import { startCluster } from '../test/cluster.ts'
import { example, LOGIN, login, run, serve } from '../test/process/process.ts'

const { values: options } = parseArgs({
  options: {
    clients: { type: 'string', default: '12' },
    seconds: { type: 'string', default: '5' },
    setting: { type: 'string', multiple: true, default: [] },
  },
})
const CLIENTS = Number(options.clients)
const SECONDS = Number(options.seconds)

interface Part {
  readonly method: string
  readonly path: string
  readonly body?: object
}

/** The Entities of one client, and a number that is unique each time. */
interface Own {
  readonly rooms: readonly number[]
  readonly country: number
  next(): string
}

const rename = ({ rooms, next }: Own): Part[] =>
  rooms.map((id) => ({ method: 'PATCH', path: `/api/rooms/${id}/`, body: { title: next() } }))
const create = ({ next }: Own): Part[] =>
  [1, 2, 3].map((beds) => ({ method: 'POST', path: '/api/rooms/', body: { title: next(), beds } }))

/** The kinds of batches. Each client sends its batches one after the other. */
const kinds: Record<string, (own: Own, round: number) => Part[]> = {
  'three updates of its own Entities': rename,
  'three creates with a unique value': create,
  'updates, and a delete that clears in one of ten': (own, round) =>
    round % 10 === 9
      ? [
          ...rename(own).slice(1),
          { method: 'DELETE', path: `/api/countries/${own.country}/` },
          { method: 'DELETE', path: `/api/countries/${own.country}/?restore=1` },
        ]
      : rename(own),
}

const cluster = await startCluster('TAKEBACK_BENCH_POSTGRES', options.setting)
const name = `takeback_batches_${process.pid}`
const sql = new SQL(cluster.url, { max: 1 })
await sql.unsafe(`CREATE DATABASE ${name}`)
const address = new URL(cluster.url)
address.pathname = `/${name}`
const args = ['--config', example, '--database', address.href]
await run(['user', 'add', 'admins', LOGIN.email, '--password', LOGIN.password, ...args])
const server = await serve([...args, '--rate-limit', 'writes=off,reads=off', '--log', 'json'], {
  direct: true,
})
const headers = await login(server.url)

/** The answer to a create, of one Entity or of a list. */
interface CreatedEntity {
  readonly id: number
  readonly data: readonly { readonly id: number }[]
}

async function send(method: string, path: string, body: unknown): Promise<CreatedEntity> {
  const response = await fetch(server.url + path, { method, headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as CreatedEntity
}

let [serial, countries] = [0, 0]
async function own(): Promise<Own> {
  const next = () => `n${++serial}`
  const made = await send(
    'POST',
    '/api/rooms/',
    [1, 2, 3].map((beds) => ({ title: next(), beds })),
  )
  const { id: country } = await send('POST', '/api/countries/', {
    code: (++countries).toString(36).padStart(2, '0'),
  })
  return { country, rooms: made.data.map(({ id }) => id), next }
}

for (const [what, batchOf] of Object.entries(kinds)) {
  const end = performance.now() + SECONDS * 1000
  const times: number[] = []
  const clients = await Promise.all(Array.from({ length: CLIENTS }, own))
  await Promise.all(
    clients.map(async (mine) => {
      for (let round = 0; performance.now() < end; round++) {
        const began = performance.now()
        await send('POST', '/api/batch/', batchOf(mine, round))
        times.push(performance.now() - began)
      }
    }),
  )
  times.sort((a, b) => a - b)
  const at = (share: number) => (times[Math.floor(times.length * share)] ?? 0).toFixed(0)
  console.log(
    `${what}: ${Math.round(times.length / SECONDS)} batches/s with ${CLIENTS} clients, ${at(0.5)} ms in the middle, ${at(0.99)} ms for the slowest of a hundred`,
  )
}

await server.end()
await sql.unsafe(`DROP DATABASE ${name} WITH (FORCE)`)
await sql.close()
await cluster.stop()
