// The limit: how fast this machine is with the same SQL and the same fsync, and nothing else. No validation, no
// login, no rules, no log. Started by run.ts: bun bench/limit.ts <address of a database>
import { SignJWT } from 'jose'
import { readConfig } from '../src/config.ts'
import { answerLikeTakeback } from './like-takeback.ts'
import type { Booking, Found } from './limit-types.ts'
import { openPostgresLimit } from './postgres/limit.ts'
import { openSqliteLimit } from './sqlite/limit.ts'
import { BLIND, LIKE_TAKEBACK } from './store.ts'

const database = process.argv[2] ?? ''
if (database === '') throw new Error('Say which database: bun bench/limit.ts sqlite:<path> or postgres://….')
const location = readConfig({ database }, process.env).database
const limit = location.kind === 'sqlite' ? openSqliteLimit(location.path) : openPostgresLimit(location)
const key = crypto.getRandomValues(new Uint8Array(32))
const DAY = 24 * 60 * 60

const headers = { 'Content-Type': 'application/json' }
const inits = new Map([200, 201].map((status) => [status, { status, headers }]))

function respond(body: string | undefined, status: number): Response {
  return body === undefined ? new Response(null, { status: 404 }) : new Response(body, inits.get(status))
}

function answer(found: Found<string>, status = 200): Response | Promise<Response> {
  return found instanceof Promise ? found.then((body) => respond(body, status)) : respond(found, status)
}

async function login({ email, password }: { email: string; password: string }): Promise<Response> {
  const member = await limit.memberOf(email)
  if (member === undefined || !(await Bun.password.verify(password, member.hash)))
    return new Response(null, { status: 401 })
  const now = Math.floor(Date.now() / 1000)
  const token = await new SignJWT({ use: 'access', ses: 'bench', epo: 0 })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setSubject(`admins/${member.id}`)
    .setIssuedAt(now)
    .setExpirationTime(now + DAY)
    .sign(key)
  const expires = new Date((now + DAY) * 1000).toISOString()
  return respond(`{"token":"${token}","user":${member.json},"expires_at":"${expires}"}`, 200)
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  development: false,
  routes: {
    '/api/bookings/': {
      GET: () => answer(limit.list()),
      POST: async (request) => answer(limit.create((await request.json()) as Booking), 201),
    },
    [BLIND]: {
      POST: async (request) => answer(limit.createBlind?.((await request.json()) as Booking), 201),
    },
    [`${LIKE_TAKEBACK}/api/bookings/`]: {
      GET: (request) => answerLikeTakeback(request, 'list', () => limit.list()),
      POST: (request) =>
        answerLikeTakeback(request, 'new', async () => limit.create((await request.json()) as Booking)),
    },
    [`${LIKE_TAKEBACK}/api/bookings/:id/`]: {
      GET: (request) => answerLikeTakeback(request, 'one', () => limit.read(Number(request.params.id))),
    },
    '/api/bookings/:id/': {
      GET: (request) => answer(limit.read(Number(request.params.id))),
      DELETE: (request) => {
        const change = request.url.endsWith('?restore=1') ? limit.restore : limit.remove
        return answer(change(Number(request.params.id)))
      },
    },
    '/api/customers/:id/': {
      DELETE: (request) => {
        const change = request.url.endsWith('?restore=1') ? limit.restoreCustomer : limit.removeCustomer
        return answer(change(Number(request.params.id)))
      },
    },
    '/api/auth/login': {
      POST: async (request) => login((await request.json()) as { email: string; password: string }),
    },
  },
})

process.on('SIGTERM', async () => {
  await limit.close()
  process.exit(0)
})
console.log(`The limit is ready at http://127.0.0.1:${server.port}`)
