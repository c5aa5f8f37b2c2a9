import { afterAll, afterEach, expect, test } from 'bun:test'
import { resolve } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { app, datetime, entity, everyone, ref, text } from 'takeback'
import { testApp } from 'takeback/testing'

const config = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user' }, fields: { name: text() } }),
    guests: entity({
      login: { userType: 'guest', verify: true },
      fields: {},
      access: { create: everyone },
    }),
    orders: entity({
      fields: { title: text(), owner: ref('users'), due_at: datetime({ optional: true }) },
      access: { create: 'owner.id == me.id', read: 'owner.id == me.id' },
    }),
    notes: entity({ fields: { title: text() }, access: { read: everyone, create: everyone } }),
  },
  webhooks: {
    erp: { to: 'https://erp.example.com/hook', secret: `whsec_${btoa('x'.repeat(32))}`, on: ['orders.*'] },
  },
  reactions: {
    async 'orders.create'({ after, api }) {
      if (after.title === 'broken') throw new Error('no such thing')
      await api.notes.create({ title: `order of ${after.title}` })
    },
    async 'notes.create'({ after, api }) {
      if (after.title.startsWith('order of')) await api.notes.create({ title: 'again' })
    },
  },
  jobs: {
    nightly: {
      every: '0 3 * * *',
      async run({ api }) {
        await api.notes.create({ title: `it is ${new Date().getUTCFullYear()}` })
      },
    },
    failing: {
      every: '0 3 * * *',
      run() {
        throw new RangeError('too far')
      },
    },
  },
})

const tested = await testApp(config)
afterEach(() => tested.reset())
afterAll(() => tested.close())

const ada = { email: 'ada@example.com', password: 'correct horse battery', name: 'Ada' }

test('a file that is not there is named, in the words of a test', async () => {
  await expect(testApp('./none.ts')).rejects.toThrow(
    `There is no ${resolve('none.ts')}: testApp needs the file of the declaration, such as new URL('./takeback.config.ts', import.meta.url).`,
  )
})

test('a sign-up that must be confirmed is a message; admins invite, and vouch for addresses', async () => {
  const { email, password } = ada
  const answer = await tested.client.guests.create({ email, password })
  expect(Object.keys(answer)).toEqual(['message'])
  const invited = await tested.system.guests.create({ email: 'bo@example.com' }, { invite: true })
  const [known] = await tested.system.guests.create([{ email: 'cy@example.com', password }], {
    verified: true,
  })
  expect([invited.email, known?.email]).toEqual(['bo@example.com', 'cy@example.com'])
  expect((await tested.mails()).map(({ to }) => to).toSorted()).toEqual([email, 'bo@example.com'])
})

test('clients act as users, as nobody and as the system, by the rules', async () => {
  const user = await tested.system.users.create(ada)
  const mine = await tested.as(`users/${user.id}`).orders.create({ title: 'Tea', owner: { id: user.id } })
  expect((await tested.system.orders.history(mine.id)).data[0]?.actor).toBe(`users/${user.id}`)
  expect(await tested.as(`users/${user.id}`).auth.me()).toMatchObject({ name: 'Ada', user_type: 'user' })
  await expect(tested.client.orders.get(mine.id)).rejects.toMatchObject({ status: 401 })
  // Lists are promises, like all other calls.
  await expect(tested.client.orders.list()).rejects.toMatchObject({ status: 401 })
  await expect(tested.client.orders.list().all()).rejects.toMatchObject({ status: 401 })
  await expect(tested.system.orders.list()).resolves.toMatchObject({ next: null })
  expect((await tested.fetch(`/api/orders/${mine.id}/`)).status).toBe(401)
  await expect(tested.as('users/7').orders.get(1)).rejects.toThrow('There is no users/7.')
  await expect(tested.as('user/7').orders.get(1)).rejects.toThrow('did you mean "users"')
  // @ts-expect-error: the types come from the declaration.
  await expect(tested.client.notes.create({ titel: 'x' })).rejects.toMatchObject({ status: 422 })
})

test('a reset empties everything, and numbers begin anew', async () => {
  for (let round = 0; round < 2; round++) {
    expect((await tested.client.notes.list({ count: true })).total).toBe(0)
    expect((await tested.client.notes.create({ title: 'One' })).id).toBe(1)
    await tested.reset()
  }
})

test('reactions are waited for, with those that they set off, and their failures are told', async () => {
  const { id } = await tested.system.users.create(ada)
  await tested.system.orders.create({ title: 'Tea', owner: { id } })
  await tested.settled()
  const titles = (await tested.client.notes.list().all()).map(({ title }) => title)
  expect(titles).toEqual(['order of Tea', 'again'])
  await tested.system.orders.create({ title: 'broken', owner: { id } })
  await expect(tested.settled()).rejects.toThrow('no such thing')
})

test('mails and webhooks are caught', async () => {
  const { id } = await tested.system.users.create(ada)
  await tested.client.auth.forgot({ email: ada.email })
  const [mail] = await tested.mails()
  expect(mail?.to).toBe(ada.email)
  const token = new URL(mail?.link ?? '').searchParams.get('link') ?? ''
  await tested.client.auth.reset({ token, password: 'another horse battery' })
  await tested.client.login({ email: ada.email, password: 'another horse battery' })
  await tested.system.orders.create({ title: 'Tea', owner: { id } })
  const [sent] = await tested.webhooks()
  expect(sent).toMatchObject({ webhook: 'erp', to: 'https://erp.example.com/hook' })
  expect(sent?.headers['webhook-signature']).toStartWith('v1,')
})

test('the clock is set for rules, times and tokens, and jobs run by hand only', async () => {
  const user = await tested.system.users.create(ada)
  const client = tested.as(`users/${user.id}`)
  await client.auth.me()
  await tested.at('2037-01-01T00:00:00Z')
  expect((await client.auth.me()).id).toBe(user.id)
  await tested.run('nightly')
  const [note, ...more] = await tested.client.notes.list().all()
  expect([note?.title, note?.created_at.slice(0, 4), more.length]).toEqual(['it is 2037', '2037', 0])
  await expect(tested.run('failing')).rejects.toThrow(RangeError)
  await expect(tested.run('nightli')).rejects.toThrow('did you mean "nightly"')
  await expect(tested.at('soon')).rejects.toThrow(TypeError)
  // After a reset, a user who was known a moment ago has no session.
  await tested.reset()
  await tested.system.users.create(ada)
  const { email, password } = ada
  const sent = { method: 'POST', headers: { 'Content-Type': 'application/json', Accept: '*/*' } }
  const body = JSON.stringify({ email, password })
  const login = await tested.fetch('/api/auth/login', { ...sent, body })
  const { token } = (await login.json()) as { token: string }
  const statusOf = async () =>
    (await tested.fetch('/api/auth/me', { headers: { Accept: '*/*', Authorization: `Bearer ${token}` } }))
      .status
  expect(await statusOf()).toBe(200)
  await tested.at(new Date(Date.now() + 25 * 3600_000))
  expect(await statusOf()).toBe(401)
  await tested.reset()
  expect(new Date().getFullYear()).toBeLessThan(2037)
})

test('agents reach the app over MCP', async () => {
  await tested.system.notes.create({ title: 'for agents' })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(
    new StreamableHTTPClientTransport(new URL('/mcp', tested.url), {
      fetch: (url, init) => tested.fetch(String(url), init),
    }),
  )
  const found = await client.callTool({ name: 'find', arguments: { entity: 'notes' } })
  expect(JSON.stringify(found.structuredContent)).toContain('for agents')
  await client.close()
})
