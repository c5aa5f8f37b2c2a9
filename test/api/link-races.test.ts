import { afterAll, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hashesWaiting, verifyInLane } from '../../src/account/passwords.ts'
import { mailTask } from '../../src/api/account/mail-queue.ts'
import { budget } from '../../src/budget.ts'
import { app, entity, everyone } from '../../src/takeback.ts'
import { taskParams } from '../../src/work/queues.ts'
import { ADMIN, eventually, FULL_POOL, onEveryStoreByHand, operationOf } from '../harness.ts'
import { mailsIn, tokenIn } from '../mailbox.ts'
import { startedInstances } from '../together.ts'

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({
      login: { userType: 'user', verify: true },
      fields: {},
      access: { create: everyone, read: 'id == me.id', update: 'id == me.id' },
    }),
  },
})
const PASSWORD = ADMIN.password
const FRESH = 'a longer and better password'

onEveryStoreByHand('mailed links under races', (store) => {
  const outbox = mkdtempSync(join(tmpdir(), 'takeback-outbox-'))
  const flags = { ...FULL_POOL, outbox }
  const { server, instances } = startedInstances(store, declaration, flags)
  afterAll(() => rmSync(outbox, { recursive: true, force: true }))
  /** Forgets attempts: all requests come from one address, and must not slow each other down. */
  beforeEach(() => server.query('DELETE FROM takeback_attempts RETURNING 1 AS n'))

  const on = (at: number) => instances[at % instances.length] ?? server
  const post = (path: string, body: unknown, token: string | null = null, at = 0) =>
    on(at).call('POST', `/api/auth/${path}`, { body, token })
  const mailsTo = (email: string, page: string) =>
    mailsIn(outbox).filter((mail) => mail.includes(`To: ${email}\n`) && mail.includes(`/account/${page}?`))
  const linkTo = async (email: string, page: string, count = 0) => {
    await eventually(() => /<\/html>\s/.test(mailsTo(email, page)[count] ?? ''))
    return tokenIn(mailsTo(email, page)[count] ?? '')
  }
  const idle = () => eventually(async () => (await server.rows('takeback_tasks')) === 0)
  /** A user with a confirmed address. */
  const user = async (email: string) => {
    const { id } = await server.expect(201, 'POST', '/api/users/?verified=1', { email, password: PASSWORD })
    const { token } = (await post('login', { email, password: PASSWORD })).body
    return { id: id as number, token: token as string }
  }
  /** Changes the address of a user. Returns the operation, and the link for the old address. */
  const change = async (token: string, from: string, to: string, password = PASSWORD) => {
    expect((await post('email', { email: to, password }, token)).status).toBe(200)
    const done = await post('email/confirm', { token: await linkTo(to, 'email') })
    return { operation: operationOf(done), link: await linkTo(from, 'revert') }
  }

  /** Gets a link of each kind for a new user, and the path at which it is used. */
  const kinds: Record<string, (email: string) => Promise<[path: string, token: string]>> = {
    async reset(email) {
      await user(email)
      await post('password/forgot', { email })
      return ['password/reset', await linkTo(email, 'reset')]
    },
    async invite(email) {
      await server.expect(201, 'POST', '/api/users/?invite=1', { email })
      return ['password/reset', await linkTo(email, 'invite')]
    },
    async verify(email) {
      await server.expect(201, 'POST', '/api/users/', { email, password: PASSWORD })
      return ['verify', await linkTo(email, 'verify')]
    },
    async email(email) {
      const { token } = await user(email)
      await post('email', { email: `new-${email}`, password: PASSWORD }, token)
      return ['email/confirm', await linkTo(`new-${email}`, 'email')]
    },
    async revert(email) {
      const { token } = await user(email)
      return ['email/revert', (await change(token, email, `new-${email}`)).link]
    },
  }

  for (const [kind, linkFor] of Object.entries(kinds))
    test(`${kind}: of twenty requests on all instances one succeeds`, async () => {
      const [path, token] = await linkFor(`${kind}@example.com`)
      const body = path === 'password/reset' ? { token, password: FRESH } : { token }
      const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => post(path, body, null, at)))
      expect(answers.filter(({ status }) => status === 200).length).toBe(1)
      expect(answers.every(({ status }) => [200, 422, 429, 503].includes(status))).toBe(true)
    })

  for (const [kind, linkFor] of Object.entries(kinds))
    test(`${kind}: its page shows a form as long as the link is valid, and counts no attempts`, async () => {
      const [path, token] = await linkFor(`page-${kind}@example.com`)
      const body = path === 'password/reset' ? { token, password: FRESH } : { token }
      const attempts = await server.rows('takeback_attempts')
      const show = async (link: string) => {
        const page = await fetch(`${server.url}/account/${kind}${link}`)
        const html = await page.text()
        return [
          page.status,
          html.includes('<form'),
          html.includes('The link is wrong, has expired or was used'),
        ]
      }
      expect(await show(`?link=${token}`)).toEqual([200, true, false])
      for (const wrong of ['', '?link=', `?link=${token}x`, '?link=%22%3E%3Cform%3E'])
        expect(await show(wrong)).toEqual([422, false, true])
      expect(await server.rows('takeback_attempts')).toBe(attempts)
      expect((await post(path, body)).status).toBe(200)
      expect(await show(`?link=${token}`)).toEqual([422, false, true])
    })

  test('reset: a change of the e-mail ends a link that is being used', async () => {
    const { id } = await user('old@example.com')
    await post('password/forgot', { email: 'old@example.com' })
    const token = await linkTo('old@example.com', 'reset')
    // All slots for hashes are taken, so the request stops between the check of its link and its transaction.
    const { promise, resolve } = Promise.withResolvers<void>()
    const busy = Array.from({ length: budget.hashesAtOnce }, () => verifyInLane(undefined, () => promise))
    const using = post('password/reset', { token, password: FRESH })
    await eventually(() => hashesWaiting('login') > 0)
    await server.expect(200, 'PATCH', `/api/users/${id}/`, { email: 'next@example.com' })
    resolve()
    await Promise.all(busy)
    expect((await using).body.code).toBe('invalid_link')
    expect((await post('login', { email: 'next@example.com', password: FRESH })).body.code).toBe(
      'login_failed',
    )
  })

  test('revert: what was taken back has no further link, however late its mail is', async () => {
    const { id, token } = await user('owner@example.com')
    const own = await change(token, 'owner@example.com', 'thief@example.com')
    const theirs = await change(token, 'thief@example.com', 'thief2@example.com')
    expect((await post('email/revert', { token: own.link })).status).toBe(200)
    await linkTo('owner@example.com', 'reset')
    // As after a failure of the mail server, or of this server before it has noted that the mail was sent.
    const late = [own, theirs].map(({ operation }) =>
      mailTask({ mail: 'revert', entity: 'users', id, operation }),
    )
    const { store: written, work } = server.context
    await written.write([work.enqueue], taskParams(late))
    work.wake()
    await idle()
    for (const email of ['owner@example.com', 'thief@example.com'])
      expect(mailsTo(email, 'revert').length).toBe(1)
    // A later change can be taken back again.
    await post('password/reset', { token: await linkTo('owner@example.com', 'reset'), password: FRESH })
    const { token: again } = (await post('login', { email: 'owner@example.com', password: FRESH })).body
    await server.expect(200, 'PATCH', `/api/users/${id}/`, { email: 'o3@example.com' }, { token: again })
    const link = await linkTo('owner@example.com', 'revert', 1)
    expect((await post('email/revert', { token: link })).status).toBe(200)
  })

  test('any: what was deleted is not changed, what is restored can be, what is purged leaves nothing', async () => {
    for (const [kind, linkFor] of Object.entries(kinds)) {
      const email = `gone-${kind}@example.com`
      const [path, token] = await linkFor(email)
      const body = path === 'password/reset' ? { token, password: FRESH } : { token }
      const [{ id } = {}] = await server.query(
        'SELECT entity_id AS id FROM takeback_links ORDER BY entity_id DESC LIMIT 1',
      )
      await server.expect(200, 'DELETE', `/api/users/${id}/`)
      expect((await post(path, body)).body.code).toBe('invalid_link')
      await server.expect(200, 'DELETE', `/api/users/${id}/?restore=1`)
      const [, purged] = await Promise.all([
        post(path, body, null, 1),
        server
          .expect(200, 'DELETE', `/api/users/${id}/`)
          .then(() => server.call('DELETE', `/api/users/${id}/?purge=1`)),
      ])
      expect(purged.status).toBe(204)
      await idle()
      for (const table of ['takeback_links', 'takeback_verified'])
        expect(await server.query(`SELECT 1 FROM ${table} WHERE entity_id = $1`, Number(id))).toEqual([])
    }
  })
})
