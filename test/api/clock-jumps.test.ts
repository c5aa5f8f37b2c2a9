import { afterAll, afterEach, beforeAll, describe, expect } from 'bun:test'
import { budget } from '../../src/budget.ts'
import { entity, everyone, text } from '../../src/takeback.ts'
import { users, withAdmins } from '../declarations.ts'
import {
  ADMIN,
  eventually,
  giant,
  isDeep,
  newDatabase,
  onEveryStoreByHand,
  type TestResponse,
  TestServer,
} from '../harness.ts'
import { type ShiftedClock, shiftedClock } from '../shifted-clock.ts'
import { clearOut } from '../work.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const declared = withAdmins({
  users,
  notes: entity({ fields: { text: text() }, access: { create: everyone, read: everyone } }),
})

const flags = { 'trusted-proxies': '127.0.0.1', 'rate-limit': 'signups=3/1h,reads=20/10s,writes=off' }
const SIGN_UPS_WINDOW = 3 * HOUR

/** The offset of the clock before the jump, and after it. */
const jumps = [-3 * HOUR, 3 * HOUR, 400 * DAY].flatMap((ms) => [
  { from: ms, to: 0 },
  { from: 0, to: ms },
])
/** A jump back on each store; a far jump in one direction on each. */
const namedFor = (store: string) =>
  jumps
    .filter(({ from, to }) => isDeep || to === -3 * HOUR || (store === 'sqlite' ? to : from) === 400 * DAY)
    .map((jump) => ({ ...jump, name: `from ${jump.from / HOUR} h to ${jump.to / HOUR} h` }))

onEveryStoreByHand('a wall clock that jumps', (store) => {
  let one: TestServer
  let other: TestServer
  let clock: ShiftedClock
  let count = 0
  const newAddress = () => `198.51.${Math.floor(++count / 250)}.${(count % 250) + 1}`
  const newLogin = () => ({ email: `u${++count}@example.com`, password: ADMIN.password })
  const post = (path: string, body: unknown, address = newAddress(), headers = {}) =>
    one.call('POST', path, { body, token: null, headers: { 'X-Forwarded-For': address, ...headers } })
  const logIn = (body: unknown, address = newAddress()) => post('/api/auth/login', body, address)
  const newUser = async () => {
    const login = newLogin()
    await one.member('users', login)
    return login
  }
  const signIn = async (login = newLogin()) => {
    await one.member('users', login)
    const { body } = await logIn({ ...login, user_type: 'user' })
    return String(body.token)
  }
  const isAlive = async (token: string, server = one) =>
    (await server.call('GET', '/api/auth/me', { token })).status === 200
  const end = (token: string, server = one) =>
    server.expect(204, 'POST', '/api/auth/logout', undefined, { token })
  const retryAfter = ({ headers }: TestResponse) => Number(headers.get('Retry-After')) * SECOND

  beforeAll(async () => {
    one = new TestServer(store, declared, flags)
    const database = await newDatabase(store, one.folder)
    clock = await shiftedClock(store, database)
    one = new TestServer(store, declared, flags, database)
    other = new TestServer(store, declared, flags, database)
    await one.start()
    other.adminToken = one.adminToken
    await other.start()
  })
  afterEach(() => clock.right())
  afterAll(async () => {
    await other.stop()
    await one.remove()
  })

  /** A refused caller gets a wait within the limit, and is let in after it. */
  async function recovers(to: number, limit: number, call: () => Promise<TestResponse>, good: number) {
    await clock.set(to)
    const first = await call()
    expect([good, 429]).toContain(first.status)
    if (first.status === good) return
    expect(retryAfter(first)).toBeWithin(SECOND, limit + 1)
    await clock.set(to + limit + SECOND)
    expect((await call()).status).toBe(good)
  }

  describe.each(namedFor(store))('$name', ({ from, to }) => {
    giant('brings no session back that was ended', async () => {
      await clock.set(from)
      const before = await signIn()
      expect(await isAlive(before)).toBe(true)
      await end(before)
      expect(await isAlive(before)).toBe(false)
      await clock.set(to)
      expect(await isAlive(before)).toBe(false)
      // A logout clears out old rows.
      const after = await signIn()
      await one.expect(200, 'POST', '/api/auth/refresh', undefined, { token: after })
      await end(await signIn())
      await clock.set(from)
      expect([await isAlive(before), await isAlive(after)]).toEqual([false, false])
      await clock.right()
      await one.restart()
      expect([await isAlive(before), await isAlive(after)]).toEqual([false, false])
    })

    giant('keeps no caller whose session was ended elsewhere', async () => {
      await clock.set(from)
      const token = await signIn()
      expect(await isAlive(token)).toBe(true)
      clock.setHere(to)
      const [session] = JSON.parse(`[${atob(token.split('.')[1] ?? '')}]`)
      await one.query(
        'INSERT INTO takeback_ended_sessions (session, until) VALUES ($1, $2)',
        session.ses,
        new Date(Date.now() + DAY).toISOString(),
      )
      await eventually(async () => !(await isAlive(token)))
    })

    giant('makes no token live longer than two days', async () => {
      await clock.set(from)
      const token = await signIn()
      await clock.set(to)
      const { exp } = JSON.parse(atob(token.split('.')[1] ?? ''))
      const left = exp * 1000 - Date.now()
      expect(await isAlive(token)).toBe(left > 0 && left <= 2 * DAY)
    })

    giant('makes nobody wait longer than a minute after five failures', async () => {
      const [login, address] = [await newUser(), newAddress()]
      await clock.set(from)
      for (let at = 0; at < 5; at++)
        expect((await logIn({ ...login, password: 'a wrong password' }, address)).status).toBe(422)
      expect((await logIn(login, address)).status).toBe(429)
      await recovers(to, MINUTE, () => logIn(login, address), 200)
    })

    giant('makes nobody wait longer than the longest wait after many failures', async () => {
      const [login, address] = [await newUser(), newAddress()]
      await clock.set(from)
      await logIn({ ...login, password: 'a wrong password' })
      const columns = 'at, account, outcome, place, elsewhere'
      for (let at = 0; at < 30; at++)
        await one.query(
          `INSERT INTO takeback_attempts (id, address, ${columns}) SELECT $1, $2, ${columns} FROM takeback_attempts
            WHERE id = (SELECT max(id) FROM takeback_attempts)`,
          Bun.randomUUIDv7(),
          newAddress(),
        )
      const refused = await logIn(login, address)
      expect(refused.status).toBe(429)
      // Less the time that the attempts took.
      const longest = budget.loginWaitSeconds * SECOND
      expect(retryAfter(refused)).toBeWithin(longest / 2, longest + 1)
      await recovers(to, budget.loginWaitSeconds * SECOND, () => logIn(login, address), 200)
      await one.query('DELETE FROM takeback_attempts')
    })

    giant('keeps nobody waiting for an attempt of a process that is gone', async () => {
      const [login, address] = [await newUser(), newAddress()]
      await clock.set(from)
      for (let at = 0; at < 5; at++) await logIn({ ...login, password: 'a wrong password' }, address)
      await one.query("UPDATE takeback_attempts SET outcome = 'pending'")
      await clock.set(to + 31 * SECOND)
      await recovers(to + 31 * SECOND, MINUTE, () => logIn(login, address), 200)
    })

    giant('fills the bucket of sign-ups again within its window', async () => {
      const address = newAddress()
      const signUp = () => post('/api/users/', newLogin(), address)
      await clock.set(from)
      for (let at = 0; at < 3; at++) expect((await signUp()).status).toBe(201)
      expect((await signUp()).status).toBe(429)
      await recovers(to, SIGN_UPS_WINDOW, signUp, 201)
    })

    giant('fills a bucket of reads again within its window, of its own time', async () => {
      const address = newAddress()
      const read = () =>
        one.call('GET', '/api/notes/', { token: null, headers: { 'X-Forwarded-For': address } })
      const used = async () => {
        while ((await read()).status === 200);
      }
      await clock.set(from)
      await used()
      const key = `reads ${address}`
      while ((await one.query('SELECT 1 FROM takeback_rates WHERE key = $1', key)).length === 0) await used()
      await clock.set(to)
      for (;;) {
        const answer = await read()
        if (answer.status === 200) break
        // The debt among instances is at most two windows.
        expect(retryAfter(answer)).toBeWithin(SECOND, 4 * SECOND + 1)
        await Bun.sleep(50)
      }
    })

    giant('keeps answers for a day, and no longer', async () => {
      const key = `key-${++count}`
      // Strangers are identified by their address.
      const address = newAddress()
      const send = async () =>
        (await post('/api/notes/', { text: key }, address, { 'Idempotency-Key': key })).headers.get(
          'Idempotent-Replay',
        )
      const isKept = async () => (await one.rows('takeback_answers')) > 0
      await clock.set(from)
      expect(await send()).toBe(null)
      await clock.set(to)
      expect(await send()).toBe('true')
      await clearOut(one.context)
      expect(await send()).toBe('true')
      await clock.right()
      await clearOut(one.context)
      expect([await send(), await isKept()]).toEqual(['true', true])
      // As if a day had passed.
      for (const { key: old, at } of await one.query('SELECT key, at FROM takeback_answers'))
        await one.query(
          'UPDATE takeback_answers SET at = $1 WHERE key = $2',
          new Date(new Date(String(at)).getTime() - DAY - MINUTE).toISOString(),
          String(old),
        )
      await clearOut(one.context)
      expect(await isKept()).toBe(false)
    })

    giant('makes no temporary password good for longer than two days', async () => {
      const login = await newUser()
      const { body } = await logIn(login)
      const [row] = await one.query('SELECT password FROM users WHERE id = $1', body.user.id)
      await clock.set(from)
      await one.context.temporary.mark('users', body.user.id, String(row?.password))
      await clock.set(to)
      const token = (await logIn(login)).body.token
      const { status } = await one.call('GET', '/api/notes/', { token })
      const { password_expires_at } = (await one.call('GET', '/api/auth/me', { token })).body
      const left = new Date(password_expires_at).getTime() - Date.now()
      expect([status, left]).toEqual([left > 0 && left <= 2 * DAY ? 200 : 403, left])
    })

    giant('leaves nothing to a server that is gone', async () => {
      await post('/api/notes/', { text: 'kept' }, newAddress(), { 'Idempotency-Key': `key-${++count}` })
      await one.query('UPDATE takeback_answers SET at = $1', new Date(Date.now() - 2 * DAY).toISOString())
      await clock.set(from)
      const until = () => new Date(Date.now() + budget.leaseMs).toISOString()
      await one.query(
        "UPDATE takeback_work SET holder = 'somebody', next_at = $1 WHERE name = 'retention'",
        until(),
      )
      await clock.set(to)
      const row = async () =>
        (await one.query("SELECT holder, next_at FROM takeback_work WHERE name = 'retention'"))[0]
      // A lease ends on time, whatever the clock was when it was taken.
      await eventually(async () => String((await row())?.next_at) <= until())
      await clock.set(to + budget.leaseMs + SECOND)
      await eventually(
        async () => (await row())?.holder === null && (await one.rows('takeback_answers')) === 0,
      )
    })
  })
})
