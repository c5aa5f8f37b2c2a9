import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Seals } from '../../src/account/seals.ts'
import { readConfig } from '../../src/config.ts'
import { copy } from '../../src/store/copy/copy.ts'
import { openStore } from '../../src/store/open.ts'
import { entity, everyone, object, secret, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { dumpOf } from '../dump.ts'
import {
  ADMIN,
  newDatabase,
  onEveryStoreByHand,
  operationOf,
  type TestRequest,
  TestServer,
} from '../harness.ts'
import { clearOut } from '../work.ts'

const DAY = 86_400_000
const all = { create: everyone, read: everyone, update: everyone, delete: everyone, restore: everyone }

const declared = (was?: string) =>
  withAdmins(
    {
      [was === undefined ? 'people' : 'persons']: entity({
        ...(was !== undefined && { was }),
        login: { userType: 'person' },
        fields: {
          name: text({ optional: true }),
          [was === undefined ? 'pin' : 'code']: secret({
            optional: true,
            ...(was !== undefined && { was: 'pin' }),
          }),
          card: object({ number: secret() }, { optional: true }),
        },
        access: all,
      }),
      plain: entity({ fields: { name: text() }, access: all }),
    },
    { journal: { keep: '90d' } },
  )

onEveryStoreByHand('former secrets', (store) => {
  const shared = new TestServer(store, declared())
  beforeAll(() => shared.start())
  afterAll(() => shared.remove())
  /** For tests that only look at their own people. */
  const share = (run: (server: TestServer) => Promise<void>) => run(shared)
  const open = async (run: (server: TestServer) => Promise<void>) => {
    const server = new TestServer(store, declared())
    await server.start()
    try {
      await run(server)
    } finally {
      await server.remove()
    }
  }
  const person = async (server: TestServer, more: object = {}) =>
    (
      await server.expect(201, 'POST', '/api/people/', {
        email: `${crypto.randomUUID()}@example.com`,
        password: ADMIN.password,
        ...more,
      })
    ).id as number
  /** Returns the former values of each secret column, unsealed, in the order of versions. */
  const formerOf = async (server: TestServer, id: number, table = 'people') => {
    const rows = await server.query(
      'SELECT "column", version, value FROM takeback_sealed WHERE entity = $1 AND entity_id = $2 ORDER BY version',
      table,
      id,
    )
    return rows.map(({ column, version, value }) => ({
      column,
      version: Number(version),
      hash: value === null ? null : server.context.seals.open(String(value), `${id}/${version}`),
    }))
  }
  const isHash = async (secret: string, hash: string | null | undefined) =>
    typeof hash === 'string' && (await Bun.password.verify(secret, hash))

  test('are not shown, but the history and operations name the secret that was changed', () =>
    share(async (server) => {
      const id = await person(server, { pin: 'pin one' })
      await server.expect(200, 'PATCH', `/api/people/${id}/`, { name: 'x' })
      const both = { password: 'a longer and better password', pin: 'pin two' }
      const changed = await server.call('PATCH', `/api/people/${id}/`, { body: both })
      const secretsIn = ({ data }: { data: { secrets?: string[] }[] }) =>
        data.map(({ secrets }) => secrets?.sort())
      const history = await server.expect(200, 'GET', `/api/people/${id}/history/`)
      expect(secretsIn(history)).toEqual([['password', 'pin'], undefined, undefined])
      const path = `/api/operations/${operationOf(changed)}/`
      const operation = await server.expect(200, 'GET', path)
      expect(secretsIn(operation)).toEqual([['password', 'pin']])
      expect(JSON.stringify([history, operation])).not.toContain('argon2')
      // A user who may not see the history sees that they have changed a secret, and no more.
      const { token } = await server.user('people', { email: 'own@example.com' })
      const me = (await server.expect(200, 'GET', '/api/auth/me', undefined, { token })).id
      const own = await server.call('PATCH', `/api/people/${me}/`, { body: { pin: 'pin three' }, token })
      const ownPath = `/api/operations/${operationOf(own)}/`
      expect((await server.expect(200, 'GET', ownPath, undefined, { token })).data).toEqual([
        { entity: 'people', id: me, version: 2, kind: 'update', changed: null },
      ])
    }))

  test('are not named to whoever may not know that there is such a field', async () => {
    const hidden = 'me.type == "admin"'
    const code = secret({ optional: true, read: hidden, write: hidden })
    const doors = entity({ fields: { code }, access: { ...all, history: everyone } })
    const server = new TestServer(store, withAdmins({ doors }))
    await server.start()
    const { id } = await server.expect(201, 'POST', '/api/doors/', { code: 'one' })
    await server.expect(200, 'PATCH', `/api/doors/${id}/`, { code: 'two' })
    const seenBy = async (token: string | null) =>
      (await server.expect(200, 'GET', `/api/doors/${id}/history/`, undefined, { token })).data[0].secrets
    expect([await seenBy(server.adminToken), await seenBy(null)]).toEqual([['code'], undefined])
    await server.remove()
  })

  test('are kept whenever a secret is changed, and only then; nobody can read them from the database', () =>
    open(async (server) => {
      const id = await person(server, { pin: 'pin one' })
      await server.expect(200, 'PATCH', `/api/people/${id}/`, { name: 'x' })
      expect(await server.rows('takeback_sealed')).toBe(0)
      const [before] = await server.query('SELECT password, pin FROM people WHERE id = $1', id)
      await server.expect(200, 'PATCH', `/api/people/${id}/`, { pin: 'pin two' })
      await server.expect(200, 'POST', '/api/batch/', [
        { method: 'PATCH', path: `/api/people/${id}/`, body: { card: { number: '4111' } } },
        {
          method: 'PATCH',
          path: `/api/people/${id}/`,
          body: { pin: null, password: 'another good password' },
        },
      ])
      await server.expect(200, 'PATCH', `/api/people/${id}/`, { card: null })
      const former = await formerOf(server, id)
      expect(former.map(({ column, version }) => `${column} ${version}`).sort()).toEqual([
        'card.number 3',
        'card.number 5',
        'password 4',
        'pin 2',
        'pin 4',
      ])
      const at = (column: string, version: number) =>
        former.find((one) => one.column === column && one.version === version)?.hash
      expect(await isHash('pin one', at('pin', 2))).toBe(true)
      expect(await isHash('pin two', at('pin', 4))).toBe(true)
      expect(await isHash(ADMIN.password, at('password', 4))).toBe(true)
      expect(await isHash('4111', at('card.number', 5))).toBe(true)
      expect(at('card.number', 3)).toBeNull()
      const dump = await dumpOf(server, store)
      for (const hash of [before?.password, before?.pin]) expect(dump).not.toContain(String(hash).slice(-20))
    }))

  test(
    'are each the one that was replaced, however many are set at once, and by their owners too',
    () =>
      share(async (server) => {
        const email = 'owner@example.com'
        const { id, token } = await server.user('people', { email })
        const pins = Array.from({ length: 5 }, (_, at) => `pin ${at}`)
        await Promise.all([
          ...pins.map((pin) => server.expect(200, 'PATCH', `/api/people/${id}/`, { pin })),
          ...pins.map((name) => server.expect(200, 'PATCH', `/api/people/${id}/`, { name })),
          server.expect(
            200,
            'POST',
            '/api/auth/password',
            { password: ADMIN.password, new_password: 'another good password' },
            { token },
          ),
        ])
        const former = await formerOf(server, id)
        expect(await isHash(ADMIN.password, former.find(({ column }) => column === 'password')?.hash)).toBe(
          true,
        )
        const sealed = former.filter(({ column }) => column === 'pin')
        const [now] = await server.query('SELECT pin FROM people WHERE id = $1', id)
        const hashes = [...sealed.map(({ hash }) => hash), now?.pin]
        // The first was empty; each of the others was set once.
        expect(hashes[0]).toBeNull()
        const found = await Promise.all(
          hashes.slice(1).map(async (hash) => {
            const right = await Promise.all(pins.map((pin) => isHash(pin, String(hash))))
            return pins[right.indexOf(true)]
          }),
        )
        expect(found.sort()).toEqual(pins)
      }),
    30_000,
  )

  test('are not in the way of a later change, where somebody was faster and then gave up', () =>
    share(async (server) => {
      const id = await person(server, { pin: 'pin one' })
      await server.query("INSERT INTO takeback_sealed VALUES ('people', $1, 'pin', 1, NULL)", id)
      await server.expect(200, 'PATCH', `/api/people/${id}/`, { pin: 'pin two' })
    }))

  test('go with a purge, and with what the journal loses', () =>
    open(async (server) => {
      const [gone, stays] = [await person(server), await person(server)]
      for (const id of [gone, stays])
        for (const pin of ['a', 'b', 'c']) await server.expect(200, 'PATCH', `/api/people/${id}/`, { pin })
      expect(await formerOf(server, gone)).toHaveLength(3)
      await server.expect(200, 'DELETE', `/api/people/${gone}/`)
      await server.expect(204, 'DELETE', `/api/people/${gone}/?purge=1`)
      expect([await formerOf(server, gone), (await formerOf(server, stays)).length]).toEqual([[], 3])
      await clearOut(server.context, Date.now() + 91 * DAY)
      expect(await formerOf(server, stays)).toEqual([])
    }))

  test('stay with a type and a field that get another name', () =>
    open(async (server) => {
      const id = await person(server, { pin: 'pin one' })
      await server.expect(200, 'PATCH', `/api/people/${id}/`, { pin: 'pin two' })
      await server.restart(declared('people'))
      const [former, ...more] = await formerOf(server, id, 'persons')
      expect([former?.column, more]).toEqual(['code', []])
      expect(await isHash('pin one', former?.hash)).toBe(true)
    }))

  const signsIn = async (server: TestServer, email: string, password: string) =>
    (await server.call('POST', '/api/auth/login', { body: { email, password }, token: null })).status === 200
  const undo = (server: TestServer, operation: string, query = '', sent: TestRequest = {}) =>
    server.call('POST', `/api/operations/${operation}/undo/${query}`, sent)

  test(
    'come back by an undo, by its undo, and by a revert; a password that does ends all sessions',
    () =>
      share(async (server) => {
        const email = 'back@example.com'
        const { id } = await server.user('people', { email })
        const path = `/api/people/${id}/`
        const passwords = [ADMIN.password, 'a second good phrase', 'the third of my phrases']
        const operations: string[] = []
        for (const password of passwords.slice(1))
          operations.push(operationOf(await server.call('PATCH', path, { body: { password } })))
        const { token } = (
          await server.call('POST', '/api/auth/login', {
            body: { email, password: passwords[2] },
            token: null,
          })
        ).body
        const is = async (at: number) => {
          const [row] = await server.query('SELECT password FROM people WHERE id = $1', id)
          const works = await Promise.all(passwords.map((one) => isHash(one, String(row?.password))))
          expect(works).toEqual(passwords.map((_, place) => place === at))
        }
        const dry = await undo(server, operations[1] ?? '', '?dry_run=1')
        expect(dry.body.changes).toEqual([
          { entity: 'people', id, kind: 'update', changed: {}, secrets: ['password'] },
        ])
        expect(dry.text).not.toContain('argon2')
        await is(2)
        const first = await undo(server, operations[1] ?? '')
        expect([first.status, first.body.skipped, first.body.changes[0].secrets]).toEqual([
          200,
          {},
          ['password'],
        ])
        await is(1)
        expect((await server.call('GET', '/api/auth/me', { token })).status).toBe(401)
        const second = await undo(server, operations[0] ?? '')
        expect([second.status, second.body.total]).toEqual([200, 1])
        await is(0)
        expect((await undo(server, operationOf(second))).status).toBe(200)
        await is(1)
        expect((await undo(server, operationOf(first))).status).toBe(200)
        await is(2)
        await server.expect(200, 'POST', `${path}revert/`, { version: 1 })
        await is(0)
        // Somebody has set another value since: a conflict, as for any other field.
        expect((await undo(server, operations[0] ?? '')).body.errors).toBeUndefined()
        await server.expect(200, 'PATCH', path, { password: 'set by somebody else' })
        const against = await undo(server, operations[1] ?? '')
        expect([against.status, against.body.errors]).toEqual([
          409,
          { [`people/${id}`]: ['password was changed since'] },
        ])
        const { data } = await server.expect(200, 'GET', `/api/operations/?limit=50`)
        expect(JSON.stringify(data)).not.toContain('argon2')
        const journal = await server.query('SELECT data FROM takeback_journal')
        expect(JSON.stringify(journal)).not.toContain('argon2')
      }),
    60_000,
  )

  test('come back together with other values, in objects, and after a deletion', () =>
    share(async (server) => {
      const id = await person(server, { name: 'a', pin: 'pin one', card: { number: '4111' } })
      const path = `/api/people/${id}/`
      const hashes = async () =>
        (await server.query('SELECT pin, "card.number" AS card FROM people WHERE id = $1', id))[0]
      const before = await hashes()
      const changed = await server.call('PATCH', path, { body: { name: 'b', pin: 'pin two', card: null } })
      await server.expect(200, 'DELETE', path)
      const undone = await undo(server, operationOf(changed))
      expect([undone.status, undone.body.changes[0].secrets.sort()]).toEqual([200, ['card.number', 'pin']])
      await server.expect(200, 'DELETE', `${path}?restore=1`)
      expect([await hashes(), (await server.expect(200, 'GET', path)).name]).toEqual([before, 'a'])
      const many = await server.call('POST', '/api/operations/undo/', {
        body: { entity: `people/${id}`, since: '2000-01-01T00:00:00Z' },
      })
      expect(many.status).toBe(200)
    }))

  test('are named where they cannot come back, and the rest does', () =>
    open(async (server) => {
      const id = await person(server, { name: 'a', pin: 'pin one' })
      const path = `/api/people/${id}/`
      const changed = operationOf(await server.call('PATCH', path, { body: { name: 'b', pin: 'pin two' } }))
      const only = operationOf(
        await server.call('PATCH', path, { body: { password: 'another good password' } }),
      )
      const other = new Seals(['x'.repeat(32)])
      await server.query('UPDATE takeback_sealed SET value = $1', other.seal('lost', `${id}/1`))
      const sentence = 'cannot be taken back: it was sealed with a former secret of the server'
      const nothing = await undo(server, only)
      expect([nothing.status, nothing.body.operation, nothing.body.skipped]).toEqual([
        200,
        null,
        { [`people/${id}`]: [`password ${sentence}`] },
      ])
      const rest = await undo(server, changed)
      expect([rest.status, rest.body.skipped]).toEqual([200, { [`people/${id}`]: [`pin ${sentence}`] }])
      expect((await server.expect(200, 'GET', path)).name).toBe('a')
      const reverted = await server.call('POST', `${path}revert/`, { body: { version: 1 } })
      expect([reverted.status, reverted.headers.get('takeback-unmapped')]).toEqual([200, 'password, pin'])
    }))

  test(
    'a token alone brings no password back',
    () =>
      share(async (server) => {
        const email = 'token@example.com'
        const { token } = await server.user('people', { email })
        const fresh = { password: ADMIN.password, new_password: 'another good password' }
        const changed = await server.call('POST', '/api/auth/password', { body: fresh, token })
        expect(changed.status).toBe(200)
        const own = await undo(server, operationOf(changed), '', { token: changed.body.token })
        expect([own.status, Object.values(own.body.skipped)]).toEqual([
          200,
          [['password can only be changed with /api/auth/password']],
        ])
        expect(await signsIn(server, email, 'another good password')).toBe(true)
        expect((await undo(server, operationOf(changed))).body.total).toBe(1)
        expect(await signsIn(server, email, ADMIN.password)).toBe(true)
      }),
    30_000,
  )

  test('are copied with the rest', () =>
    open(async (server) => {
      const id = await person(server, { pin: 'pin one' })
      await server.expect(200, 'PATCH', `/api/people/${id}/`, { pin: 'pin two' })
      const from = await server.openStore()
      const folder = mkdtempSync(join(tmpdir(), 'takeback-test-'))
      const target = await newDatabase('sqlite', folder)
      const to = await openStore(readConfig({ database: target.url }, {}).database)
      await copy(from, to, () => {})
      await Promise.all([from.close(), to.close()])
      const [row] = await target.query('SELECT version, value FROM takeback_sealed')
      const hash = server.context.seals.open(String(row?.value), `${id}/${row?.version}`)
      expect(await isHash('pin one', hash)).toBe(true)
      await target.remove()
    }))
})
