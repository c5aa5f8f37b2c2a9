import { afterAll } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { app, entity, everyone, text } from '../src/takeback.ts'
import { Authenticator } from './authenticator.ts'
import { ADMIN, eventually, operationOf, type TestServer } from './harness.ts'
import { mailsIn, tokenIn } from './mailbox.ts'
import { codesOf } from './totp-codes.ts'
import { Receiver, SECRET } from './webhook-receiver.ts'

const { password } = ADMIN
export const FRESH = 'a longer and better password'
const own = { create: everyone, read: 'id == me.id', update: 'id == me.id' } as const

/** A request that succeeds if it is sent once. */
export interface Request {
  readonly path: string
  readonly body?: object
  readonly token?: string | null
  /** Counts the effect that must happen once. */
  readonly effect?: () => Promise<number>
  /** The status of the second request, if it differs. */
  readonly again?: number
}

let people = 0
const anEmail = () => `p${++people}@example.com`

/** The effects of requests, besides rows. */
interface Counted {
  readonly outbox: string
  readonly erp: Receiver
  /** How often the job ran. */
  runs(): number
}

/** Makes the world of one test file, which ends with it: other files in the same process have their own. */
export function onceWorld() {
  const outbox = mkdtempSync(join(tmpdir(), 'takeback-outbox-'))
  const erp = new Receiver()
  let runs = 0
  const declaration = app({
    admins: 'admins',
    entities: {
      admins: entity({ login: { userType: 'admin' }, fields: {} }),
      users: entity({ login: { userType: 'user', second: 'optional' }, fields: {}, access: own }),
      proved: entity({ login: { userType: 'proved', verify: true }, fields: {}, access: own }),
      notes: entity({ fields: { title: text({ unique: true }) } }),
      orders: entity({ fields: { title: text() } }),
    },
    jobs: {
      count: {
        every: '0 0 1 1 *',
        async run() {
          runs++
        },
      },
    },
    webhooks: { erp: { to: erp.url, secret: SECRET, on: ['orders.*'], allow: [erp.host] } },
  })
  afterAll(async () => {
    rmSync(outbox, { recursive: true, force: true })
    await erp.stop()
  })
  const counted: Counted = { outbox, erp, runs: () => runs }
  return { declaration, outbox, erp, requestsOn: (server: TestServer) => requestsOn(server, counted) }
}

/** The requests of all writes, by their names in `endpoints.ts`. Those about provider links are below. */
function requestsOn(
  server: TestServer,
  { outbox, erp, runs }: Counted,
): Record<string, () => Promise<Request>> {
  const somebody = async (type = 'users') => {
    const email = anEmail()
    return { email, ...(await server.user(type, { email })) }
  }
  const mailsTo = (email: string, page = '') =>
    mailsIn(outbox).filter(
      (mail) => mail.includes(`To: ${email}\n`) && mail.includes(`${server.url}/account/${page}`),
    )
  const linkTo = async (email: string, page: string) => {
    await eventually(() => /<\/html>\s/.test(mailsTo(email, page)[0] ?? ''))
    return tokenIn(mailsTo(email, page)[0] ?? '')
  }
  /** Waits until no mail is waiting, and counts the mails to this address. */
  const mailed = (email: string, page: string) => async () => {
    await eventually(async () => (await server.rows('takeback_tasks')) === 0)
    return mailsTo(email, page).length
  }
  const post = (path: string, body: object, token: string | null = null) =>
    server.expect(200, 'POST', path, body, { token })
  const note = async (title = anEmail()) => (await server.expect(201, 'POST', '/api/notes/', { title })).id
  const journal = () => server.rows('takeback_journal')
  const changed = async () => {
    const { email, token } = await somebody()
    const to = anEmail()
    await post('/api/auth/email', { email: to, password }, token)
    return { email, to, link: await linkTo(to, 'email') }
  }
  const withFactor = async () => {
    const { token } = await somebody()
    const { secret } = await post('/api/auth/totp/', { password }, token)
    await post('/api/auth/totp/confirm', { code: codesOf(secret)(0) }, token)
    return token
  }
  const credential = async () => {
    const { token } = await somebody()
    const options = await post('/api/auth/passkeys/options', { password }, token)
    const origin = server.url.replace('127.0.0.1', 'localhost')
    return { token, body: { name: 'Phone', credential: new Authenticator(origin).create(options) } }
  }
  const key = async (token: string) =>
    (await server.expect(201, 'POST', '/api/auth/keys/', { name: 'K' }, { token })).id
  const unproved = async () => {
    const email = anEmail()
    await server.expect(202, 'POST', '/api/proved/', { email, password }, { token: null })
    return { email, link: await linkTo(email, 'verify') }
  }
  const order = async () => operationOf(await server.call('POST', '/api/orders/', { body: { title: 'tea' } }))
  const told = (operation: string) => async () => {
    const times = () => erp.told.filter(({ id }) => id === operation).length
    // The first task is made from the journal, which may take a moment. Until then there are no tasks, either.
    await eventually(async () => times() > 0 && (await server.rows('takeback_tasks')) === 0)
    return times()
  }
  const entries = (path: string, request: object = {}) => ({ path, effect: journal, ...request })
  return {
    'POST /api/auth/logout': async () => {
      const { token } = await somebody()
      // By then, the token has ended.
      return { path: '/api/auth/logout', token, again: 401 }
    },
    'DELETE /api/auth/sessions/{id}/': async () => {
      const { email, token } = await somebody()
      await post('/api/auth/login', { email, password })
      const { data } = await server.expect(200, 'GET', '/api/auth/sessions/', undefined, { token })
      const { id } = data.find(({ current }: { current: boolean }) => !current)
      return { path: `/api/auth/sessions/${id}/`, token }
    },
    'DELETE /api/auth/sessions/': async () => ({
      path: '/api/auth/sessions/?others=1',
      token: (await somebody()).token,
    }),
    'DELETE /api/auth/totp/': async () => ({
      path: '/api/auth/totp/',
      body: { password },
      token: await withFactor(),
    }),
    'POST /api/auth/passkeys/': async () => ({
      path: '/api/auth/passkeys/',
      ...(await credential()),
      effect: () => server.rows('takeback_passkeys'),
    }),
    'DELETE /api/auth/passkeys/{id}/': async () => {
      const { token, body } = await credential()
      const { id } = await server.expect(201, 'POST', '/api/auth/passkeys/', body, { token })
      return { path: `/api/auth/passkeys/${id}/`, token }
    },
    'POST /api/auth/password/forgot': async () => {
      const { email } = await somebody()
      return {
        path: '/api/auth/password/forgot',
        body: { email },
        token: null,
        effect: mailed(email, 'reset'),
      }
    },
    'POST /api/auth/password/reset': async () => {
      const { email } = await somebody()
      await post('/api/auth/password/forgot', { email })
      const token = await linkTo(email, 'reset')
      return entries('/api/auth/password/reset', { body: { token, password: FRESH }, token: null })
    },
    'POST /api/auth/email': async () => {
      const { token } = await somebody()
      const email = anEmail()
      return {
        path: '/api/auth/email',
        body: { email, password },
        token,
        effect: mailed(email, 'email'),
      }
    },
    'POST /api/auth/email/confirm': async () =>
      entries('/api/auth/email/confirm', { body: { token: (await changed()).link }, token: null }),
    'POST /api/auth/email/revert': async () => {
      const { email, link } = await changed()
      await post('/api/auth/email/confirm', { token: link })
      const token = await linkTo(email, 'revert')
      return entries('/api/auth/email/revert', { body: { token }, token: null })
    },
    'POST /api/auth/verify': async () => ({
      path: '/api/auth/verify',
      body: { token: (await unproved()).link },
      token: null,
    }),
    'POST /api/auth/verify/send': async () => {
      const { email } = await unproved()
      const path = '/api/auth/verify/send'
      return { path, body: { email }, token: null, effect: mailed(email, 'verify') }
    },
    'POST /api/auth/invitations/': async () => {
      const email = anEmail()
      const { id } = await server.expect(201, 'POST', '/api/users/?invite=1', { email })
      await linkTo(email, 'invite')
      const path = '/api/auth/invitations/'
      return { path, body: { user: `users/${id}` }, effect: mailed(email, 'invite') }
    },
    'PUT /api/auth/preferences/': async () => ({
      path: '/api/auth/preferences/',
      body: { theme: 'dark' },
      token: (await somebody()).token,
    }),
    'PATCH /api/auth/keys/{id}/': async () => {
      const { token } = await somebody()
      return { path: `/api/auth/keys/${await key(token)}/`, body: { name: 'Other' }, token }
    },
    'DELETE /api/auth/keys/{id}/': async () => {
      const { token } = await somebody()
      return { path: `/api/auth/keys/${await key(token)}/`, token }
    },
    'POST /api/system/tasks/{id}/retry/': async () => {
      erp.answers.push(500)
      await order()
      let failed: { id: number } | undefined
      await eventually(async () => {
        const { data } = await server.expect(200, 'GET', '/api/system/tasks/?state=waiting')
        failed = data.find(({ attempts }: { attempts: number }) => attempts > 0)
        return failed !== undefined
      })
      return { path: `/api/system/tasks/${failed?.id}/retry/` }
    },
    'POST /api/system/jobs/{name}/run/': async () => ({
      path: '/api/system/jobs/count/run/',
      async effect() {
        const state = async () => (await server.context.work.state()).recurring['jobs/count']
        await eventually(async () => (await state())?.last != null && (await state())?.holder === null)
        return runs()
      },
    }),
    'POST /api/system/webhooks/{name}/resend/': async () => {
      const operation = await order()
      await told(operation)()
      return { path: '/api/system/webhooks/erp/resend/', body: { operation }, effect: told(operation) }
    },
    'POST /api/operations/{id}/undo/': async () => {
      const made = await server.call('POST', '/api/notes/', { body: { title: anEmail() } })
      return entries(`/api/operations/${operationOf(made)}/undo/`)
    },
    'POST /api/operations/undo/': async () => {
      const run = anEmail()
      const body = { title: run }
      await server.expect(201, 'POST', '/api/notes/', body, { headers: { 'Takeback-Run': run } })
      return entries('/api/operations/undo/', { body: { run } })
    },
    'POST /api/batch/': async () =>
      entries('/api/batch/', {
        body: [{ method: 'POST', path: '/api/notes/', body: { title: anEmail() } }],
      }),
    'POST /api/{entity}/': async () => entries('/api/notes/', { body: { title: anEmail() } }),
    'PUT /api/{entity}/': async () => entries('/api/notes/?match=title', { body: { title: anEmail() } }),
    'PATCH /api/{entity}/': async () => {
      const title = anEmail()
      await note(title)
      return entries(`/api/notes/?filter=title=="${title}"`, { body: { title: anEmail() } })
    },
    'DELETE /api/{entity}/': async () => {
      const title = anEmail()
      await note(title)
      return entries(`/api/notes/?filter=title=="${title}"`)
    },
    'PATCH /api/{entity}/{id}/': async () =>
      entries(`/api/notes/${await note()}/`, { body: { title: anEmail() } }),
    'PUT /api/{entity}/{id}/': async () =>
      entries(`/api/notes/${await note()}/`, { body: { title: anEmail() } }),
    'DELETE /api/{entity}/{id}/': async () => entries(`/api/notes/${await note()}/`),
    'POST /api/{entity}/{id}/revert/': async () => {
      const path = `/api/notes/${await note()}/`
      await server.expect(200, 'PATCH', path, { title: anEmail() })
      return entries(`${path}revert/`, { body: { version: 1 } })
    },
    'POST /api/{entity}/{id}/undo/': async () => {
      const path = `/api/notes/${await note()}/`
      for (const _ of 'ab') await server.expect(200, 'PATCH', path, { title: anEmail() })
      return entries(`${path}undo/`)
    },
    'POST /api/{entity}/{id}/redo/': async () => {
      const path = `/api/notes/${await note()}/`
      for (const _ of 'ab') await server.expect(200, 'PATCH', path, { title: anEmail() })
      for (const _ of 'ab') await server.expect(200, 'POST', `${path}undo/`)
      return entries(`${path}redo/`)
    },
  }
}
