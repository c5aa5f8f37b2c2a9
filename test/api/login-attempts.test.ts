import { expect, test } from 'bun:test'
import { hashesMade, hashesWaiting, hashSecret, verifyInLane } from '../../src/account/passwords.ts'
import { loginAccount } from '../../src/account/throttle.ts'
import { budget } from '../../src/budget.ts'
import { users, withAdmins } from '../declarations.ts'
import { ADMIN, eventually, onEveryStore } from '../harness.ts'
import { withStrongHashes } from '../hashes.ts'

withStrongHashes()

const PASSWORD = 'a long enough password'

test('a hash has the parameters that OWASP recommends', async () => {
  expect(await hashSecret(PASSWORD, 'other')).toStartWith('$argon2id$v=19$m=19456,t=2,p=1$')
})

onEveryStore('an attempt', withAdmins({ users }), (server) => {
  const login = (email: string, password = 'a wrong password', signal?: AbortSignal) =>
    fetch(`${server.url}/api/auth/login`, {
      method: 'POST',
      body: JSON.stringify({ email, password }),
      headers: { Accept: '*/*', 'Content-Type': 'application/json' },
      ...(signal !== undefined && { signal }),
    })
  const attempts = async () => {
    const rows = await server.query('SELECT outcome FROM takeback_attempts')
    // A login that tries two types counts once for its address.
    return rows.map(({ outcome }) => outcome).filter((outcome) => outcome !== 'ok' && outcome !== 'beside')
  }

  test('costs as many hashes for nobody as for somebody', async () => {
    await server.expect(201, 'POST', '/api/users/', { email: 'some@example.com', password: PASSWORD })
    const gone = await server.expect(201, 'POST', '/api/users/', {
      email: 'gone@example.com',
      password: PASSWORD,
    })
    await server.expect(200, 'DELETE', `/api/users/${gone.id}/`)
    for (const email of ['some@example.com', 'nobody@example.com', 'gone@example.com']) {
      const before = hashesMade()
      expect((await login(email)).status).toBe(422)
      expect([email, hashesMade() - before]).toEqual([email, 2])
    }
    const { throttle, model } = server.context
    for (const type of model.logins) await throttle.unlock(loginAccount(type, 'some@example.com'))
  })

  test('that ends in an error of ours counts as failed', async () => {
    await server.expect(201, 'POST', '/api/users/', { email: 'broken@example.com', password: PASSWORD })
    await server.query("UPDATE users SET password = 'no hash at all' WHERE email = 'broken@example.com'")
    const statuses: number[] = []
    for (let at = 0; at < 8; at++) statuses.push((await login('broken@example.com')).status)
    expect(statuses).toEqual([500, 500, 500, 500, 500, 429, 429, 429])
  })

  test('that the client gives up counts once its password is looked at, and leaves no trace before', async () => {
    const failed = (await attempts()).length
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const holders = Array.from({ length: budget.hashesAtOnce }, () => verifyInLane(undefined, () => held))
    const gone = new AbortController()
    const waits = login('leaves@example.com', 'a wrong password', gone.signal).catch(() => 'gone')
    await eventually(() => hashesWaiting('login') === 1)
    gone.abort()
    expect(await waits).toBe('gone')
    await eventually(() => hashesWaiting('login') === 0)
    const before = hashesMade()
    release()
    await Promise.all(holders)
    await eventually(async () => (await attempts()).length === failed)
    expect(hashesMade()).toBe(before)

    const late = new AbortController()
    const looked = login('leaves@example.com', 'a wrong password', late.signal).catch(() => 'gone')
    await eventually(() => hashesMade() > before)
    late.abort()
    await looked
    await eventually(async () => (await attempts()).filter((one) => one === 'failed').length === failed + 1)
  })

  test('is 503 where too many wait, and does not count', async () => {
    const failed = (await attempts()).length
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const holders = Array.from({ length: budget.hashesAtOnce + budget.hashesWaiting }, () =>
      verifyInLane(undefined, () => held),
    )
    const { status, headers } = await login('full@example.com')
    expect([status, headers.get('Retry-After')]).toEqual([503, '5'])
    release()
    await Promise.all(holders)
    expect((await attempts()).length).toBe(failed)
  })

  test('is answered after a few hashes, however many sign-ups wait', async () => {
    const number = budget.hashesAtOnce + budget.hashesWaiting
    const gone = new AbortController()
    const signUps = Array.from({ length: number }, (_, at) =>
      hashSecret(`secret ${at}`, 'other', gone.signal),
    )
    expect(hashesWaiting('other')).toBe(budget.hashesWaiting)
    const full = await server.call('POST', '/api/users/', {
      body: { email: 'late@example.com', password: PASSWORD },
      token: null,
    })
    expect([full.status, full.headers.get('Retry-After')]).toEqual([503, '5'])
    const before = hashesMade()
    expect((await login(ADMIN.email, ADMIN.password)).status).toBe(200)
    expect(hashesMade() - before).toBeLessThan(10)
    expect(hashesWaiting('other')).toBeGreaterThan(budget.hashesWaiting / 2)
    gone.abort()
    await Promise.allSettled(signUps)
  })

  test('a sign-up whose client has gone is not hashed for, and not written', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const holders = Array.from({ length: budget.hashesAtOnce }, () => verifyInLane(undefined, () => held))
    const rows = await server.rows('users')
    const gone = new AbortController()
    const sent = [{ email: 'gone-1@example.com' }, [{ email: 'gone-2@example.com' }]].map((body) =>
      fetch(`${server.url}/api/users/`, {
        method: 'POST',
        body: JSON.stringify(
          Array.isArray(body) ? [{ ...body[0], password: PASSWORD }] : { ...body, password: PASSWORD },
        ),
        headers: { Accept: '*/*', 'Content-Type': 'application/json' },
        signal: gone.signal,
      }).catch(() => 'gone'),
    )
    await eventually(() => hashesWaiting('other') === 2)
    const before = hashesMade()
    gone.abort()
    expect(await Promise.all(sent)).toEqual(['gone', 'gone'])
    await eventually(() => hashesWaiting('other') === 0)
    release()
    await Promise.all(holders)
    expect([hashesMade() - before, await server.rows('users')]).toEqual([0, rows])
  })

  test('stands in the log by its outcome and a digest of the account, never the e-mail', async () => {
    // Log lines come a moment later: waits for those of earlier tests.
    await server.call('GET', '/api/nothing/more')
    await eventually(() => server.logged.join('').includes('/api/nothing/more'))
    server.logged.length = 0
    await login(ADMIN.email, ADMIN.password)
    await login(ADMIN.email.toUpperCase())
    for (let at = 0; at < 6; at++) await login('seen@example.com')
    await eventually(() => server.logged.join('').split('"login"').length > 8)
    const text = server.logged.join('')
    const lines = text.split('\n').filter((line) => line.includes('"login"'))
    const said = lines.map((line) => JSON.parse(line) as { login: string; account: string })
    expect(said.map((one) => one.login)).toEqual(['ok', ...Array(6).fill('failed'), 'throttled'])
    expect(said[0]?.account).toBe(said[1]?.account ?? '')
    expect(new Set(said.map(({ account }) => account)).size).toBe(2)
    expect(text.toLowerCase()).not.toContain('@example.com')
    expect(text).not.toContain('a wrong password')
  })
})
