import { afterAll, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { app, entity, everyone, text } from '../../src/takeback.ts'
import { ADMIN, eventually, expectInvalid, onEveryStore, operationOf } from '../harness.ts'
import { mailsIn, tokenIn } from '../mailbox.ts'
import { anHourLater } from '../old-session.ts'

const common = {
  fields: { name: text({ optional: true }) },
  access: { create: everyone, read: 'id == me.id', update: 'id == me.id' },
} as const
const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ ...common, login: { userType: 'user' } }),
    proved: entity({ ...common, login: { userType: 'proved', verify: true } }),
    staff: entity({
      ...common,
      login: { userType: 'staff', email: { write: 'false' } },
      access: { ...common.access, create: 'false' },
    }),
    shared: entity({
      ...common,
      login: { userType: 'shared' },
      unique: [['name']],
      access: { create: everyone, read: everyone, update: everyone, history: everyone },
    }),
    hooked: entity({
      ...common,
      login: { userType: 'hooked' },
      before: { update: (body) => ({ ...body, name: 'from the hook' }) },
    }),
  },
})
const PASSWORD = ADMIN.password
const FRESH = 'a longer and better password'
const outbox = mkdtempSync(join(tmpdir(), 'takeback-outbox-'))
afterAll(() => rmSync(outbox, { recursive: true, force: true }))

onEveryStore(
  'a change of the e-mail address',
  declaration,
  (server) => {
    const post = (path: string, body: unknown, token: string | null = null) =>
      server.call('POST', path, { body, token })
    const login = (email: string, password = PASSWORD) => post('/api/auth/login', { email, password })
    const ask = (token: string, email: string, password = PASSWORD) =>
      post('/api/auth/email', { email, password }, token)
    const confirm = (token: string) => post('/api/auth/email/confirm', { token })
    const revert = (token: string) => post('/api/auth/email/revert', { token })
    /** Returns the mails of this server to an address that link to this page, oldest first. */
    const mailsTo = (email: string, page = '') =>
      mailsIn(outbox).filter(
        (mail) => mail.includes(`To: ${email}\n`) && mail.includes(`${server.url}/account/${page}`),
      )
    const linkTo = async (email: string, page: string, count = 0) => {
      await eventually(() => /<\/html>\s/.test(mailsTo(email, page)[count] ?? ''))
      return tokenIn(mailsTo(email, page)[count] ?? '')
    }
    /** Changes the address of a user. Returns the token that was mailed to the old address. */
    const change = async (token: string, from: string, to: string, password = PASSWORD) => {
      expect((await ask(token, to, password)).status).toBe(200)
      expect((await confirm(await linkTo(to, 'email'))).status).toBe(200)
      return linkTo(from, 'revert')
    }
    /** Forgets attempts: all requests come from one address, and must not slow each other down. */
    const calm = () => server.query('DELETE FROM takeback_attempts RETURNING 1 AS n')
    beforeEach(calm)
    const idle = () => eventually(async () => (await server.rows('takeback_tasks')) === 0)

    test('happens when the new address follows its link, once; the old one is told', async () => {
      const ada = await server.user('users', { email: 'ada@example.com' })
      const asked = await ask(ada.token, 'lovelace@example.com')
      expect([asked.status, asked.body.message]).toEqual([
        200,
        'A mail with a link is on its way to the new address. Nothing changes until you follow it.',
      ])
      const link = await linkTo('lovelace@example.com', 'email')
      expect((await login('ada@example.com')).status).toBe(200)
      const answers = await Promise.all(Array.from({ length: 50 }, () => confirm(link)))
      expect(answers.filter(({ status }) => status === 200).length).toBe(1)
      expect(answers.every(({ status }) => [200, 422, 429, 503].includes(status))).toBe(true)
      const [done] = answers.filter(({ status }) => status === 200)
      const [last] = await server.query(
        'SELECT operation, actor, actor_id FROM takeback_journal ORDER BY seq DESC LIMIT 1',
      )
      expect(last).toEqual({
        operation: done?.headers.get('Takeback-Operation'),
        actor: 'users',
        actor_id: ada.id,
      })
      expect((await login('ada@example.com')).status).toBe(422)
      expect((await login('lovelace@example.com')).status).toBe(200)
      expect((await server.call('GET', '/api/auth/me', { token: ada.token })).status).toBe(200)
      const taking = await linkTo('ada@example.com', 'revert')
      await idle()
      expect(mailsTo('ada@example.com').length).toBe(1)
      for (const secret of [link, taking]) {
        expect(server.logged.join('')).not.toContain(secret)
        expect(JSON.stringify(await server.query('SELECT * FROM takeback_links'))).not.toContain(secret)
      }
      // A purge erases the addresses, too.
      await server.expect(200, 'DELETE', `/api/users/${ada.id}/`)
      await server.expect(204, 'DELETE', `/api/users/${ada.id}/?purge=1`)
      await eventually(
        async () => !JSON.stringify(await server.query('SELECT * FROM takeback_links')).includes('ada@'),
      )
    })

    test('needs the password, a valid address and the rules; a newer link and any change end it', async () => {
      const bob = await server.user('users', { email: 'bob@example.com' })
      expectInvalid(await ask(bob.token, 'bobby@example.com', 'not the right one'), {
        password: ['is wrong'],
      })
      expectInvalid(await ask(bob.token, 'nonsense'), { email: ['must be an e-mail address'] })
      expectInvalid(await post('/api/auth/email', { email: 7, x: 1 }, bob.token), {
        x: ['is not a field here'],
        email: ['must be a text'],
        password: ['is required'],
      })
      expect((await post('/api/auth/email', { email: 'x@example.com', password: PASSWORD })).status).toBe(401)
      const staff = await server.user('staff', { email: 'staff@example.com' })
      expectInvalid(await ask(staff.token, 'other@example.com'), { email: ['is not yours to set'] })
      await ask(bob.token, 'bob1@example.com')
      const first = await linkTo('bob1@example.com', 'email')
      await ask(bob.token, 'bob2@example.com')
      const second = await linkTo('bob2@example.com', 'email')
      expect((await confirm(first)).body.code).toBe('invalid_link')
      const change = { password: PASSWORD, new_password: FRESH }
      const { token } = await server.expect(200, 'POST', '/api/auth/password', change, { token: bob.token })
      expect((await confirm(second)).body.code).toBe('invalid_link')
      // A change of anything else does not end the link.
      await ask(token, 'bob3@example.com', FRESH)
      const third = await linkTo('bob3@example.com', 'email')
      await server.expect(200, 'PATCH', `/api/users/${bob.id}/`, { name: 'Bob' })
      expect((await confirm(third)).status).toBe(200)
      // Code before updates also runs here.
      const hooked = await server.user('hooked', { email: 'hook@example.com' })
      await ask(hooked.token, 'hook2@example.com')
      await confirm(await linkTo('hook2@example.com', 'email'))
      expect((await login('hook2@example.com')).body.user.name).toBe('from the hook')
    })

    const nameOf = (path: string) => `Eve of ${path}`
    test.each<[string, (path: string, email: string) => [method: string, path: string, body: unknown]]>([
      ['a PATCH', (path, email) => ['PATCH', path, { email }]],
      ['a PUT', (path, email) => ['PUT', path, { email, name: nameOf(path) }]],
      ['a batch', (path, email) => ['POST', '/api/batch/', [{ method: 'PATCH', path, body: { email } }]]],
      ['an upsert', (path, email) => ['PUT', '/api/shared/?match=name', { email, name: nameOf(path) }]],
      [
        'a PATCH of many',
        (path, email) => ['PATCH', `/api/shared/?filter=name=="${nameOf(path)}"`, { email }],
      ],
    ])('needs a recent login if it is made by %s', async (way, made) => {
      const as = (word: string) => `${word}.${way.replaceAll(' ', '.')}@example.com`
      const eve = await server.user('shared', { email: as('eve') })
      const path = `/api/shared/${eve.id}/`
      const before = await server.expect(200, 'PATCH', path, { name: nameOf(path) })
      const old = await anHourLater(server, eve.token)
      const write = async (email: string, token: string) => {
        const [method, to, body] = made(path, email)
        const { status, text } = await server.call(method, to, { body, token })
        return text.includes('recent_login_required') ? 'too old' : status
      }
      expect(await write(as('thief'), old)).toBe('too old')
      expect(await server.expect(200, 'GET', path)).toEqual(before)
      // The same address is not refused, nor is anything else.
      expect(await write(as('EVE'), old)).toBe(200)
      await server.expect(200, 'PATCH', path, { name: nameOf(path) }, { token: old })
      expect(await write(as('new'), eve.token)).toBe(200)
      expect((await login(as('new'))).status).toBe(200)
    })

    test.each<[string, number, (path: string, operation: string) => [path: string, body: object]]>([
      ['an undo', 409, (_, operation) => [`/api/operations/${operation}/undo/`, {}]],
      ['an undo of many', 409, (_, operation) => ['/api/operations/undo/', { operations: [operation] }]],
      ['a revert', 403, (path) => [`${path}revert/`, { version: 1 }]],
    ])('needs a recent login if %s gives the account a former address', async (way, status, made) => {
      const as = (word: string) => `${word}.${way.replaceAll(' ', '.')}@example.com`
      const eve = await server.user('shared', { email: as('former') })
      const path = `/api/shared/${eve.id}/`
      const changed = await server.call('PATCH', path, { body: { email: as('eve') }, token: eve.token })
      const old = await anHourLater(server, eve.token)
      const [to, body] = made(path, operationOf(changed))
      const refused = await server.call('POST', to, { body, token: old })
      expect([refused.status, /recent.login/.test(refused.text)]).toEqual([status, true])
      expect((await server.expect(200, 'GET', path)).email).toBe(as('eve'))
      await server.expect(200, 'POST', to, body, { token: eve.token })
      expect((await server.expect(200, 'GET', path)).email).toBe(as('former'))
    })

    test('skips the own account if an undo needs a recent login, and says so', async () => {
      const ida = await server.user('shared', { email: 'ida.former@example.com' })
      const path = `/api/shared/${ida.id}/`
      const jon = await server.user('shared', { email: 'jon@example.com' })
      const body = [path, `/api/shared/${jon.id}/`].map((one, at) => ({
        method: 'PATCH',
        path: one,
        body: { email: `present.${at}@example.com` },
      }))
      const changed = await server.call('POST', '/api/batch/', { body, token: ida.token })
      const token = await anHourLater(server, ida.token)
      const undo = `/api/operations/${operationOf(changed)}/undo/?skip_conflicts=1`
      const { skipped, total } = await server.expect(200, 'POST', undo, {}, { token })
      expect([Object.keys(skipped), total]).toEqual([[`shared/${ida.id}`], 1])
      expect((await server.expect(200, 'GET', path)).email).toBe('present.0@example.com')
    })

    test('cannot be made by another spelling, for which no recent login is needed', async () => {
      const kim = await server.user('shared', { email: 'kim@example.com' })
      const token = await anHourLater(server, kim.token)
      const path = `/api/shared/${kim.id}/`
      for (const email of ['\u212Aim@example.com', 'kim@e\uFF58ample.com', '\uFF4Bim@example.com']) {
        const patched = await server.expect(200, 'PATCH', path, { email }, { token })
        expect([email, patched.email.toLowerCase()]).toEqual([email, 'kim@example.com'])
      }
      await server.expect(200, 'PATCH', path, { email: 'KIM@Example.com' }, { token })
    })

    test('needs a recent login of the owner only, who can also use the password', async () => {
      const [ada, ben] = [
        await server.user('shared', { email: 'ada.shared@example.com', name: 'Ada' }),
        await server.user('shared', { email: 'ben.shared@example.com', name: 'Ben' }),
      ]
      const old = { token: await anHourLater(server, ada.token) }
      await server.expect(200, 'PATCH', `/api/shared/${ben.id}/`, { email: 'ben2@example.com' }, old)
      await server.expect(
        200,
        'POST',
        '/api/auth/email',
        { email: 'ada2@example.com', password: PASSWORD },
        old,
      )
      expect((await confirm(await linkTo('ada2@example.com', 'email'))).status).toBe(200)
      const admin = { token: await anHourLater(server, server.adminToken) }
      await server.expect(200, 'PATCH', `/api/shared/${ada.id}/`, { email: 'ada3@example.com' }, admin)
      // What a rule forbids is refused for that reason: another login would not help.
      const staff = await server.user('staff', { email: 'staff.old@example.com' })
      const body = { email: 'staff.new@example.com' }
      const refused = await server.call('PATCH', `/api/staff/${staff.id}/`, {
        body,
        token: await anHourLater(server, staff.token),
      })
      expectInvalid(refused, { email: ['is not yours to set'] })
    })

    test('tells nobody that the new address is taken, except its owner', async () => {
      const cat = await server.user('users', { email: 'cat@example.com' })
      await server.user('users', { email: 'taken@example.com' })
      const taken = await ask(cat.token, 'Taken@example.com')
      // Waits for the mail, which a newer request would replace.
      await linkTo('taken@example.com', 'reset')
      const free = await ask(cat.token, 'free@example.com')
      expect([taken.status, taken.text]).toEqual([free.status, free.text])
      expect(mailsTo('taken@example.com', 'reset')[0]).toContain('You already have an account')
      // Another user takes the address between the mail and the link.
      const link = await linkTo('free@example.com', 'email')
      const other = await server.member('users', { email: 'free@example.com' })
      expectInvalid(await confirm(link), { email: ['is taken'] })
      await server.expect(200, 'DELETE', `/api/users/${other}/`)
      expect((await confirm(link)).status).toBe(200)
      let last = 0
      for (let at = 0; at < 6; at++) last = (await ask(cat.token, 'flood@example.com')).status
      expect(last).toBe(429)
    })

    test('can be taken back by the old address, whatever an attacker does since', async () => {
      const eve = await server.user('users', { email: 'eve@example.com' })
      const keyOf = async (token: string) =>
        (await server.expect(201, 'POST', '/api/auth/keys/', { name: 'k' }, { token })).key as string
      const works = async (key: string) =>
        (await server.call('GET', `/api/users/${eve.id}/`, { token: key })).status
      const old = await keyOf(eve.token)
      const long = "UPDATE takeback_keys SET created_at = '2020-01-01T00:00:00.000Z' RETURNING 1 AS n"
      await server.query(long)
      const mine = await change(eve.token, 'eve@example.com', 'mallory@example.com')
      // The attacker adds other ways to log in.
      const bad = await keyOf(eve.token)
      const factor =
        "INSERT INTO takeback_second_factors (entity, entity_id, secret, confirmed_at, last_step) VALUES ('users', $1, 'x', '2099-01-01T00:00:00.000Z', 0) RETURNING 1 AS n"
      await server.query(factor, eve.id)
      const identity =
        "INSERT INTO takeback_identities (provider, issuer, subject, entity, entity_id, created_at) VALUES ('google', 'https://accounts.google.com', 'mallory', 'users', $1, '2099-01-01T00:00:00.000Z') RETURNING 1 AS n"
      await server.query(identity, eve.id)
      const passkey =
        "INSERT INTO takeback_passkeys (entity, entity_id, name, credential, public_key, counter, created_at) VALUES ('users', $1, 'x', 'x', 'x', 0, '2099-01-01T00:00:00.000Z') RETURNING 1 AS n"
      await server.query(passkey, eve.id)
      // The attacker changes the password, and the address again, and has a link of their own.
      const { token } = await server.expect(
        200,
        'POST',
        '/api/auth/password',
        { password: PASSWORD, new_password: FRESH },
        { token: eve.token },
      )
      const theirs = await change(token, 'mallory@example.com', 'mallory2@example.com', FRESH)
      const answers = await Promise.all(Array.from({ length: 50 }, () => revert(mine)))
      expect(answers.filter(({ status }) => status === 200).length).toBe(1)
      expect(answers.every(({ status }) => [200, 422, 429, 503].includes(status))).toBe(true)
      await calm()
      expect(await Promise.all([works(old), works(bad)])).toEqual([200, 401])
      expect(await server.rows('takeback_second_factors')).toBe(0)
      expect(await server.rows('takeback_identities')).toBe(0)
      expect(await server.rows('takeback_passkeys')).toBe(0)
      expect((await server.call('GET', '/api/auth/me', { token })).status).toBe(401)
      for (const password of [PASSWORD, FRESH])
        expect((await login('eve@example.com', password)).status).toBe(422)
      expect((await login('mallory2@example.com', FRESH)).status).toBe(422)
      expect((await revert(theirs)).body.code).toBe('invalid_link')
      const reset = await linkTo('eve@example.com', 'reset')
      const set = await post('/api/auth/password/reset', { token: reset, password: `${FRESH} 2` })
      expect(set.status).toBe(200)
      expect((await login('eve@example.com', `${FRESH} 2`)).status).toBe(200)

      // The attacker's link does not end the owner's link.
      const fay = await server.user('users', { email: 'fay@example.com' })
      const owner = await change(fay.token, 'fay@example.com', 'trudy@example.com')
      const attacker = await change(fay.token, 'trudy@example.com', 'trudy2@example.com')
      expect((await revert(attacker)).status).toBe(200)
      expect((await revert(owner)).status).toBe(200)
      // It fails if the old address has a new owner by now.
      const gil = await server.user('users', { email: 'gil@example.com' })
      const back = await change(gil.token, 'gil@example.com', 'gilbert@example.com')
      await server.member('users', { email: 'gil@example.com' })
      expectInvalid(await revert(back), { email: ['is taken by another account now: ask an admin'] })
    })

    test('back to an address that can take it back gives no link to the addresses since', async () => {
      const una = await server.user('users', { email: 'una@example.com' })
      const mine = await change(una.token, 'una@example.com', 'oscar@example.com')
      const theirs = await change(una.token, 'oscar@example.com', 'oscar2@example.com')
      // The owner sees it, and changes the address instead of using the link.
      await calm()
      expect((await ask(una.token, 'Una@example.com')).status).toBe(200)
      expect((await confirm(await linkTo('Una@example.com', 'email'))).status).toBe(200)
      await idle()
      expect(mailsTo('oscar2@example.com', 'revert')).toEqual([])
      expect((await revert(theirs)).body.code).toBe('invalid_link')
      expect((await revert(mine)).status).toBe(200)
    })

    test('is confirmed for types with verify, and the old address is told of a PATCH', async () => {
      const body = { email: 'hal@example.com', password: PASSWORD }
      const { id } = await server.expect(201, 'POST', '/api/proved/?verified=1', body)
      const { token } = (await login('hal@example.com')).body
      await change(token, 'hal@example.com', 'hal2@example.com')
      expect((await login('hal2@example.com')).body.user.verified).toBe(true)
      await idle()
      expect(mailsTo('hal2@example.com', 'verify').length).toBe(0)
      const sent = { token }
      await server.expect(200, 'PATCH', `/api/proved/${id}/`, { email: 'hal3@example.com' }, sent)
      await linkTo('hal3@example.com', 'verify')
      expect((await revert(await linkTo('hal2@example.com', 'revert'))).status).toBe(200)
      const reset = await linkTo('hal2@example.com', 'reset')
      await post('/api/auth/password/reset', { token: reset, password: FRESH })
      const { token: again } = (await login('hal2@example.com', FRESH)).body
      // If an admin changes an address, its former owner is not asked.
      await server.expect(200, 'PATCH', `/api/proved/${id}/`, { email: 'hal4@example.com' })
      await linkTo('hal4@example.com', 'verify')
      await idle()
      expect(mailsTo('hal2@example.com', 'revert').length).toBe(1)
      // However often users change their address, few mails are sent, and none to a former address that was never
      // confirmed.
      for (let at = 0; at < 12; at++)
        await server.expect(
          200,
          'PATCH',
          `/api/proved/${id}/`,
          { email: `x${at}@example.com` },
          { token: again },
        )
      await eventually(() => server.logged.join('').includes('Too many failed attempts'))
      expect(mailsIn(outbox).filter((mail) => /^To: x\d+@/m.test(mail) && mail.includes('/revert?'))).toEqual(
        [],
      )
    })

    test('can be made on pages without scripts', async () => {
      const ivy = await server.user('users', { email: 'ivy@example.com' })
      await ask(ivy.token, 'ivy2@example.com')
      const submit = async (page: string, token: string) => {
        const body = new URLSearchParams({ token })
        return (await fetch(`${server.url}/account/${page}`, { method: 'POST', body })).text()
      }
      const link = await linkTo('ivy2@example.com', 'email')
      const shown = await (await fetch(`${server.url}/account/email?link=${link}`)).text()
      expect(shown).toContain(`name="token" value="${link}"`)
      expect(await submit('email', link)).toContain('The e-mail address was changed.')
      expect(await submit('email', link)).toContain('role="alert"')
      const back = await linkTo('ivy@example.com', 'revert')
      expect(await submit('revert', back)).toContain('has its old e-mail address again')
    })
  },
  { outbox },
)
