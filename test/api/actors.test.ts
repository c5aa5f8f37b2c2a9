import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { listOperations, operations } from '../../src/api/past/operations.ts'
import { perform } from '../../src/api/perform.ts'
import { Query } from '../../src/api/query.ts'
import { create } from '../../src/api/write/create.ts'
import { remove } from '../../src/api/write/remove.ts'
import { readConfig } from '../../src/config.ts'
import { resolve } from '../../src/declare/resolve.ts'
import { type Actor, actorName, type User } from '../../src/plan/viewer/actor.ts'
import { makeBackup } from '../../src/store/backup/make.ts'
import { restoreBackup } from '../../src/store/backup/restore.ts'
import { check } from '../../src/store/check/check.ts'
import { copy } from '../../src/store/copy/copy.ts'
import { openStore } from '../../src/store/open.ts'
import { app, entity, everyone, ref, text } from '../../src/takeback.ts'
import {
  expectInvalid,
  newDatabase,
  onEveryStore,
  onEveryStoreByHand,
  type TestDatabase,
  TestServer,
} from '../harness.ts'
import { newFolder, run } from '../process/process.ts'

const own = 'owner.id == me.id'
const users = entity({ login: { userType: 'user' }, fields: {}, access: { create: everyone } })
const entities = {
  admins: entity({ login: { userType: 'admin' }, fields: {} }),
  users,
  notes: entity({
    fields: { title: text(), owner: ref('users', { optional: true }) },
    access: {
      create: own,
      read: own,
      update: own,
      delete: own,
      restore: own,
      history: own,
    },
  }),
}
const declaration = app({ admins: 'admins', entities })

const user = (id: number): User => ({ kind: 'user', entity: 'users', id, admin: false })
const admin: User = { kind: 'user', entity: 'admins', id: 1, admin: true }
const CAUSE = '01973a2e-7c40-7000-8000-5f1d2c3b4a59'

/** Every kind of Actor, and its text. */
const kinds: readonly (readonly [text: string | null, actor: Actor])[] = [
  ['users/1', user(1)],
  ['system', { kind: 'system' }],
  ['keys/7', { kind: 'key', id: 7, user: user(1), cause: CAUSE }],
  ['jobs/nightly', { kind: 'job', name: 'nightly' }],
  ['reactions/charge', { kind: 'reaction', name: 'charge', cause: CAUSE }],
  ['admins/1 as users/1', { kind: 'impersonation', by: admin, user: user(1), cause: CAUSE }],
]

/** Creates and deletes a note as each Actor. Returns the operations by the text of the Actor. */
async function act(server: TestServer): Promise<Map<string, { id: number; made: string; gone: string }>> {
  const { context } = server
  const plan = context.plans.get('notes')
  if (plan === undefined) throw new Error('no notes')
  const done = new Map<string, { id: number; made: string; gone: string }>()
  for (const [name, actor] of kinds) {
    const body = { title: `by ${name}`, owner: { id: 1 } }
    const made = await perform(context.store, create(plan, actor, body))
    const { id } = JSON.parse(made.body ?? '')
    const gone = await perform(
      context.store,
      remove(context, plan, actor, { id, query: Query.empty, when: { ifMatch: null } }),
    )
    const operationIn = (answer: typeof made) => String(answer.headers?.['Takeback-Operation'])
    done.set(String(name), { id, made: operationIn(made), gone: operationIn(gone) })
  }
  return done
}

onEveryStore('actors', declaration, (server) => {
  const listed = async (actor: string, token?: string) => {
    const path = `/api/operations/?actor=${encodeURIComponent(actor)}`
    const { data } = await server.expect(200, 'GET', path, undefined, token === undefined ? {} : { token })
    return (data as { id: string }[]).map(({ id }) => id)
  }
  let done: Awaited<ReturnType<typeof act>>
  let tokens: string[]

  test('of each kind are journalled, and shown as one text everywhere', async () => {
    tokens = []
    for (const name of ['a', 'b'])
      tokens.push((await server.user('users', { email: `${name}@example.com` })).token)
    const start = await server.context.feed.now()
    done = await act(server)
    const { operations: followed } = await server.context.feed.after(start, { limit: 100 })
    const trash = (await server.expect(200, 'GET', '/api/notes/?trashed=only')).data
    for (const [name, actor] of kinds) {
      expect(actorName(actor)).toBe(name)
      const { id, made, gone } = done.get(String(name)) ?? { id: 0, made: '', gone: '' }
      const operation = await server.expect(200, 'GET', `/api/operations/${made}/`)
      expect([operation.actor, operation.cause]).toEqual([name, actor.cause])
      const { data } = await server.expect(200, 'GET', `/api/notes/${id}/history/`)
      expect(data.map((one: any) => [one.actor, one.cause])).toEqual([
        [name, actor.cause],
        [name, actor.cause],
      ])
      expect(trash.find((one: any) => one.id === id).deletion).toEqual({ operation: gone, actor: name })
      const told = followed.filter((one) => one.id === made || one.id === gone)
      expect(told.map((one) => [one.actor, one.cause])).toEqual([
        [name, actor.cause ?? null],
        [name, actor.cause ?? null],
      ])
    }
    const list = await run(['trash', 'list', '--database', await server.databaseUrl(), ...(await config())])
    for (const [name] of kinds) expect(list.out).toContain(`  by ${name}  `)
  })

  /** The declaration as a file, for the command line. */
  async function config(): Promise<string[]> {
    const file = join(server.folder, 'takeback.config.ts')
    await Bun.write(
      file,
      `import { app, entity, everyone, ref, text } from 'takeback'
      const own = ${JSON.stringify(own)}
      export default app({ admins: 'admins', entities: {
        admins: entity({ login: { userType: 'admin' }, fields: {} }),
        users: entity({ login: { userType: 'user' }, fields: {}, access: { create: everyone } }),
        notes: entity({ fields: { title: text(), owner: ref('users', { optional: true }) },
          access: { create: own, read: own, update: own, delete: own, restore: own, history: own } }) } })`,
    )
    return ['--config', file]
  }

  test('can be used to filter operations', async () => {
    const ofKind = (name: string) => [done.get(name)?.gone, done.get(name)?.made]
    for (const name of ['keys/7', 'jobs/nightly', 'reactions/charge', 'admins/1 as users/1'])
      expect([name, await listed(name)]).toEqual([name, ofKind(name) as string[]])
    // Everything done with a user's rights is done in the name of that user.
    const inName = ['admins/1 as users/1', 'keys/7', 'users/1'].flatMap(ofKind)
    expect(await listed('users/1')).toEqual(inName as string[])
    for (const name of ['keys/8', 'jobs/hourly', 'reactions/nightly', 'admins/1 as users/2', 'users/2'])
      expect([name, await listed(name)]).toEqual([name, []])
  })

  test('are shown to those in whose name they act, and to nobody else', async () => {
    const [first = '', second = ''] = tokens
    expect(await listed('keys/7', first)).toHaveLength(2)
    expect(await listed('users/1', first)).toHaveLength(6)
    expect(await listed('admins/1 as users/1', first)).toHaveLength(2)
    expect(await listed('keys/7', second)).toEqual([])
    const { status } = await server.call('GET', '/api/operations/?actor=users%2F1', { token: second })
    expect(status).toBe(403)
    const { made } = done.get('keys/7') ?? { made: '' }
    await server.expect(200, 'GET', `/api/operations/${made}/`, undefined, { token: first })
    await server.expect(404, 'GET', `/api/operations/${made}/`, undefined, { token: second })
    // A key sees what its user sees.
    const query = new Query<never>([], listOperations.takes as never)
    const key: Actor = { kind: 'key', id: 9, user: user(2) }
    expect(JSON.parse((await operations(server.context, key, query)).body ?? '').data).toEqual([])
  })

  test('meet the rules as the user in whose name they act', async () => {
    const { context } = server
    const plan = context.plans.get('notes')
    if (plan === undefined) throw new Error('no notes')
    const foreign = { title: 'of another', owner: { id: 2 } }
    for (const [name, actor] of kinds) {
      const made = perform(context.store, create(plan, actor, foreign)).then(
        ({ status }) => status,
        (error) => error.code,
      )
      const passes = name === 'system' || name?.startsWith('jobs') || name?.startsWith('reactions')
      expect([name, await made]).toEqual([name, passes ? 201 : 'forbidden'])
    }
  })

  test('can be used to select what an undo takes back', async () => {
    const { context } = server
    const plan = context.plans.get('notes')
    if (plan === undefined) throw new Error('no notes')
    const { created_at: since } = await server.expect(201, 'POST', '/api/notes/', { title: 'first' })
    const made = new Map<string, number>()
    for (const [name, actor] of kinds) {
      const note = await perform(context.store, create(plan, actor, { title: 'x', owner: { id: 1 } }))
      made.set(String(name), JSON.parse(note.body ?? '').id)
    }
    const live = () => [...made].filter(([, id]) => notes.some((one) => one.id === id)).map(([name]) => name)
    let notes: { id: number }[] = []
    for (const [name, left] of [
      ['keys/7', ['users/1', 'system', 'jobs/nightly', 'reactions/charge', 'admins/1 as users/1']],
      ['jobs/nightly', ['users/1', 'system', 'reactions/charge', 'admins/1 as users/1']],
      ['reactions/charge', ['users/1', 'system', 'admins/1 as users/1']],
      ['admins/1 as users/1', ['users/1', 'system']],
      ['users/1', ['system']],
    ] as const) {
      const { undone } = await server.expect(200, 'POST', '/api/operations/undo/', { actor: name, since })
      expect([name, undone]).toEqual([name, name === 'users/1' ? 3 : 1])
      notes = (await server.expect(200, 'GET', '/api/notes/?limit=200')).data
      expect([name, live()]).toEqual([name, [...left]])
    }
  })

  test('that are invalid are refused, each with a correction', async () => {
    const user = 'must be a user, such as users/3, or system'
    const wrong: Record<string, string> = {
      nobody: user,
      'users/x': user,
      '': user,
      'user/3': '"user" is not a login type; did you mean "users"?',
      'owners/3': '"owners" is not a login type',
      'keys/x': 'must be a key, such as keys/7',
      keys: 'must be a key, such as keys/7',
      'jobs/': 'must be jobs and a name, such as jobs/nightly',
      'jobs/No Name': 'must be jobs and a name, such as jobs/nightly',
      reactions: 'must be reactions and a name, such as reactions/orders.update',
      'admins/1 as ': user,
      'admins/1 as users/1 as users/2': 'must be one user as another, such as admins/1 as users/5',
    }
    for (const [actor, sentence] of Object.entries(wrong)) {
      const received = await server.call('GET', `/api/operations/?actor=${encodeURIComponent(actor)}`)
      expect([actor, received.status, received.body.errors]).toEqual([actor, 422, { actor: [sentence] }])
    }
    expectInvalid(await server.call('POST', '/api/operations/undo/', { body: { actor: 'keys/0' } }), {
      actor: ['must be a key, such as keys/7'],
    })
  })
})

onEveryStoreByHand('actors of every kind', (store) => {
  const locationOf = ({ url }: TestDatabase) => readConfig({ database: url }, {}).database
  const journal = ({ query }: TestDatabase) =>
    query(
      'SELECT seq, operation, actor, actor_id, via, cause FROM takeback_journal WHERE entity = $1 ORDER BY seq',
      'notes',
    )

  test('are copied and backed up, and follow a type that gets another name', async () => {
    const database = await newDatabase(store, newFolder())
    const server = new TestServer(store, declaration, {}, database)
    await server.start()
    await server.user('users', { email: 'a@example.com' })
    await act(server)
    const rows = await journal(database)
    expect(new Set(rows.map(({ via }) => via))).toEqual(new Set([null, 'keys/7', 'admins/1']))
    await server.stop()

    const copied = await newDatabase(store, newFolder())
    const stores = [await openStore(locationOf(database)), await openStore(locationOf(copied))] as const
    await copy(...stores, () => {})
    for (const one of stores) await one.close()
    const file = join(newFolder(), 'a.db')
    await makeBackup(locationOf(database), file, { version: 'test' })
    const restored = await newDatabase(store, newFolder())
    await restoreBackup(file, locationOf(restored), undefined)
    for (const one of [copied, restored]) {
      expect(await journal(one)).toEqual(rows)
      expect((await check(locationOf(one))).findings).toEqual([])
      await one.remove()
    }

    const { admins, ...rest } = entities
    await server.restart(app({ admins: 'staff', entities: { ...rest, staff: { ...admins, was: 'admins' } } }))
    server.adminToken = ''
    const { data } = JSON.parse(
      (
        await operations(
          server.context,
          { kind: 'system' },
          new Query([['actor', 'staff/1 as users/1']], listOperations.takes),
        )
      ).body ?? '',
    )
    expect(data.map(({ actor }: { actor: string }) => actor)).toEqual([
      'staff/1 as users/1',
      'staff/1 as users/1',
    ])
    await server.remove()
  })

  test('have names that no type that logs in can have', () => {
    for (const name of ['keys', 'jobs', 'reactions']) {
      const login = { ...entities, [name]: entity({ login: { userType: name }, fields: {} }) }
      expect(() => resolve(app({ admins: 'admins', entities: login }))).toThrow(
        `entities.${name}: cannot be the name of a login type`,
      )
      resolve(app({ admins: 'admins', entities: { ...entities, [name]: entity({ fields: { a: text() } }) } }))
    }
  })
})
