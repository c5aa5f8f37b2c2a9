import { afterAll, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { resolve } from '../../src/declare/resolve.ts'
import { app, entity, everyone, object, text } from '../../src/takeback.ts'
import { ADMIN, eventually, expectInvalid, onEveryStore, type TestResponse } from '../harness.ts'
import { mailsIn, tokenIn } from '../mailbox.ts'

const users = {
  fields: { name: text({ optional: true }), nick: text({ optional: true, unique: true }) },
  access: { create: everyone, read: 'id == me.id', update: 'id == me.id' },
} as const
const admins = entity({ login: { userType: 'admin' }, fields: {} })
const declaration = app({
  admins: 'admins',
  entities: {
    admins,
    users: entity({ ...users, login: { userType: 'user', verify: true } }),
    guests: entity({ login: { userType: 'guest' }, fields: {}, access: { create: everyone } }),
    hooked: entity({
      login: { userType: 'hooked', verify: true },
      fields: { name: text({ optional: true }) },
      access: { create: everyone },
      before: { create: (body) => ({ ...body, name: 'from the hook' }) },
    }),
  },
  routes: {
    'POST /api/welcome/': {
      access: everyone,
      body: object({ email: text() }),
      run: ({ body, api }) => api.system.users.create({ ...body, password: ADMIN.password }),
    },
  },
})
const PASSWORD = ADMIN.password
const UNVERIFIED = {
  message: 'The e-mail address is not confirmed yet. Follow the link in the mail, or ask for a new one.',
  code: 'unverified',
}
const GONE = 'invalid_link'
const outbox = mkdtempSync(join(tmpdir(), 'takeback-outbox-'))
afterAll(() => rmSync(outbox, { recursive: true, force: true }))

const seen = ({ status, text: body, headers }: TestResponse) => [
  status,
  body,
  [...headers.keys()].filter((name) => !name.startsWith('ratelimit')).sort(),
]

onEveryStore(
  'e-mail addresses that are verified',
  declaration,
  (server) => {
    const post = (path: string, body: unknown, sent = {}) =>
      server.call('POST', path, { body, token: null, ...sent })
    /** Returns the mails of this server to an address, oldest first. */
    const mailsTo = (email: string) =>
      mailsIn(outbox).filter((mail) => mail.includes(`To: ${email}\n`) && mail.includes(server.url))
    const mailTo = async (email: string, count = 0) => {
      await eventually(() => /<\/html>\s/.test(mailsTo(email)[count] ?? ''))
      return mailsTo(email)[count] ?? ''
    }
    const login = (email: string, password = PASSWORD, type = 'user') =>
      post('/api/auth/login', { email, password, user_type: type })
    const verify = (token: string) => post('/api/auth/verify', { token })
    /** Forgets attempts: all requests come from one address, and must not slow each other down. */
    const calm = () => server.query('DELETE FROM takeback_attempts RETURNING 1 AS n')
    beforeEach(calm)
    const signUp = (email: string, more: object = {}, password = PASSWORD) =>
      post('/api/users/', { email, password, ...more })

    test('let in whoever has followed the link, once, and nobody before', async () => {
      const made = await signUp('ada@example.com')
      expect([made.status, made.body]).toEqual([
        202,
        { message: 'A mail with a link is on its way. Follow it, then log in.' },
      ])
      expect((await login('ada@example.com', 'not the right one')).body.code).toBe('login_failed')
      const refused = await login('ada@example.com')
      expect([refused.status, refused.body]).toEqual([422, UNVERIFIED])
      const mail = await mailTo('ada@example.com')
      const token = tokenIn(mail)
      expect(mail).toContain(`${server.url}/account/verify?link=${token}`)
      for (const table of ['takeback_links', 'takeback_tasks', 'takeback_verified'])
        expect(JSON.stringify(await server.query(`SELECT * FROM ${table}`))).not.toMatch(
          new RegExp(`${token}|ada@`),
        )
      const answers = await Promise.all(Array.from({ length: 50 }, () => verify(token)))
      expect(answers.filter(({ status }) => status === 200).length).toBe(1)
      expect(answers.every(({ status }) => [200, 422, 429, 503].includes(status))).toBe(true)
      const { token: session, user } = (await login('ada@example.com')).body
      expect(user.verified).toBe(true)
      const me = await server.expect(200, 'GET', '/api/auth/me', undefined, { token: session })
      expect(me.verified).toBe(true)
      expect(server.logged.join('')).not.toContain(token)
    })

    test('cannot be blocked by a stranger who signs up with a look-alike', async () => {
      const lookAlikes = ['\uFF56ic@example.com', 'vic@exa\uFF4Dple.com', 'vi\u217D@example.com']
      for (const [at, email] of lookAlikes.entries()) {
        await calm()
        const owned = `${at}.vic@example.com`
        expect((await signUp(`${at}.${email}`)).status).toBe(202)
        await signUp(owned, {}, 'the password of the owner')
        // One mail to confirm the address, and one that says that it is taken, with a link to set a password.
        const token = tokenIn(await mailTo(owned, 1))
        const found = await login(`${at}.${email}`)
        expect([email, found.body.code, token.length > 0]).toEqual([email, 'login_failed', true])
      }
      expectInvalid(await signUp('vic\uFF20evil.example.com@example.com'), {
        email: ['must be an e-mail address'],
      })
    })

    test('are asked for again with the same answer for everybody; the newest link counts', async () => {
      await signUp('bob@example.com')
      const first = tokenIn(await mailTo('bob@example.com'))
      const send = (email: unknown, more = {}) => post('/api/auth/verify/send', { email, ...more })
      const answers = [
        await send('bob@example.com'),
        await send('ada@example.com'),
        await send('nobody@example.com'),
        await send('not an address', { user_type: 'guest' }),
      ]
      for (const one of answers) expect(seen(one)).toEqual(seen(answers[0] as TestResponse))
      const second = tokenIn(await mailTo('bob@example.com', 1))
      expect((await verify(first)).body.code).toBe(GONE)
      expect((await verify(second)).status).toBe(200)
      await eventually(async () => (await server.rows('takeback_tasks')) === 0)
      expect(mailsTo('ada@example.com').length).toBe(1)
      let last = 0
      for (let at = 0; at < 6; at++) last = (await send('flood@example.com')).status
      expect(last).toBe(429)
      expectInvalid(await send(7, { user_type: 'ghost', x: 1 }), {
        x: ['is not a field here'],
        email: ['must be a text'],
        user_type: ['must be one of admin, user, guest, hooked'],
      })
    })

    test('do not say who has an account', async () => {
      const [row] = await server.query("SELECT id FROM users WHERE email = 'ada@example.com'")
      const rows = await server.rows('users')
      const pairs: [object, object][] = [
        [{ email: 'ada@example.com' }, { email: 'new@example.com' }],
        [{ email: 'ADA@example.com' }, { email: 'NEW2@example.com' }],
        // Other errors are reported alike.
        [
          { email: 'ada@example.com', name: 7 },
          { email: 'new3@example.com', name: 7 },
        ],
        [
          { email: 'ada@example.com', password: 'short' },
          { email: 'new4@example.com', password: 'short' },
        ],
      ]
      for (const [taken, free] of pairs) {
        const [one, other] = [await signUp('', taken, PASSWORD), await signUp('', free, PASSWORD)] as const
        expect(seen(one)).toEqual(seen(other))
        const may = async (body: object) =>
          post('/api/may/', { action: 'create', path: 'users', body: { password: PASSWORD, ...body } })
        expect(seen(await may(taken))).toEqual(seen(await may(free)))
      }
      expect(await server.rows('users')).toBe(rows + 2)
      const mail = await mailTo('ada@example.com', 1)
      expect(mail).toContain('You already have an account')
      expect(mail).toContain(`${server.url}/account/reset?link=`)
      // A list, an upsert or a batch would reveal whether the address is taken.
      const body = { email: 'ada@example.com', password: PASSWORD }
      const alone = 'must be sent alone, as one user: the e-mail address has to be confirmed first'
      for (const email of ['ada@example.com', 'free@example.com']) {
        expectInvalid(await post('/api/users/', [{ ...body, email }]), { '': [alone] })
        expectInvalid(
          await server.call('PUT', '/api/users/?match=email', { body: { ...body, email }, token: null }),
          { '': [alone] },
        )
        const part = { method: 'POST', path: '/api/users/', body: { ...body, email } }
        expectInvalid(await post('/api/batch/', [part]), { '0': [alone] })
      }
      // Other unique values still say that they are taken.
      const nick = { nick: 'ace' }
      expect((await signUp('nick1@example.com', nick)).status).toBe(202)
      expectInvalid(await signUp('ada@example.com', nick), { nick: ['is taken'] })
      // Many mails to one address are slowed down; mistakes do not count.
      const flood: number[] = []
      for (let at = 0; at < 6; at++) flood.push((await signUp('flood2@example.com')).status)
      expect([flood[0], flood.at(-1)]).toEqual([202, 429])
      // A repeated request gets the same answer, and sends one mail.
      const headers = { 'Idempotency-Key': 'again' }
      for (const repeat of [undefined, 'true']) {
        const again = await post('/api/users/', body, { headers })
        expect([again.status, again.headers.get('Idempotent-Replay')]).toEqual([202, repeat ?? null])
      }
      await mailTo('ada@example.com', 2)
      await eventually(async () => (await server.rows('takeback_tasks')) === 0)
      expect(mailsTo('ada@example.com').length).toBe(3 + 1)
      expect(row?.id).toBeGreaterThan(0)
    })

    test('do not say who has an account to those who sign up and log in', async () => {
      const address = (state: string) => `${state}@states.example.com`
      for (const state of ['unverified', 'verified', 'tried']) await signUp(address(state))
      for (const state of ['verified', 'tried']) await verify(tokenIn(await mailTo(address(state))))
      await signUp(address('tried'), {}, 'nine hidden harbours')
      const id = await server.member('users', { email: address('before') })
      await server.expect(200, 'PATCH', `/api/users/${id}/`, { email: address('changed') })
      const [first, second] = ['seven quiet lanterns', 'eight loud trumpets!'] as const
      const told = async (email: string) => {
        await calm()
        const tell = async (password: string) => (await login(email, password)).body.code
        await signUp(email, {}, first)
        const answers = [await tell(first)]
        await signUp(email, {}, second)
        return [...answers, await tell(first), await tell(second)]
      }
      for (const state of ['free', 'unverified', 'verified', 'tried', 'changed'])
        expect([state, await told(address(state))]).toEqual([
          state,
          ['unverified', 'login_failed', 'unverified'],
        ])
      await calm()
      // None of these passwords works, but the owner's does.
      expect((await login(address('verified'))).status).toBe(200)
      expect((await login(address('unverified'))).body.code).toBe('login_failed')
      // Attempts for another address do not count for this one.
      await server.expect(200, 'PATCH', `/api/users/${id}/`, { email: address('elsewhere') })
      expect((await login(address('elsewhere'))).body.code).toBe('unverified')
      expect((await login(address('elsewhere'), second)).body.code).toBe('login_failed')
    })

    test('that are not verified count as failed logins: the right password can be guessed here, too', async () => {
      await signUp('guessed@example.com')
      const answers: string[] = []
      for (let at = 0; at < 6; at++) answers.push((await login('guessed@example.com')).body.code)
      expect([answers[0], answers.at(-1)]).toEqual(['unverified', 'too_many_attempts'])
    })

    test('are proved by a reset and by an invitation, too', async () => {
      await signUp('cat@example.com')
      await mailTo('cat@example.com')
      await post('/api/auth/password/forgot', { email: 'cat@example.com' })
      const reset = tokenIn(await mailTo('cat@example.com', 1))
      const fresh = 'a longer and better password'
      const set = (token: string) => post('/api/auth/password/reset', { token, password: fresh })
      expect((await set(reset)).status).toBe(200)
      expect((await login('cat@example.com', fresh)).status).toBe(200)

      await server.expect(201, 'POST', '/api/users/?invite=1', { email: 'dan@example.com' })
      const invite = await mailTo('dan@example.com')
      expect(invite).toContain('/account/invite?link=')
      expect((await set(tokenIn(invite))).status).toBe(200)
      expect((await login('dan@example.com', fresh)).status).toBe(200)
      await eventually(async () => (await server.rows('takeback_tasks')) === 0)
      expect(mailsTo('dan@example.com').length).toBe(1)
    })

    test('are those of an account at the time: a changed one is unverified, and an undo brings back the old one', async () => {
      await signUp('eve@example.com')
      await verify(tokenIn(await mailTo('eve@example.com')))
      const { token, user } = (await login('eve@example.com')).body
      const path = `/api/users/${user.id}/`
      const changed = await server.call('PATCH', path, { body: { email: 'eva@example.com' }, token })
      expect(changed.status).toBe(200)
      expect((await login('eva@example.com')).body).toEqual(UNVERIFIED)
      const me = () => server.expect(200, 'GET', '/api/auth/me', undefined, { token })
      expect((await me()).verified).toBe(false)
      // Nor is there any other way to get a session.
      const refreshed = await server.call('POST', '/api/auth/refresh', { token })
      expect([refreshed.status, refreshed.body]).toEqual([422, UNVERIFIED])
      const change = { password: PASSWORD, new_password: 'a longer and better password' }
      expect((await server.call('POST', '/api/auth/password', { body: change, token })).body).toEqual(
        UNVERIFIED,
      )
      const sent = await mailTo('eva@example.com')
      await server.expect(200, 'DELETE', path)
      await server.expect(200, 'DELETE', `${path}?restore=1`)
      expect((await login('eva@example.com')).body).toEqual(UNVERIFIED)
      await server.expect(200, 'POST', `/api/operations/${changed.headers.get('Takeback-Operation')}/undo/`)
      expect((await login('eve@example.com')).status).toBe(200)
      // The link was for the former address.
      expect((await verify(tokenIn(sent))).body.code).toBe(GONE)
      await server.expect(200, 'PATCH', path, { email: 'eva@example.com' })
      expect((await login('eva@example.com')).body).toEqual(UNVERIFIED)
      await server.expect(200, 'DELETE', path)
      await server.expect(204, 'DELETE', `${path}?purge=1`)
      await eventually(
        async () =>
          (await server.query('SELECT 1 AS n FROM takeback_verified WHERE entity_id = $1', user.id))
            .length === 0,
      )
    })

    test('of users whom others create are unverified, unless an admin vouches for them', async () => {
      const body = (email: string) => ({ email, password: PASSWORD })
      await server.expect(201, 'POST', '/api/users/', [body('fay1@example.com'), body('fay2@example.com')])
      await server.expect(200, 'POST', '/api/batch/', [
        { method: 'POST', path: '/api/users/', body: body('fay3@example.com') },
      ])
      await server.expect(201, 'PUT', '/api/users/?match=email', body('fay4@example.com'))
      await server.expect(200, 'POST', '/api/welcome/', { email: 'fay5@example.com' }, { token: null })
      expect((await post('/api/hooked/', body('fay6@example.com'))).status).toBe(202)
      for (let at = 1; at <= 6; at++) {
        const email = `fay${at}@example.com`
        const type = at === 6 ? 'hooked' : 'user'
        expect((await login(email, PASSWORD, type)).body).toEqual(UNVERIFIED)
        expect((await verify(tokenIn(await mailTo(email)))).status).toBe(200)
        expect((await login(email, PASSWORD, type)).status).toBe(200)
      }
      const vouch = (path: string, sent: unknown, token: string | null = server.adminToken) =>
        server.call('POST', `/api/${path}/?verified=1`, { body: sent, token })
      expect((await vouch('users', [body('gil1@example.com'), body('gil2@example.com')])).status).toBe(201)
      expect((await vouch('hooked', body('gil3@example.com'))).body.name).toBe('from the hook')
      for (let at = 1; at <= 3; at++) {
        const type = at === 3 ? 'hooked' : 'user'
        expect((await login(`gil${at}@example.com`, PASSWORD, type)).status).toBe(200)
      }
      const { token } = (await login('gil1@example.com')).body
      for (const by of [token, null])
        expectInvalid(await vouch('users', body('gil4@example.com'), by), {
          verified: ['is only for admins'],
        })
      expectInvalid(await vouch('guests', body('gil4@example.com')), {
        verified: ['is only for types that log in with verify'],
      })
      await eventually(async () => (await server.rows('takeback_tasks')) === 0)
      expect(mailsTo('gil1@example.com').length).toBe(0)
      // Another type, without `verify`, is not affected.
      expect((await post('/api/guests/', body('gus@example.com'))).status).toBe(201)
      expect((await login('gus@example.com', PASSWORD, 'guest')).body.user.verified).toBeUndefined()
    })

    test('can be confirmed on a page without scripts', async () => {
      await signUp('page@example.com')
      const token = tokenIn(await mailTo('page@example.com'))
      const page = await fetch(`${server.url}/account/verify?link=${token}`)
      const html = await page.text()
      expect([page.status, page.headers.get('referrer-policy')]).toEqual([200, 'no-referrer'])
      expect(html).toContain(`name="token" value="${token}"`)
      expect(html).not.toContain('<script')
      const submit = () =>
        fetch(`${server.url}/account/verify`, { method: 'POST', body: new URLSearchParams({ token }) })
      expect((await login('page@example.com')).body).toEqual(UNVERIFIED)
      expect(await (await submit()).text()).toContain('The e-mail address is confirmed.')
      expect((await submit()).status).toBe(422)
      expect((await login('page@example.com')).status).toBe(200)
    })
  },
  { outbox },
)

test('declarations that cannot work are refused', () => {
  const declared =
    (login: object, more: object = {}) =>
    () =>
      resolve({ entities: { users: { login: { userType: 'user', ...login }, fields: {}, ...more } } })
  expect(declared({ verify: 1 })).toThrow('users.login.verify: must be true or false')
  expect(declared({ verify: true }, { fields: { verified: text() } })).toThrow('is a name that login adds')
  expect(declared({ verify: true }, { fields: { a: text() }, unique: [['email', 'a']] })).toThrow(
    'has the e-mail of a login, which is already unique',
  )
})
