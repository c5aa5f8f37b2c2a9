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
