import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { resolve } from '../../src/declare/resolve.ts'
import { app, entity, everyone, text } from '../../src/takeback.ts'
import { ADMIN, eventually, expectInvalid, onEveryStore, onEveryStoreByHand, TestServer } from '../harness.ts'
import { Mailbox, mailAfter, mailsIn, tokenIn } from '../mailbox.ts'

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({
      login: { userType: 'user', email: { read: 'false' } },
      fields: { name: text() },
      access: { create: everyone, read: 'id == me.id', update: 'id == me.id' },
    }),
  },
})
const FRESH = 'a longer and better password'
const GONE = {
  message: 'The link is wrong, has expired or was used already. Ask for a new one.',
  code: 'invalid_link',
}
const outbox = mkdtempSync(join(tmpdir(), 'takeback-outbox-'))
afterAll(() => rmSync(outbox, { recursive: true, force: true }))

onEveryStore(
  'a forgotten password',
  declaration,
  (server) => {
    const forgot = (email: unknown, more: object = {}) =>
      server.call('POST', '/api/auth/password/forgot', { body: { email, ...more }, token: null })
    const reset = (token: string, password = FRESH) =>
      server.call('POST', '/api/auth/password/reset', { body: { token, password }, token: null })
    const login = (email: string, password: string) =>
      server.call('POST', '/api/auth/login', { body: { email, password }, token: null })
    /** Asks for a link, and reads it from the mail. */
    const linkFor = async (email: string) => {
      const count = mailsIn(outbox).length
      expect((await forgot(email)).status).toBe(200)
      return tokenIn(await mailAfter(outbox, count))
    }

    test('is replaced by a mailed link, once; all sessions end', async () => {
      const { id, token } = await server.user('users', { email: 'ada@example.com', name: 'Ada' })
      const link = await linkFor('ADA@example.com')
      expect(link).toMatch(/^[\w-]{32}$/)
      const mail = mailsIn(outbox).at(-1) ?? ''
      expect(mail).toContain('To: ada@example.com')
      expect(mail).toContain(`${server.url}/account/reset?link=${link}`)
      expect(mail).toContain('multipart/alternative')
      // The link is readable in the file.
      const [latest = ''] = readdirSync(outbox).sort().reverse()
      expect(readFileSync(join(outbox, latest), 'utf8')).toContain(
        `\n${server.url}/account/reset?link=${link}\n`,
      )
      const [file = ''] = readdirSync(outbox)
      expect(statSync(join(outbox, file)).mode & 0o777).toBe(0o600)
      await eventually(() => server.logged.join('').includes('No mail server is set (TAKEBACK_SMTP)'))
      // Neither the log nor the database has the token.
      expect(server.logged.join('')).not.toContain(link)
      for (const table of ['takeback_links', 'takeback_tasks', 'takeback_attempts'])
        expect(JSON.stringify(await server.query(`SELECT * FROM ${table}`))).not.toContain(link)

      expectInvalid(await reset(link, 'short'), {
        password: ['must have at least 12 characters'],
      })
      const done = await reset(link)
      expect([done.status, done.body]).toEqual([
        200,
        { message: 'The password was changed. Log in with it.' },
      ])
      const [last] = await server.query(
        'SELECT operation, actor, actor_id, kind FROM takeback_journal ORDER BY seq DESC LIMIT 1',
      )
      expect(last).toEqual({
        operation: done.headers.get('Takeback-Operation'),
        actor: 'users',
        actor_id: id,
        kind: 'update',
      })
      const again = await reset(link)
      expect([again.status, again.body]).toEqual([422, GONE])
      expect((await server.call('GET', '/api/auth/me', { token })).status).toBe(401)
      expect((await login('ada@example.com', ADMIN.password)).status).toBe(422)
      expect((await login('ada@example.com', FRESH)).status).toBe(200)
    })

    test('has the same answer for everybody, and no mail for nobody', async () => {
      const count = mailsIn(outbox).length
      const tasks = () => server.query('SELECT count(*) AS n FROM takeback_tasks')
      const [known, unknown, odd] = [
        await forgot(ADMIN.email, { user_type: 'admin' }),
        await forgot('nobody@example.com'),
        await forgot('not an address', { user_type: 'admin' }),
      ]
      for (const one of [known, unknown, odd])
        expect([one.status, one.text]).toEqual([known.status, known.text])
      expect(tokenIn(await mailAfter(outbox, count))).not.toBe('')
      await eventually(async () => Number((await tasks())[0]?.n) === 0)
      expect(mailsIn(outbox).length).toBe(count + 1)
      expectInvalid(await forgot(7, { user_type: 'ghost', name: 1 }), {
        name: ['is not a field here'],
        email: ['must be a text'],
        user_type: ['must be one of admin, user'],
      })
      expectInvalid(await server.call('POST', '/api/auth/password/reset', { body: {}, token: null }), {
        token: ['is required'],
        password: ['is required'],
      })
    })

    test('takes the newest link only, as long as the account stays as it is', async () => {
      const grace = await server.user('users', { email: 'grace@example.com', name: 'Grace' })
      const first = await linkFor('grace@example.com')
      const second = await linkFor('grace@example.com')
      expect((await reset(first)).body).toEqual(GONE)
      const change = { password: ADMIN.password, new_password: `${FRESH} 2` }
      await server.expect(200, 'POST', '/api/auth/password', change, { token: grace.token })
      expect((await reset(second)).body).toEqual(GONE)
      const third = await linkFor('grace@example.com')
      await server.expect(200, 'PATCH', `/api/users/${grace.id}/`, { email: 'hopper@example.com' })
      expect((await reset(third)).body).toEqual(GONE)
      const fourth = await linkFor('hopper@example.com')
      const until = "SET until = '2001-01-01T00:00:00.000Z'"
      await server.query(`UPDATE takeback_links ${until} RETURNING 1 AS n`)
      expect((await reset(fourth)).body).toEqual(GONE)
      const fifth = await linkFor('hopper@example.com')
      await server.expect(200, 'DELETE', `/api/users/${grace.id}/`)
      expect((await reset(fifth)).body).toEqual(GONE)
    })

    test('is set once by one link, of fifty requests at the same time', async () => {
      await server.user('users', { email: 'race@example.com', name: 'Race' })
      const link = await linkFor('race@example.com')
      const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => reset(link, `${FRESH} ${at}`)))
      const won = answers.flatMap(({ status }, at) => (status === 200 ? [at] : []))
      expect(won.length).toBe(1)
      expect(answers.every(({ status }) => [200, 422, 429, 503].includes(status))).toBe(true)
      const [row] = await server.query(
        "SELECT count(*) AS n FROM takeback_journal WHERE kind = 'update' AND entity = 'users' AND actor = 'users' AND entity_id = (SELECT id FROM users WHERE email = 'race@example.com')",
      )
      expect(row?.n).toBe(1)
    })

    test('can be set on a page without scripts', async () => {
      await server.user('users', { email: 'page@example.com', name: 'Page' })
      const link = await linkFor('page@example.com')
      const page = await fetch(`${server.url}/account/reset?link=${link}&utm_source=mail`)
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
      expect([page.headers.get('referrer-policy'), page.headers.get('cache-control')]).toEqual([
        'no-referrer',
        'no-store',
      ])
      const html = await page.text()
      expect(html).toContain(`name="token" value="${link}"`)
      expect(html).not.toContain('<script')
      expect(html).toContain('At least 12 characters.')
      const submit = (password: string) =>
        fetch(`${server.url}/account/reset`, {
          method: 'POST',
          body: new URLSearchParams({ token: link, password }),
        })
      const weak = await submit('short')
      expect(weak.status).toBe(422)
      expect(await weak.text()).toContain('The password must have at least 12 characters')
      expect(await (await submit(FRESH)).text()).toContain('The password was changed.')
      expect(await (await submit(FRESH)).text()).toContain(GONE.message)
      expect((await login('page@example.com', FRESH)).status).toBe(200)
    })

    test('cannot be asked for again and again, by account and by address', async () => {
      const answers = []
      for (let at = 0; at < 6; at++) answers.push(await forgot('flood@example.com'))
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429])
      expect(answers.at(-1)?.body.code).toBe('too_many_attempts')
      expect(Number(answers.at(-1)?.headers.get('retry-after'))).toBeGreaterThan(0)
      // Logins of the account are counted apart.
      await server.user('users', { email: 'flood@example.com', name: 'Flood' })
      let last = 0
      for (let at = 0; at < 40 && last !== 429; at++) last = (await reset(`wrong${at}`)).status
      expect(last).toBe(429)
    })
  },
  { outbox },
)

onEveryStoreByHand('mail', (store) => {
  const box = new Mailbox()
  afterAll(() => box.stop())

  test('goes to an SMTP server, with texts and links of the app; what fails is sent again', async () => {
    const smtp = await box.start()
    const own = {
      ...declaration,
      mail: {
        links: { reset: '/welcome/{token}/' },
        reset: ({ user, link }: any) => ({
          subject: `Hello ${user.name}`,
          text: `own text ${user.type} ${link}`,
        }),
      },
    }
    const url = { url: 'https://api.example.com/', 'app-url': 'https://app.example.com/base/' }
    const server = new TestServer(store, own, { smtp, 'mail-from': 'App <app@example.com>', ...url })
    await server.start()
    try {
      await server.user('users', { email: 'ada@example.com', name: 'Ädä' })
      const forgot = { email: 'ada@example.com' }
      await box.stop()
      await server.expect(200, 'POST', '/api/auth/password/forgot', forgot, { token: null })
      await eventually(() => server.logged.join('').includes('of the queue \\"mail\\" failed'))
      await box.start()
      await eventually(() => box.mails.length === 1)
      const [mail] = box.mails
      expect(mail?.to).toEqual(['ada@example.com'])
      expect(mail?.text).toContain('From: App <app@example.com>')
      const [, token = ''] =
        /own text user https:\/\/app\.example\.com\/base\/welcome\/([\w-]+)\//.exec(mail?.text ?? '') ?? []
      await server.expect(
        200,
        'POST',
        '/api/auth/password/reset',
        { token, password: FRESH },
        { token: null },
      )
      await eventually(async () => (await server.rows('takeback_tasks')) === 0)
      // A mail to an address that does not exist is not retried.
      box.refusals.push(550)
      await server.expect(200, 'POST', '/api/auth/password/forgot', forgot, { token: null })
      await eventually(() => server.logged.join('').includes('was set aside after 1 attempts'))
      expect(box.mails.length).toBe(1)
    } finally {
      await server.remove()
    }
  })
})

test('settings and declarations that cannot work are refused', () => {
  const read = (flags: object) => () => readConfig(flags, {})
  expect(read({ smtp: 'http://mail' })).toThrow('--smtp must be an address such as smtp://user:')
  expect(read({ smtp: 'smtp://a:secret@mail?x=1' })).toThrow('not "smtp://a@mail?x=1"')
  expect(read({ smtp: 'smtp://mail' })).toThrow('--smtp needs --mail-from')
  expect(read({ smtp: 'smtp://mail', 'mail-from': 'a@b.c' })).toThrow('--smtp needs --url')
  expect(read({ url: 'example.com' })).toThrow('--url must be an address such as https://example.com')
  const { mail } = readConfig({ database: 'sqlite:/srv/data/app.db', 'app-url': 'https://a.b/c/' }, {})
  expect([mail.outbox, mail.appUrl]).toEqual(['/srv/data/outbox', 'https://a.b/c'])
  expect(readConfig({ database: 'postgres://a@b/c' }, {}).mail.outbox).toBe(
    join(process.cwd(), 'data/outbox'),
  )

  const declared = (mail: unknown) => () => resolve({ ...declaration, mail })
  expect(declared(7)).toThrow('mail: must be texts by name')
  expect(declared({ rest: () => {} })).toThrow('mail.rest: is not a mail; did you mean "reset"?')
  expect(declared({ reset: 'x' })).toThrow('mail.reset: must be a function')
  expect(declared({ links: { reset: 'reset' } })).toThrow(
    'mail.links.reset: must be a path with {token} in it',
  )
  expect(declared({ links: 7 })).toThrow('mail.links: must be paths')
})
