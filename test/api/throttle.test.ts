import { expect, test } from 'bun:test'
import { loginAccount, Throttle } from '../../src/account/throttle.ts'
import { budget } from '../../src/budget.ts'
import { entity, everyone, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { eventually, onEveryStore } from '../harness.ts'

const PASSWORD = 'a long enough password'

/** With `user_type`, only that type is tried, and only one hash is made. */
const ONE_HASH = { user_type: 'user' }

const throttled = withAdmins({
  users: entity({
    login: { userType: 'user' },
    fields: { name: text({ optional: true }) },
    access: { create: everyone },
  }),
})

onEveryStore(
  'the throttle',
  throttled,
  (server) => {
    const from = (address: string, email: string, password = 'a wrong password', extra = {}) =>
      server.call('POST', '/api/auth/login', {
        body: { email, password, ...extra },
        token: null,
        headers: { 'X-Forwarded-For': address },
      })

    test('five failures of one e-mail from one address, then 429, for the right password too', async () => {
      await server.member('users', { email: 'v@example.com', password: PASSWORD })
      const spellings = ['v@example.com', 'V@Example.com', 'ｖ@example.com', 'v@EXAMPLE.COM', 'V@EXAMPLE.COM']
      for (const [at, email] of spellings.entries())
        expect([
          at,
          (await from('192.0.2.1', email, 'nope nope nope', at === 2 ? { user_type: 'user' } : {})).status,
        ]).toEqual([at, 422])
      const { status, headers, body } = await from('192.0.2.1', 'v@example.com', PASSWORD)
      expect([status, body.code]).toEqual([429, 'too_many_attempts'])
      expect(Number(headers.get('Retry-After'))).toBeWithin(1, 61)
      expect(
        (
          await server.call('POST', '/api/login/', {
            body: { username: 'v@example.com', password: PASSWORD },
            token: null,
            headers: { 'X-Forwarded-For': '192.0.2.1' },
          })
        ).status,
      ).toBe(429)
      expect((await from('192.0.2.2', 'v@example.com', PASSWORD)).status).toBe(200)
    })

    test('a restart does not reset it', async () => {
      await server.stop()
      await server.start()
      expect((await from('192.0.2.1', 'v@example.com', PASSWORD)).status).toBe(429)
    })

    test('many at once do not slip through', async () => {
      await server.member('users', { email: 'w@example.com' })
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => from('192.0.2.3', 'w@example.com', 'a wrong password', ONE_HASH)),
      )
      expect(answers.filter(({ status }) => status === 422)).toHaveLength(5)
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(15)
    })

    test('thirty failures from one address', async () => {
      for (let at = 0; at < 30; at++) {
        await server.member('users', { email: `n${at}@example.com` })
        const guess = await from('2001:db8::1', `n${at}@example.com`, 'a wrong password', ONE_HASH)
        expect(guess.status).toBe(422)
      }
      expect((await from('2001:db8::2', 'fresh@example.com')).status).toBe(429)
      expect((await from('2001:db8:1::1', 'fresh@example.com')).status).toBe(422)
    })

    test('a forged X-Forwarded-For behind the proxy changes nothing', async () => {
      for (let at = 0; at < 5; at++) await from(`10.9.8.${at}, 192.0.2.4`, 'forged@example.com')
      expect((await from('10.9.8.77, 192.0.2.4', 'forged@example.com')).status).toBe(429)
    })

    test('many right ones at once are all let in', async () => {
      const answers = await Promise.all(
        Array.from({ length: 12 }, () => from('192.0.2.5', 'v@example.com', PASSWORD)),
      )
      expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200))
    })
  },
  { 'trusted-proxies': '127.0.0.1' },
)

onEveryStore('the throttle without a proxy', throttled, (server) => {
  test('believes no X-Forwarded-For at all', async () => {
    const answers: number[] = []
    for (let at = 0; at < 6; at++)
      answers.push(
        (
          await server.call('POST', '/api/auth/login', {
            body: { email: 'x@example.com', password: 'wrong wrong' },
            token: null,
            headers: { 'X-Forwarded-For': `192.0.2.${at}` },
          })
        ).status,
      )
    expect(answers).toEqual([422, 422, 422, 422, 422, 429])
  })
})

onEveryStore(
  'wrong guesses from elsewhere',
  throttled,
  (server) => {
    const from = (address: string, email: string, password = 'a wrong password', headers = {}) =>
      server.call('POST', '/api/auth/login', {
        body: { email, password, ...ONE_HASH },
        token: null,
        headers: { 'X-Forwarded-For': address, ...headers },
      })
    const accountOf = (email: string) => {
      const type = server.context.model.entities.get('users')
      if (type === undefined) throw new Error('no users')
      return loginAccount(type, email)
    }
    const join = (email: string) => server.member('users', { email, password: PASSWORD })
    let addresses = 0
    const fresh = () => {
      addresses++
      return `198.51.${Math.floor(addresses / 250)}.${(addresses % 250) + 1}`
    }
    /** Adds failures, each from its own address: a real one, and copies of it, which take no time. */
    const attack = async (email: string, failures: number) => {
      expect((await from(fresh(), email)).status).toBe(422)
      const columns = 'at, account, outcome, place, elsewhere'
      const [{ id } = {}] = await server.query(
        "SELECT id FROM takeback_attempts WHERE outcome = 'failed' ORDER BY id DESC LIMIT 1",
      )
      for (let at = 1; at < failures; at++)
        await server.query(
          `INSERT INTO takeback_attempts (id, address, ${columns}) SELECT $1, $2, ${columns} FROM takeback_attempts WHERE id = $3`,
          Bun.randomUUIDv7(),
          fresh(),
          String(id),
        )
    }
    /** Moves everything so far into the past. */
    const age = async (ms: number) => {
      for (const [table, column, key] of [
        ['takeback_attempts', 'at', 'id'],
        ['takeback_waits', 'until', 'address'],
      ])
        for (const row of await server.query(`SELECT "${key}" AS k, "${column}" AS t FROM "${table}"`))
          await server.query(
            `UPDATE "${table}" SET "${column}" = $1 WHERE "${key}" = $2`,
            new Date(new Date(String(row.t)).getTime() - ms).toISOString(),
            String(row.k),
          )
    }

    test('never keep the owner from an address or a device where they have signed in', async () => {
      await join('owner@example.com')
      const first = await from('192.0.2.10', 'owner@example.com', PASSWORD)
      const device = first.headers.get('Takeback-Device') ?? ''
      expect([first.status, device.length]).toEqual([200, 22])
      await attack('owner@example.com', 100)
      const refused = await from(fresh(), 'owner@example.com', PASSWORD)
      expect([refused.status, refused.body.code]).toEqual([429, 'too_many_attempts'])
      expect(Number(refused.headers.get('Retry-After'))).toBeWithin(1, 901)
      expect((await from('192.0.2.10', 'owner@example.com', PASSWORD)).status).toBe(200)
      const elsewhere = await from(fresh(), 'owner@example.com', PASSWORD, { 'Takeback-Device': device })
      expect([elsewhere.status, elsewhere.headers.get('Takeback-Device')]).toEqual([200, device])
      const made = await from(fresh(), 'owner@example.com', PASSWORD, { 'Takeback-Device': `${device}x` })
      expect([made.status, made.headers.get('Takeback-Device')]).toEqual([429, null])
    })

    test('cost no wait before there were ten', async () => {
      await join('few@example.com')
      await attack('few@example.com', 9)
      expect((await from(fresh(), 'few@example.com', PASSWORD)).status).toBe(200)
    })

    test('a device counts by itself: not even guesses from its own address reach it', async () => {
      await join('device@example.com')
      const { headers } = await from('192.0.2.20', 'device@example.com', PASSWORD)
      const device = { 'Takeback-Device': headers.get('Takeback-Device') ?? '' }
      await attack('device@example.com', 30)
      await server.query("UPDATE takeback_attempts SET address = '192.0.2.20' WHERE outcome = 'failed'")
      expect((await from('192.0.2.20', 'device@example.com', PASSWORD)).status).toBe(429)
      expect((await from('192.0.2.20', 'device@example.com', PASSWORD, device)).status).toBe(200)
      for (let at = 0; at < 5; at++)
        expect((await from(fresh(), 'device@example.com', 'a wrong password', device)).status).toBe(422)
      expect((await from(fresh(), 'device@example.com', PASSWORD, device)).status).toBe(429)
    })

    test('a device is no password, and stands for one account alone', async () => {
      await join('mine@example.com')
      await join('yours@example.com')
      const { headers } = await from('192.0.2.30', 'mine@example.com', PASSWORD)
      const device = { 'Takeback-Device': headers.get('Takeback-Device') ?? '' }
      await attack('yours@example.com', 20)
      expect((await from(fresh(), 'yours@example.com', PASSWORD, device)).status).toBe(429)
      expect((await from(fresh(), 'mine@example.com', 'a wrong password', device)).status).toBe(422)
      const [kept] = await server.query(
        'SELECT count(*) AS n FROM takeback_known_places WHERE place = $1',
        device['Takeback-Device'],
      )
      expect(Number(kept?.n)).toBe(0)
    })

    test('the wait grows to a quarter of an hour and ends then, for the right password from anywhere', async () => {
      await join('wait@example.com')
      await attack('wait@example.com', 16)
      const waits: number[] = []
      for (let round = 0; round < 6; round++) {
        const refused = await from(fresh(), 'wait@example.com', PASSWORD)
        expect(refused.status).toBe(429)
        const seconds = Number(refused.headers.get('Retry-After'))
        waits.push(seconds)
        await age(seconds * 1000)
        expect((await from(fresh(), 'wait@example.com')).status).toBe(422)
      }
      for (const [at, most] of [64, 128, 256, 512, 900, 900].entries())
        expect(waits[at]).toBeWithin(most / 2, most + 1)
      await age(900_000)
      expect((await from(fresh(), 'wait@example.com', PASSWORD)).status).toBe(200)
    })

    test('whoever was told a time is let in then, whatever others try meanwhile, and once', async () => {
      await join('told@example.com')
      await attack('told@example.com', 30)
      const here = fresh()
      const told = async () => {
        const { status, headers } = await from(here, 'told@example.com', PASSWORD)
        expect(status).toBe(429)
        await age(Number(headers.get('Retry-After')) * 1000)
        // Somebody else comes first, fails, and the wait starts again.
        expect((await from(fresh(), 'told@example.com')).status).toBe(422)
        expect((await from(fresh(), 'told@example.com', PASSWORD)).status).toBe(429)
      }
      await told()
      const answers = await Promise.all([1, 2, 3, 4].map(() => from(here, 'told@example.com')))
      expect(answers.map(({ status }) => status).sort()).toEqual([422, 429, 429, 429])
      await told()
      expect((await from(here, 'told@example.com', PASSWORD)).status).toBe(200)
    })

    test('tell nothing of whether the account is there', async () => {
      await join('there@example.com')
      const script = async (email: string) => {
        const here = fresh()
        await attack(email, 8)
        const answers = [await from(fresh(), email)]
        await attack(email, 20)
        answers.push(await from(here, email), await from(fresh(), email))
        await age(Number(answers.at(-1)?.headers.get('Retry-After')) * 1000)
        answers.push(await from(here, email), await from(fresh(), email))
        return answers.map(({ status, text, headers }) => [
          status,
          text,
          [...headers.keys()].filter((name) => name !== 'date').sort(),
        ])
      }
      const [there, nobody] = [await script('there@example.com'), await script('not-there@example.com')]
      expect(there).toEqual(nobody)
      expect(there.map(([status]) => status)).toEqual([422, 429, 429, 422, 429])
    })

    test('many at once do not slip through', async () => {
      await attack('burst@example.com', 8)
      const started = Date.now()
      const answers = await Promise.all(Array.from({ length: 20 }, () => from(fresh(), 'burst@example.com')))
      const elapsed = (Date.now() - started) / 1000
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([422, 429]))
      // Two more make ten; then one second must pass, then two, then four.
      const tried = answers.filter(({ status }) => status === 422).length
      expect(tried).toBeLessThanOrEqual(2 + Math.floor(Math.log2(elapsed + 1)))
    })

    test('that are kept under way without end keep nobody out', async () => {
      await join('held@example.com')
      const { throttle, store } = server.context
      const client = { account: accountOf('held@example.com'), address: '198.18.0.1', device: null }
      const { promise: held, resolve: release } = Promise.withResolvers<undefined>()
      const holders = Array.from({ length: 10 }, (_, at) =>
        throttle.attempt({ ...client, address: `198.18.1.${at}` }, () => held),
      )
      await eventually(async () => {
        const rows = await server.query("SELECT id FROM takeback_attempts WHERE outcome = 'pending'")
        return rows.length === holders.length
      })
      const impatient = new Throttle(store, server.context.serviceTime, 50)
      const attempt = () => impatient.attempt(client, async () => 'in')
      await expect(attempt()).rejects.toMatchObject({
        code: 'too_many_attempts',
        headers: { 'Retry-After': '1' },
      })
      await age(1000)
      expect(await attempt()).toMatchObject({ found: 'in' })
      release(undefined)
      await Promise.all(holders)
    })

    test('are forgotten by unlock', async () => {
      await join('unlocked@example.com')
      await attack('unlocked@example.com', 20)
      expect((await from(fresh(), 'unlocked@example.com', PASSWORD)).status).toBe(429)
      await server.context.throttle.unlock(accountOf('unlocked@example.com'))
      expect((await from(fresh(), 'unlocked@example.com', PASSWORD)).status).toBe(200)
    })

    test('do not keep whoever is signed in from changing the password', async () => {
      const { token } = await server.user('users', { email: 'changes@example.com', password: PASSWORD })
      await attack('changes@example.com', 20)
      const change = (password: string) =>
        server.call('POST', '/api/auth/password', {
          token,
          body: { password, new_password: 'another long password' },
          headers: { 'X-Forwarded-For': fresh() },
        })
      for (let at = 0; at < 5; at++) expect((await change('a wrong password')).status).toBe(422)
      // A stolen token cannot be used to guess the password, from any number of addresses.
      expect((await change(PASSWORD)).status).toBe(429)
      await age(60_000)
      expect((await change(PASSWORD)).status).toBe(200)
    })

    test('only so many places are known, and not for ever', async () => {
      await join('moves@example.com')
      for (let at = 0; at < 12; at++) await from(`203.0.113.${at}`, 'moves@example.com', PASSWORD)
      const places = () => server.query('SELECT account, place FROM takeback_known_places')
      const counts = Object.values(Object.groupBy(await places(), ({ account }) => String(account)))
      expect(Math.max(...counts.map((one) => one?.length ?? 0))).toBe(budget.knownPlaces)
      const old = new Date(Date.now() - (budget.knownPlaceDays + 1) * 86_400_000).toISOString()
      await server.query('UPDATE takeback_known_places SET at = $1', old)
      await attack('moves@example.com', 20)
      expect((await from('203.0.113.11', 'moves@example.com', PASSWORD)).status).toBe(429)
      await from(fresh(), 'wait@example.com', PASSWORD)
      expect((await places()).length).toBeLessThanOrEqual(2)
    })
  },
  { 'trusted-proxies': '127.0.0.1' },
)
