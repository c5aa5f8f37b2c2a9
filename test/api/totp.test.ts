import { expect, test } from 'bun:test'
import { isChallenge, newChallenge } from '../../src/account/challenges.ts'
import { Seals } from '../../src/account/seals.ts'
import { SecondFactors } from '../../src/account/second-factors.ts'
import { noSession } from '../../src/account/sessions.ts'
import { app, entity, everyone, signedIn, text } from '../../src/takeback.ts'
import { ADMIN, eventually, expectInvalid, onEveryStore, TestServer } from '../harness.ts'
import { codesOf } from '../totp-codes.ts'
import { jobOn } from '../work.ts'

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user', second: 'optional' }, fields: {} }),
    staff: entity({ login: { userType: 'staff', second: 'required' }, fields: {} }),
    notes: entity({ fields: { text: text() }, access: { read: signedIn, create: everyone } }),
  },
})

const { password } = ADMIN
const flags = { 'trusted-proxies': '127.0.0.1', 'rate-limit': 'writes=off,reads=off' }
const FAILED = [422, 'second_factor_failed']

onEveryStore(
  'a second factor',
  declaration,
  (server) => {
    let network = 0
    /** Returns headers with a new address, so that failures here slow down nobody else. */
    const from = () => ({ 'X-Forwarded-For': `198.51.100.${++network % 250}` })
    const login = (email: string, more: object = {}, headers: Record<string, string> = from()) =>
      server.call('POST', '/api/auth/login', { body: { email, password, ...more }, token: null, headers })
    const totp = (method: string, path: string, token: string, body?: object) =>
      server.call(method, `/api/auth/totp/${path}`, { token, headers: from(), ...(body && { body }) })
    const codeOf = ({ status, body }: { status: number; body: any }) => [status, body?.code]

    /** Lets all codes be used again, so that tests do not wait for half a minute. */
    const forgetSteps = () =>
      server.query('UPDATE takeback_second_factors SET last_step = 0 RETURNING 1 AS n')

    /** A user with a second factor. */
    const secured = async (type: string, email: string) => {
      const { id, token } = await server.user(type, { email })
      const { secret, uri } = (await totp('POST', '', token, { password })).body
      const codes = codesOf(secret)
      const { recovery_codes: recovery } = (await totp('POST', 'confirm', token, { code: codes(0) })).body
      await forgetSteps()
      return {
        id,
        token,
        secret: secret as string,
        uri: uri as string,
        codes,
        recovery: recovery as string[],
      }
    }

    test('is set up with the password and a code, and then asked for after the right password only', async () => {
      const { token } = await server.user('users', { email: 'ada@example.com' })
      expectInvalid(await totp('POST', '', token, {}), { password: ['is required'] })
      expectInvalid(await totp('POST', '', token, { password: 'wrong' }), { password: ['is wrong'] })
      const begun = await totp('POST', '', token, { password })
      expect(begun.body).toEqual({
        secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
        uri: `otpauth://totp/127.0.0.1:ada%40example.com?secret=${begun.body.secret}&issuer=127.0.0.1&algorithm=SHA1&digits=6&period=30`,
      })
      expect((await totp('GET', '', token)).body).toEqual({ active: false, since: null, recovery_codes: 0 })
      expect((await login('ada@example.com')).status).toBe(200)
      const codes = codesOf(begun.body.secret)
      expect(codeOf(await totp('POST', 'confirm', token, { code: 'abcdef' }))).toEqual(FAILED)
      const first = codes(0)
      const confirmed = await totp('POST', 'confirm', token, { code: first })
      expect([confirmed.status, confirmed.body.recovery_codes.length]).toEqual([200, 10])
      expect(codeOf(await totp('POST', 'confirm', token, { code: codes(1) }))).toEqual([
        409,
        'second_factor_exists',
      ])
      expect(codeOf(await totp('POST', '', token, { password }))).toEqual([409, 'second_factor_exists'])

      expect(codeOf(await login('ada@example.com', { password: 'wrong' }))).toEqual([422, 'login_failed'])
      expect(codeOf(await login('ada@example.com', { password: 'wrong', code: codes(1) }))).toEqual([
        422,
        'login_failed',
      ])
      expect(codeOf(await login('ada@example.com'))).toEqual([422, 'second_factor_required'])
      // The code that confirmed it is used up.
      expect(codeOf(await login('ada@example.com', { code: first }))).toEqual(FAILED)
      const second = codes(1)
      const entered = await login('ada@example.com', { code: second })
      expect([entered.status, entered.headers.get('takeback-device')]).toEqual([200, expect.any(String)])
      expect(codeOf(await login('ada@example.com', { code: second }))).toEqual(FAILED)
      expect(codeOf(await login('ada@example.com', { code: '1'.repeat(2000) }))).toEqual([
        422,
        'invalid_data',
      ])
      const [code] = confirmed.body.recovery_codes
      expect((await login('ada@example.com', { code: code.toLowerCase() })).status).toBe(200)
      expect(codeOf(await login('ada@example.com', { code }))).toEqual(FAILED)
      expect((await totp('GET', '', token)).body).toEqual({
        active: true,
        since: expect.stringMatching(/Z$/),
        recovery_codes: 9,
      })
    })

    test('takes each code once, of fifty at the same time', async () => {
      const { id, codes, recovery, token } = await secured('users', 'race@example.com')
      const owner = { entity: 'users', id }
      const wins = async (act: () => Promise<unknown>) =>
        (await Promise.all(Array.from({ length: 50 }, act))).filter(Boolean).length
      const code = codes(1)
      expect(await wins(() => server.context.factors.use(owner, code))).toBe(1)
      expect(await wins(() => server.context.factors.use(owner, recovery[0] ?? ''))).toBe(1)
      await totp('DELETE', '', token, { password })
      const { secret } = (await totp('POST', '', token, { password })).body
      const [fresh, later] = [codesOf(secret)(0), codesOf(secret)(1)]
      expect(await wins(() => server.context.factors.confirm(owner, fresh, noSession))).toBe(1)
      const logins = await Promise.all(
        Array.from({ length: 4 }, () => login('race@example.com', { code: later })),
      )
      expect(logins.filter(({ status }) => status === 200).length).toBe(1)
    })

    test('cannot be guessed, from whatever address, nor from a known device', async () => {
      const { codes } = await secured('users', 'bob@example.com')
      const known = await login('bob@example.com', { code: codes(0) })
      const device = { 'Takeback-Device': known.headers.get('takeback-device') ?? '' }
      const wrong = '12345'
      const tries: unknown[] = []
      while (tries.at(-1) !== 429) {
        // Failures also count for the password. Not in this test.
        await server.context.throttle.unlock('login user bob@example.com')
        tries.push((await login('bob@example.com', { code: wrong })).status)
      }
      expect(tries.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 422))
      // A password alone is no guess at a code: it neither waits for the code nor counts.
      for (let at = 0; at < 8; at++)
        expect(codeOf(await login('bob@example.com', {}, { ...from(), ...device }))).toEqual([
          422,
          'second_factor_required',
        ])
    })

    test('cannot be locked by guesses at something else', async () => {
      const { id, codes } = await secured('users', 'locked@example.com')
      const guess = (path: string, body: object) =>
        server.call('POST', `/api/auth/${path}`, { body, token: null, headers: from() })
      for (const text of [`users/${id}`, 'locked@example.com', 'user locked@example.com'])
        for (let tries = 0; tries < 12; tries++) {
          await guess('providers/exchange', { code: text })
          await guess('password/reset', { token: text, password })
          await guess('passkeys/login', { credential: { id: text, type: 'public-key' } })
        }
      expect((await login('locked@example.com', { code: codes(0) })).status).toBe(200)
    })

    test('is removed by its owner with a proof, or by an admin', async () => {
      const { id, token, codes, recovery } = await secured('users', 'cem@example.com')
      const eve = await server.user('users', { email: 'eve@example.com' })
      expectInvalid(await totp('DELETE', '', token), { password: ['is required'] })
      expectInvalid(await totp('DELETE', '', token, { password, code: '1' }), {
        code: ['cannot be combined with password'],
      })
      expect(codeOf(await totp('DELETE', '', token, { code: '000' }))).toEqual(FAILED)
      const renewed = await totp('POST', 'recovery-codes', token, { code: codes(0) })
      expect(renewed.body.recovery_codes).not.toContain(recovery[0])
      expect(codeOf(await login('cem@example.com', { code: recovery[0] }))).toEqual(FAILED)
      expect((await totp('DELETE', '', token, { password })).status).toBe(204)
      expect((await totp('DELETE', '', token, { password })).status).toBe(404)
      expect((await login('cem@example.com')).status).toBe(200)

      const dan = await secured('users', 'dan@example.com')
      expect((await totp('DELETE', `?user=users/${dan.id}`, eve.token)).status).toBe(403)
      expect((await totp('GET', `?user=users/${dan.id}`, server.adminToken)).body.active).toBe(true)
      expect((await totp('DELETE', `?user=users/${dan.id}`, server.adminToken)).status).toBe(204)
      expect((await login('dan@example.com')).status).toBe(200)
      await eventually(() =>
        server.logged.join('').includes(`The second factor of users/${dan.id} was removed by admins/1.`),
      )
      expect((await totp('POST', '', server.adminToken, { password })).status).toBe(404)
      expect(id).toBeGreaterThan(0)
    })

    test('stays with its user through deletion and restore, and goes with a purge', async () => {
      const { id, codes } = await secured('users', 'fay@example.com')
      const rows = () =>
        server.query(
          'SELECT entity_id FROM takeback_second_factors WHERE entity_id = $1 UNION ALL SELECT entity_id FROM takeback_recovery_codes WHERE entity_id = $1',
          id,
        )
      await server.expect(200, 'DELETE', `/api/users/${id}/`)
      await server.expect(200, 'DELETE', `/api/users/${id}/?restore=1`)
      expect(codeOf(await login('fay@example.com'))).toEqual([422, 'second_factor_required'])
      await server.expect(200, 'PATCH', `/api/users/${id}/`, { password: 'a longer and better password' })
      const fresh = { password: 'a longer and better password' }
      expect(codeOf(await login('fay@example.com', fresh))).toEqual([422, 'second_factor_required'])
      expect((await login('fay@example.com', { ...fresh, code: codes(0) })).status).toBe(200)
      await server.expect(200, 'DELETE', `/api/users/${id}/`)
      await server.expect(204, 'DELETE', `/api/users/${id}/?purge=1`)
      expect(await rows()).toEqual([])
    })

    test('that is required must be set up before anything else', async () => {
      const { token } = await server.user('staff', { email: 'gil@example.com' })
      const LACKS = [403, 'second_factor_setup_required']
      const notes = (as: string) => server.call('GET', '/api/notes/', { token: as })
      for (const path of ['/api/notes/', '/api/auth/sessions/', '/api/operations/'])
        expect([path, codeOf(await server.call('GET', path, { token }))]).toEqual([path, LACKS])
      expect(codeOf(await server.call('POST', '/api/auth/refresh', { token }))).toEqual(LACKS)
      expect((await server.call('GET', '/api/auth/me', { token })).status).toBe(200)
      const { secret } = (await totp('POST', '', token, { password })).body
      expect(codeOf(await notes(token))).toEqual(LACKS)
      const codes = codesOf(secret)
      expect((await totp('POST', 'confirm', token, { code: codes(0) })).status).toBe(200)
      expect((await notes(token)).status).toBe(200)
      const strong = (await login('gil@example.com', { code: codes(1) })).body.token
      const next = await server.expect(200, 'POST', '/api/auth/refresh', undefined, { token: strong })
      // A session that began with two factors continues without them.
      await totp('DELETE', '', token, { password })
      expect((await notes(next.token)).status).toBe(200)
      expect(codeOf(await notes(token))).toEqual(LACKS)
    })

    test('that is required ends sessions without it when it is set up, however many begin meanwhile', async () => {
      for (let round = 0; round < 4; round++) {
        const email = `hal${round}@example.com`
        const { token } = await server.user('staff', { email })
        const thief = (await login(email)).body.token
        const { secret } = (await totp('POST', '', token, { password })).body
        const begin = Array.from({ length: 4 }, async (_, at) => {
          await Bun.sleep(at * 8)
          return login(email)
        })
        const confirm = async () => {
          await Bun.sleep(round * 20)
          return totp('POST', 'confirm', token, { code: codesOf(secret)(0) })
        }
        const [confirmed, ...begun] = await Promise.all([confirm(), ...begin])
        expect(confirmed?.status).toBe(200)
        for (const one of [thief, ...begun.map(({ body }) => body.token)])
          if (one !== undefined)
            expect((await server.call('GET', '/api/notes/', { token: one })).status).toBe(401)
        expect((await server.call('GET', '/api/notes/', { token })).status).toBe(200)
      }
    })

    test('is shared by instances, and so is the end of a session', async () => {
      const other = new TestServer('', declaration, flags, await server.database())
      other.adminToken = server.adminToken
      await other.start()
      try {
        const { token } = await server.user('users', { email: 'joy@example.com' })
        const post = (at: TestServer, path: string, body: object, as: string | null = token) =>
          at.call('POST', `/api/auth/${path}`, { body, token: as, headers: from() })
        const { secret } = (await post(server, 'totp/', { password })).body
        const [first, second] = [codesOf(secret)(0), codesOf(secret)(1)]
        expect((await post(other, 'totp/confirm', { code: first })).status).toBe(200)
        const credentials = { email: 'joy@example.com', password, code: second }
        const entered = await post(server, 'login', credentials, null)
        expect(entered.status).toBe(200)
        expect(codeOf(await post(other, 'login', credentials, null))).toEqual(FAILED)
        const me = (at: TestServer) => at.call('GET', '/api/auth/me', { token: entered.body.token })
        expect([(await me(server)).status, (await me(other)).status]).toEqual([200, 200])
        await server.expect(204, 'DELETE', '/api/auth/sessions/?others=1', undefined, { token })
        expect((await me(server)).status).toBe(401)
        await eventually(async () => (await me(other)).status === 401)
        const challenge = newChallenge(server.context.tokens, 'login')
        expect(isChallenge(other.context.tokens, 'login', challenge)).toBe(true)
        expect(isChallenge(other.context.tokens, 'register users/1', challenge)).toBe(false)
      } finally {
        await other.stop()
      }
    })

    test('outlives a new secret of the server', async () => {
      const { id, codes } = await secured('users', 'ivy@example.com')
      const { store } = server.context
      const old = String(await store.secret())
      const both = new SecondFactors(store, new Seals(['another secret', old]))
      await both.reseal(jobOn(store))
      const next = new SecondFactors(store, new Seals(['another secret']))
      expect(await next.use({ entity: 'users', id }, codes(0))).toBe(true)
      await forgetSteps()
      await new SecondFactors(store, new Seals([old, 'another secret'])).reseal(jobOn(store))
      expect((await login('ivy@example.com', { code: codes(0) })).status).toBe(200)
    })

    test('leaves no secret and no code in the log, or in any table', async () => {
      const { secret, uri, recovery, codes } = await secured('users', 'hal@example.com')
      await login('hal@example.com', { code: recovery[0] })
      await login('hal@example.com', { code: codes(0) })
      await login('hal@example.com', { code: recovery[0] })
      await eventually(() => server.logged.join('').includes('/api/auth/totp/confirm'))
      const tables = await Promise.all(
        [
          'journal',
          'answers',
          'tasks',
          'attempts',
          'second_factors',
          'recovery_codes',
          'sessions',
          'notes',
        ].map((name) => server.query(`SELECT * FROM takeback_${name}`)),
      )
      const kept = JSON.stringify([server.logged, tables])
      for (const one of [secret, uri, ...recovery, recovery[0]?.replaceAll('-', '')])
        expect(kept).not.toContain(one ?? 'nothing')
    })
  },
  flags,
)
