import { expect, test } from 'bun:test'
import { Retention } from '../../src/api/retention.ts'
import { compileRetention } from '../../src/plan/retention.ts'
import { app, entity, everyone, object, secret, text } from '../../src/takeback.ts'
import { dumpOf } from '../dump.ts'
import { ADMIN, onEveryStoreByHand, TestServer } from '../harness.ts'

const DAY = 86_400_000
const all = { create: everyone, read: everyone, update: everyone, delete: everyone, restore: everyone }

const declared = (was?: string) =>
  app({
    admins: 'admins',
    journal: { keep: '90d' },
    entities: {
      admins: entity({ login: { userType: 'admin' }, fields: {} }),
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
  })

onEveryStoreByHand('former secrets', (store) => {
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
  /** By column: what is sealed, opened, in the order of versions. */
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
      open(async (server) => {
        const email = 'owner@example.com'
        const { id, token } = await server.user('people', { email })
        const pins = Array.from({ length: 6 }, (_, at) => `pin ${at}`)
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

  test('go with a purge, and with what the journal loses', () =>
    open(async (server) => {
      const [gone, stays] = [await person(server), await person(server)]
      for (const id of [gone, stays])
        for (const pin of ['a', 'b', 'c']) await server.expect(200, 'PATCH', `/api/people/${id}/`, { pin })
      expect(await formerOf(server, gone)).toHaveLength(3)
      await server.expect(200, 'DELETE', `/api/people/${gone}/`)
      await server.expect(204, 'DELETE', `/api/people/${gone}/?purge=1`)
      expect([await formerOf(server, gone), (await formerOf(server, stays)).length]).toEqual([[], 3])
      const { context } = server
      const keeper = new Retention(context, compileRetention(context.model, context.store.dialect))
      await keeper.pass(Date.now() + 91 * DAY)
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
})
