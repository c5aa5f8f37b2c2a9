// The yardstick: what this machine can do with the same SQL and the same fsync, and nothing else. No validation, no
// login, no rules, no log. Started by run.ts: bun bench/limit.ts <database>
import { SignJWT } from 'jose'
import { checkpointWhenLarge } from '../src/store/sqlite/open.ts'
import { type Booking, openLimit } from './limit-sql.ts'

const database = process.argv[2] ?? ''
if (database === '') throw new Error('Say which database: bun bench/limit.ts <database>.')
const limit = openLimit(database)
const key = crypto.getRandomValues(new Uint8Array(32))
const DAY = 24 * 60 * 60

type Write = (operation: string, at: string) => string | undefined

interface Waiting {
  readonly run: Write
  answer(body: string | undefined): void
}

let queue: Waiting[] = []
let commits = 0

/** Writes of one turn of the event loop share one commit, and so one fsync. */
function write(run: Write, status: number): Promise<Response> {
  return new Promise((resolve) => {
    const answer = (body: string | undefined) => resolve(respond(body, status))
    if (queue.push({ run, answer }) === 1) setImmediate(commit)
  })
}

function commit(): void {
  const group = queue
  queue = []
  const at = new Date().toISOString()
  limit.database.run('BEGIN IMMEDIATE')
  const bodies = group.map(({ run }) => run(Bun.randomUUIDv7(), at))
  limit.database.run('COMMIT')
  if (++commits % 64 === 0) checkpointWhenLarge(limit.database, database)
  for (const [index, { answer }] of group.entries()) answer(bodies[index])
}

const headers = { 'Content-Type': 'application/json' }
const inits = new Map([200, 201].map((status) => [status, { status, headers }]))

function respond(body: string | undefined, status = 200): Response {
  return body === undefined ? new Response(null, { status: 404 }) : new Response(body, inits.get(status))
}

async function login({ email, password }: { email: string; password: string }): Promise<Response> {
  const member = limit.memberOf(email)
  if (member === null || !(await Bun.password.verify(password, member.hash)))
    return new Response(null, { status: 401 })
  const now = Math.floor(Date.now() / 1000)
  const token = await new SignJWT({ use: 'access', ses: 'bench', epo: 0 })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setSubject(`admins/${member.id}`)
    .setIssuedAt(now)
    .setExpirationTime(now + DAY)
    .sign(key)
  const expires = new Date((now + DAY) * 1000).toISOString()
  return respond(`{"token":"${token}","user":${member.json},"expires_at":"${expires}"}`)
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  development: false,
  routes: {
    '/api/bookings/': {
      GET: () => respond(limit.list()),
      POST: async (request) => {
        const body = (await request.json()) as Booking
        return write((operation, at) => limit.create(body, operation, at), 201)
      },
    },
    '/api/bookings/:id/': {
      GET: (request) => respond(limit.read(Number(request.params.id))),
      DELETE: (request) => {
        const change = request.url.endsWith('?restore=1') ? limit.restore : limit.remove
        return write((operation, at) => change(Number(request.params.id), operation, at), 200)
      },
    },
    '/api/customers/:id/': {
      DELETE: (request) => {
        const change = request.url.endsWith('?restore=1') ? limit.restoreCustomer : limit.removeCustomer
        return write((operation, at) => change(Number(request.params.id), operation, at), 200)
      },
    },
    '/api/auth/login': {
      POST: async (request) => login((await request.json()) as { email: string; password: string }),
    },
  },
})

process.on('SIGTERM', () => {
  limit.database.close()
  process.exit(0)
})
console.log(`The limit is ready at http://127.0.0.1:${server.port}`)
