import { expect, test } from 'bun:test'
import { check } from '../../src/store/check/check.ts'
import { ownTables } from '../../src/store/own.ts'
import { app, entity, everyone, object, ref, secret, text } from '../../src/takeback.ts'
import { ADMIN, eventually, onEveryStoreByHand, TestServer } from '../harness.ts'
import { ownerWriters } from '../owner-writers.ts'
import { codesOf } from '../totp-codes.ts'

/** In everything that somebody says about the person. */
const WORD = 'canary'
/** With what the id of the person begins, and no other number. */
const ID = '98765432'

const all = { create: everyone, read: everyone, update: everyone, delete: everyone, restore: everyone }

/** What the reaction waits for. */
let gate: Promise<void> = Promise.resolve()

const declared = (added: object) =>
  app({
    admins: 'admins',
    entities: {
      admins: entity({ login: { userType: 'admin' }, fields: {} }),
      people: entity({
        login: { userType: 'person', verify: true, second: 'optional' },
        fields: { name: text({ search: true }), card: secret({ optional: true }), ...added },
        access: all,
      }),
      parts: entity({
        fields: { label: text(), of: ref('people', { onDelete: 'cascade' }) },
        access: all,
      }),
      groups: entity({
        fields: { title: text(), head: ref('people', { optional: true, onDelete: 'clear' }) },
        computed: { head_name: 'head.name', heads_size: 'size(head.name)' },
        access: all,
      }),
      rooms: entity({
        fields: { of: ref('groups', { optional: true, onDelete: 'clear' }) },
        computed: { owner_name: 'of.head.name' },
        access: all,
      }),
    },
    reactions: {
      async 'people.update'({ after }) {
        await gate
        throw new Error(`${(after as { name: string }).name} cannot be greeted`)
      },
    },
    routes: {
      'POST /api/about/': {
        access: everyone,
        body: object({ name: text() }),
        run: ({ body: { name } }) => ({ name }),
      },
    },
  })

/**
 * Own tables in which nothing is about a single Entity, and why. Each other table must have something about the person
 * before the purge: a new table needs a line here, or something in `fill` that writes to it.
 */
const TABLES_WITHOUT_TRACES: Readonly<Record<string, readonly string[]>> = {
  'only hashes of names, for a limited time': ['attempts', 'known_places', 'waits', 'ended_sessions'],
  'only ids of operations': ['undone', 'purges', 'deliveries'],
  'work of the server itself': ['migrations', 'cursors', 'work'],
}

/** Columns in which the id of a purged Entity stays: that it existed, and that others referred to it. */
const ID_STAYS = [
  'answers.body',
  'answers.headers',
  'journal.actor_id',
  'journal.data',
  'journal.entity_id',
  'rates.key',
  'tasks.key',
  'tasks.payload',
]

/** Finds the columns of all own tables, by the part of the name after `takeback_`, that have a text. */
async function columnsWith(server: TestServer, wanted: string): Promise<string[]> {
  const found = new Set<string>()
  for (const { name } of [...ownTables, { name: 'takeback_meta' }])
    for (const row of await server.query(`SELECT * FROM ${name}`))
      for (const [column, value] of Object.entries(row))
        if (String(value).includes(wanted)) found.add(`${name.replace('takeback_', '')}.${column}`)
  return [...found].sort()
}

/** Does everything that leaves something about a person in the database. Returns the id. */
async function fill(server: TestServer): Promise<number> {
  let keys = 0
  // Reasons for changes of others stay, whoever they mention.
  const headers = (path: string) => ({
    'Idempotency-Key': `k${++keys}`,
    'Takeback-Reason': /people|parts/.test(path) ? WORD : 'why',
  })
  const send = (status: number, method: string, path: string, body?: object) =>
    server.expect(status, method, path, body, { headers: headers(path) })
  const { password } = ADMIN
  const email = `${WORD}@example.com`
  const { id } = await send(201, 'POST', '/api/people/', { email, password, name: WORD, card: WORD })
  expect(String(id)).toStartWith(ID)
  const owner = { entity: 'people', id }
  await server.context.verified.mark({ ...owner, key: email })
  const login = () => server.expect(200, 'POST', '/api/auth/login', { email, password }, { token: null })
  const as = { token: (await login()).token as string }
  await server.expect(200, 'PATCH', `/api/people/${id}/`, { name: `${WORD} two` }, as)
  for (const write of Object.values(ownerWriters)) await write(server.context, owner, WORD)
  const { secret } = await server.expect(200, 'POST', '/api/auth/totp/', { password }, as)
  await server.expect(200, 'POST', '/api/auth/totp/confirm', { code: codesOf(secret)(0) }, as)
  const identity = { provider: 'google', issuer: 'https://issuer.example.com', subject: WORD }
  const { handoffs } = server.context
  await handoffs.make('code', { challenge: null, account: owner, identity })
  await handoffs.make('link', { provider: 'google', returnTo: '', challenge: null, link: owner })
  const group = await send(201, 'POST', '/api/groups/', { title: 'g', head: { id } })
  await send(201, 'POST', '/api/rooms/', { of: { id: group.id } })
  await send(200, 'PATCH', `/api/groups/${group.id}/`, {})
  await send(201, 'POST', '/api/parts/', { label: WORD, of: { id } })
  await send(200, 'PATCH', `/api/people/${id}/`, { card: `${WORD} three` })
  await send(200, 'POST', `/api/people/${id}/undo/`)
  await server.expect(200, 'POST', '/api/about/', { name: WORD }, { ...as, headers: headers('') })
  const failed = "SELECT 1 FROM takeback_tasks WHERE error LIKE '%greeted%'"
  await eventually(async () => (await server.query(failed)).length > 0)
  return id
}

/** Lets the id of the next person begin so. */
async function skipIds(server: TestServer): Promise<void> {
  await server.member('people', { email: 'other@example.com', name: 'other' })
  await server.query(
    server.store === 'sqlite'
      ? `UPDATE sqlite_sequence SET seq = ${ID}0 WHERE name = 'people' RETURNING 1 AS n`
      : `SELECT setval(pg_get_serial_sequence('people', 'id'), ${ID}0) AS n`,
  )
}

onEveryStoreByHand('a purge', (store) => {
  test('leaves no value of the Entity in any own table, and its id only where it says so', async () => {
    const server = new TestServer(store, declared({}))
    await server.start()
    await skipIds(server)
    await server.restart(declared({ level: text({ default: 'low' }) }))
    const id = await fill(server)
    await server.expect(200, 'DELETE', `/api/people/${id}/`)
    const before = [...(await columnsWith(server, WORD)), ...(await columnsWith(server, ID))]
    const traced = new Set(before.map((column) => column.replace(/\..*/, '')))
    const others = ownTables
      .map(({ name }) => name.replace('takeback_', ''))
      .filter((name) => !traced.has(name))
    expect(others.sort()).toEqual(Object.values(TABLES_WITHOUT_TRACES).flat().sort())
    await server.expect(204, 'DELETE', `/api/people/${id}/?purge=1`)
    expect(await columnsWith(server, WORD)).toEqual([])
    const stays = await columnsWith(server, ID)
    expect(stays.filter((column) => !ID_STAYS.includes(column))).toEqual([])
    expect((await check(await server.location())).findings).toEqual([])
    await server.remove()
  })

  test('leaves no message of a reaction that fails after it', async () => {
    const server = new TestServer(store, declared({}))
    await server.start()
    const id = await server.member('people', { email: 'a@example.com', name: 'first' })
    let open = () => {}
    gate = new Promise((resolve) => {
      open = resolve
    })
    await server.expect(200, 'PATCH', `/api/people/${id}/`, { name: WORD })
    const running = async () => (await server.context.work.state()).queues.reactions?.running
    await eventually(async () => (await running()) === 1)
    await server.expect(200, 'DELETE', `/api/people/${id}/`)
    await server.expect(204, 'DELETE', `/api/people/${id}/?purge=1`)
    open()
    await eventually(async () => (await running()) === 0)
    expect(await columnsWith(server, WORD)).toEqual([])
    await server.remove()
  })
})
