import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { app, entity, everyone, text } from '../../src/takeback.ts'
import { eventually, expectInvalid, onEveryStore, operationOf } from '../harness.ts'
import { mailAfter, mailsIn, tokenIn } from '../mailbox.ts'

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({
      login: { userType: 'user', passwordMin: 128 },
      fields: { name: text() },
      access: { create: everyone },
    }),
    staff: entity({
      login: { userType: 'staff' },
      fields: { name: text() },
      access: { read: everyone },
      before: { create: (body) => ({ ...body, name: `${body.name}!` }) },
    }),
    clients: entity({ login: { userType: 'client', verify: true }, fields: {} }),
    rooms: entity({ fields: { title: text() }, access: { create: everyone } }),
  },
})
const PASSWORD = 'seven quiet lanterns over the harbour, '.repeat(4)
const outbox = mkdtempSync(join(tmpdir(), 'takeback-outbox-'))
afterAll(() => rmSync(outbox, { recursive: true, force: true }))

onEveryStore(
  'invitations',
  declaration,
  (server) => {
    const invite = (path: string, body: unknown, sent = {}) =>
      server.call('POST', `/api/${path}/?invite=1`, { body, ...sent })

    test('mail a link that sets the password, once', async () => {
      const count = mailsIn(outbox).length
      const body = { email: 'ada@example.com', name: 'Ada' }
      const headers = { 'Idempotency-Key': 'invitation', 'Takeback-Reason': 'new' }
      const made = await invite('users', body, { headers })
      expect([made.status, made.body.email]).toEqual([201, 'ada@example.com'])
      const again = await invite('users', body, { headers })
      expect([again.status, again.text]).toEqual([201, made.text])
      const mail = await mailAfter(outbox, count)
      expect(mail).toContain(`${server.url}/account/invite?link=`)
      const token = tokenIn(mail)
      const page = await (await fetch(`${server.url}/account/invite?link=${token}`)).text()
      expect(page).toContain('<h1>Set your password</h1>')
      const reset = { token, password: PASSWORD }
      await server.expect(200, 'POST', '/api/auth/password/reset', reset, { token: null })
      const gone = await server.expect(422, 'POST', '/api/auth/password/reset', reset, { token: null })
      expect(gone.code).toBe('invalid_link')
      const login = { email: 'ada@example.com', password: PASSWORD }
      await server.expect(200, 'POST', '/api/auth/login', login, { token: null })
      await eventually(async () => (await server.rows('takeback_tasks')) === 0)
      expect(mailsIn(outbox).length).toBe(count + 1)
    })

    test('go through hooks, and end with what they created', async () => {
      const count = mailsIn(outbox).length
      const made = await invite('staff', { email: 'bob@example.com', name: 'Bob' })
      expect([made.status, made.body.name]).toEqual([201, 'Bob!'])
      const token = tokenIn(await mailAfter(outbox, count))
      await server.expect(200, 'POST', `/api/operations/${operationOf(made)}/undo/`)
      const reset = { token, password: PASSWORD }
      const gone = await server.expect(422, 'POST', '/api/auth/password/reset', reset, { token: null })
      expect(gone.code).toBe('invalid_link')
    })

    test('are listed until a password is set, also once they have expired, and can be sent again', async () => {
      const email = `carl@${server.store}.example.com`
      const path = '/api/auth/invitations/'
      const open = async () => (await server.expect(200, 'GET', path)).data
      const mails = () => mailsIn(outbox).filter((mail) => mail.includes(`To: ${email}\n`))
      const linkOf = async (count: number) => {
        await eventually(() => /<\/html>\s/.test(mails()[count] ?? ''))
        return tokenIn(mails()[count] ?? '')
      }
      const set = (token: string) =>
        server.call('POST', '/api/auth/password/reset', { body: { token, password: PASSWORD }, token: null })
      const { id } = (await invite('staff', { email, name: 'Carl' })).body
      const user = `staff/${id}`
      const first = await linkOf(0)
      const listed = { user, expires_at: expect.stringMatching(/Z$/), expired: false }
      expect(await open()).toEqual([listed])
      const past = '2020-01-01T00:00:00.000Z'
      await server.query('UPDATE takeback_links SET until = $1 WHERE purpose = $2', past, 'invite')
      expect((await set(first)).body.code).toBe('invalid_link')
      // A new link clears out those that have expired.
      const dora = `dora@${server.store}.example.com`
      await invite('users', { email: dora, name: 'Dora' })
      expect(await open()).toHaveLength(2)
      // Her time starts again with the mail.
      await eventually(() => mailsIn(outbox).some((mail) => mail.includes(`To: ${dora}\n`)))
      expect(await open()).toContainEqual({ user, expires_at: past, expired: true })
      // A page can be shorter, because deleted users are left out.
      const paged: unknown[] = []
      for (let cursor = ''; cursor !== null; ) {
        const page = await server.expect(200, 'GET', `${path}?limit=1${cursor}`)
        paged.push(...page.data)
        cursor = page.next && `&cursor=${page.next}`
      }
      expect(paged).toEqual(await open())
      expect((await server.call('POST', path, { body: { user } })).status).toBe(200)
      const second = await linkOf(1)
      expect((await open())[0]).toEqual(listed)
      expect((await set(second)).status).toBe(200)
      expect((await open()).map((one: { user: string }) => one.user)).not.toContain(user)
      expectInvalid(await server.call('POST', path, { body: { user } }), {
        user: ['has no open invitation'],
      })
      expectInvalid(await server.call('POST', path, { body: { user: 'rooms/1', x: 1 } }), {
        x: ['is not a field here'],
        user: ['"rooms" is not a login type'],
      })
      const { token } = (
        await server.call('POST', '/api/auth/login', { body: { email, password: PASSWORD }, token: null })
      ).body
      for (const [method, sent] of [
        ['GET', {}],
        ['POST', { body: { user } }],
      ] as const)
        expect((await server.call(method, path, { ...sent, token })).status).toBe(403)
    })

    const openOf = async (user: string) => {
      const { data } = await server.expect(200, 'GET', '/api/auth/invitations/?limit=200')
      return data.find((one: { user: string }) => one.user === user)
    }
    const mailsTo = (email: string) => mailsIn(outbox).filter((mail) => mail.includes(`To: ${email}\n`))
    /** Returns the nth mail to an address, which contains the link. */
    const linkTo = async (email: string, count = 0) => {
      await eventually(() => /<\/html>\s/.test(mailsTo(email)[count] ?? ''))
      return mailsTo(email)[count] ?? ''
    }
    const setBy = (mail: string) =>
      server.call('POST', '/api/auth/password/reset', {
        body: { token: tokenIn(mail), password: PASSWORD },
        token: null,
      })

    test('are listed at once, before their mail is made', async () => {
      for (const name of ['one', 'two', 'three']) {
        const { id } = (await invite('staff', { email: `${name}@${server.store}.example.com`, name })).body
        expect(await openOf(`staff/${id}`)).toMatchObject({ expired: false })
      }
    })

    test('follow an address that is corrected', async () => {
      for (const [type, byItself] of [
        ['staff', false],
        ['clients', true],
      ] as const) {
        const [wrong, right] = ['wrong', 'right'].map((word) => `${word}@${type}.${server.store}.example.com`)
        const body = { email: wrong, ...(type === 'staff' && { name: 'Dan' }) }
        const { id } = (await invite(type, body)).body
        const user = `${type}/${id}`
        const first = await linkTo(wrong ?? '')
        await server.expect(200, 'PATCH', `/api/${user}/`, { email: right })
        if (!byItself) {
          expect(await openOf(user)).toMatchObject({ expired: true })
          await server.expect(200, 'POST', '/api/auth/invitations/', { user })
        }
        const second = await linkTo(right ?? '')
        expect(second).toContain('/account/invite?link=')
        expect(await openOf(user)).toMatchObject({ expired: false })
        expect((await setBy(first)).body.code).toBe('invalid_link')
        expect((await setBy(second)).status).toBe(200)
        expect(await openOf(user)).toBeUndefined()
        const login = { email: right, password: PASSWORD }
        await server.expect(200, 'POST', '/api/auth/login', login, { token: null })
        expect(mailsTo(right ?? '')).toHaveLength(1)
      }
    })

    test('are not mailed any more once there is a password', async () => {
      const email = `late@${server.store}.example.com`
      const { id } = (await invite('staff', { email, name: 'Eli' })).body
      await linkTo(email)
      await server.expect(200, 'PATCH', `/api/staff/${id}/`, { password: PASSWORD })
      // A mail that could not be sent so far.
      await server.query(
        'INSERT INTO takeback_tasks (queue, payload, at, next_at, fence, attempts) SELECT $1, $2, $3, $3, 0, 0',
        'mail',
        JSON.stringify({ mail: 'invite', entity: 'staff', id }),
        new Date().toISOString(),
      )
      await eventually(async () => (await server.rows('takeback_tasks')) === 0)
      expect([mailsTo(email).length, await openOf(`staff/${id}`)]).toEqual([1, undefined])
    })

    test('can be shown before they are sent', async () => {
      const body = { email: `shown@${server.store}.example.com`, name: 'Fay' }
      const shown = await server.expect(200, 'POST', '/api/staff/?invite=1&dry_run=1', body)
      expect([shown.operation, shown.total]).toEqual([null, 1])
      expect(await server.query('SELECT id FROM staff WHERE email = $1', body.email)).toEqual([])
      const path = `/api/staff/?invite=1&plan=${shown.plan}`
      const { id } = await server.expect(201, 'POST', path, body)
      expect(await openOf(`staff/${id}`)).toMatchObject({ expired: false })
      expect((await setBy(await linkTo(body.email))).status).toBe(200)
      expect(mailsTo(body.email)).toHaveLength(1)
    })

    test('are mailed once a server runs that is newer than the one that was asked', async () => {
      const email = `older@${server.store}.example.com`
      const made = await server.call('POST', '/api/staff/', {
        body: { email, name: 'Gil', password: PASSWORD },
      })
      // An earlier version enqueued tasks like this: it made the link together with the mail.
      await server.query(
        'INSERT INTO takeback_tasks (queue, key, payload, at, next_at, fence, attempts) SELECT $1, $2, $3, $4, $4, 0, 0',
        'mail',
        operationOf(made),
        JSON.stringify({ mail: 'invite', entity: 'staff', operation: operationOf(made) }),
        new Date().toISOString(),
      )
      await eventually(async () => (await server.rows('takeback_tasks')) === 0)
      expect(mailsTo(email)).toHaveLength(1)
      expect((await setBy(await linkTo(email))).status).toBe(200)
    })

    test('flood nobody, however often the address is changed', async () => {
      const path = `/api/clients/${(await invite('clients', { email: 'restless@example.com' })).body.id}/`
      const late = async () => (await server.query('SELECT error FROM takeback_tasks'))[0]?.error ?? null
      let sent = 0
      for (; sent < 30 && (await late()) === null; sent++) {
        const email = `restless${sent}@${server.store}.example.com`
        await server.expect(200, 'PATCH', path, { email })
        await eventually(async () => mailsTo(email).length > 0 || (await late()) !== null)
      }
      expect(String(await late())).toContain('Too many')
      expect(sent).toBeLessThan(30)
      await server.query('DELETE FROM takeback_tasks')
    })

    test('are refused where they make no sense, and nothing is written', async () => {
      const rows = async () => [await server.rows('takeback_journal'), await server.rows('takeback_tasks')]
      await eventually(async () => (await server.rows('takeback_tasks')) === 0)
      const before = await rows()
      const [{ id: ada } = {}] = await server.query("SELECT id FROM users WHERE email = 'ada@example.com'")
      const eve = { email: 'eve@example.com', name: 'Eve' }
      expect((await invite('users', eve, { token: null })).status).toBe(401)
      expect((await invite('staff', eve, { token: null })).status).toBe(401)
      expectInvalid(await invite('rooms', { title: 'Sea' }), { invite: ['is only for types that log in'] })
      expectInvalid(
        await server.call('POST', '/api/users/?invite=0&x=1', { body: { ...eve, password: 'x' } }),
        {
          x: ['is not a parameter here'],
          invite: ['must be 1'],
          password: ['must be left out: the invited user sets it'],
        },
      )
      expectInvalid(await invite('users', [eve]), { '': ['must be one user: a list cannot be invited'] })
      expectInvalid(await invite('users', { email: 'ada@example.com', name: 'Ada' }), {
        email: [`is taken by users/${ada}`],
      })
      expect(await rows()).toEqual(before)
    })
  },
  { outbox },
)
