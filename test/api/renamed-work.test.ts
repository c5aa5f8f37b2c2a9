import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { AppDeclaration } from '../../src/declare/define.ts'
import { dropAside, findAside } from '../../src/store/migration/drop.ts'
import { renameType } from '../../src/store/migration/type-names.ts'
import { entity, signedIn, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { ADMIN, eventually, giant, onEveryStoreByHand, TestServer } from '../harness.ts'
import { Mailbox, tokenIn } from '../mailbox.ts'
import { declaring, type Names, NEW, OLD, reacting } from '../renamed.ts'
import { Receiver, SECRET } from '../webhook-receiver.ts'

onEveryStoreByHand('what waits while types are renamed', (store) => {
  const box = new Mailbox()
  const servers: TestServer[] = []
  let smtp = ''
  beforeAll(async () => {
    smtp = await box.start()
    await box.stop()
  })
  afterAll(async () => {
    reacting.held = false
    await box.stop()
    for (const server of servers.toReversed()) await server.remove()
  })

  /** Starts a server, on the database of another one if it is given. */
  async function started(declaration: AppDeclaration, beside?: TestServer): Promise<TestServer> {
    const flags = { smtp, 'mail-from': 'app@example.com', url: 'http://127.0.0.1:1' }
    const server = new TestServer(store, declaration, flags, await beside?.database())
    server.adminToken = beside?.adminToken ?? ''
    if (beside === undefined) servers.push(server)
    await server.start()
    return server
  }
  const mailTo = async (address: string, page: string) => {
    const found = () =>
      box.mails.find(({ to, text }) => to[0] === address && text.includes(`/account/${page}`))
    await eventually(() => found() !== undefined)
    return tokenIn(found()?.text ?? '')
  }
  const tasks = (server: TestServer) =>
    server.query('SELECT queue, key, payload, error, aside_at FROM takeback_tasks ORDER BY id')
  const post = (server: TestServer, path: string, body: unknown, token: string | null = null) =>
    server.expect(200, 'POST', path, body, { token })

  /** Enqueues one mail of every kind, which cannot be sent yet. Returns who gets which. */
  async function fillMails(server: TestServer, names: Names, round: string): Promise<[string, string][]> {
    const at = (name: string) => `${name}@${round}.example.com`
    const moved = await server.user(names.users, { email: at('moved') })
    const asking = await server.user(names.users, { email: at('asking') })
    await server.member(names.users, { email: at('forgetful') })
    await server.member(names.clients, { email: at('taken') })
    await box.start()
    await post(server, '/api/auth/email', { email: at('fresh'), password: ADMIN.password }, moved.token)
    const link = await mailTo(at('fresh'), 'email')
    await eventually(async () => (await tasks(server)).every(({ queue }) => queue !== 'mail'))
    await box.stop()
    box.mails.length = 0
    await post(server, '/api/auth/email/confirm', { token: link })
    await post(server, '/api/auth/email', { email: at('next'), password: ADMIN.password }, asking.token)
    await post(server, '/api/auth/password/forgot', { email: at('forgetful'), user_type: 'user' })
    await server.expect(201, 'POST', `/api/${names.users}/?invite=1`, { email: at('invited') })
    const signUp = (email: string) =>
      server.expect(
        202,
        'POST',
        `/api/${names.clients}/`,
        { email, password: ADMIN.password },
        { token: null },
      )
    await signUp(at('new'))
    await signUp(at('taken'))
    return [
      [at('moved'), 'revert'],
      [at('next'), 'email'],
      [at('forgetful'), 'reset'],
      [at('invited'), 'invite'],
      [at('new'), 'verify'],
      [at('taken'), 'reset'],
    ]
  }

  /** Makes reactions to four changes of three Entities fail for now. Returns those expected in the end. */
  async function fillReactions(server: TestServer, { orders }: Names): Promise<string[]> {
    const order = (title: string) => server.expect(201, 'POST', `/api/${orders}/`, { title })
    const { id } = await order('a')
    await server.expect(200, 'PATCH', `/api/${orders}/${id}/`, { title: 'b' })
    const { id: other } = await order('c')
    const { id: note } = await server.expect(201, 'POST', '/api/notes/', { title: 'd' })
    return [
      `any create ${id} a`,
      `any create ${other} c`,
      `any update ${id} b`,
      `create create ${id} a`,
      `create create ${other} c`,
      `note create ${note} d`,
    ]
  }

  async function renamedWhileAllWaits(server: TestServer, from: Names, to: Names): Promise<void> {
    const other = await started(declaring(from), server)
    const mails = await fillMails(server, from, `${from.orders}.${store}`.replaceAll('_', '-'))
    reacting.held = true
    reacting.done = []
    const reactions = await fillReactions(server, from)
    await eventually(async () => {
      const all = await tasks(server)
      const failed = all.filter(({ queue, error }) => queue === 'mail' && error !== null)
      const made = all.filter(({ queue }) => queue === 'reactions')
      return failed.length === mails.length && made.length === reactions.length
    })
    await server.restart(declaring(to, from))
    reacting.held = false
    await box.start()
    // On a busy machine, many attempts have failed by now: without this, the next one would be minutes away.
    await server.query(
      'UPDATE takeback_tasks SET attempts = 1, next_at = at WHERE next_at > at AND holder IS NULL',
    )
    for (const [address, page] of mails) expect(await mailTo(address, page)).not.toBe('')
    await eventually(async () => (await tasks(server)).length === 0)
    expect(box.mails.map(({ to: [address] }) => address ?? '').sort()).toEqual(
      mails.map(([address]) => address).sort(),
    )
    expect(reacting.done.toSorted()).toEqual(reactions)
    // The links work, and lead to further mails.
    const linkTo = (page: string) => mailTo(mails.find((one) => one[1] === page)?.[0] ?? '', page)
    const invited = { token: await linkTo('invite'), password: ADMIN.password }
    await post(server, '/api/auth/password/reset', invited)
    await post(server, '/api/auth/email/revert', { token: await linkTo('revert') })
    await mailTo(mails[0]?.[0] ?? '', 'reset')
    await eventually(async () => (await tasks(server)).length === 0)
    await box.stop()
    await other.stop()
  }

  giant('mails of every kind and reactions, there and back, beside a server that went on', async () => {
    const server = await started(declaring(OLD))
    await renamedWhileAllWaits(server, OLD, NEW)
    await renamedWhileAllWaits(server, NEW, OLD)
  })

  test('changes that nobody has reacted to yet, logins under way, preferences, limits, and who did it', async () => {
    reacting.held = true
    const server = await started(declaring(OLD))
    const user = await server.user('users', { email: 'ada@example.com' })
    const kept = { views: { orders: [{ name: 'mine', query: 'sort=title' }], notes: [] }, orders: 'orders' }
    const columns = { orders: 'title', users: 'email' }
    await server.expect(200, 'PUT', '/api/auth/preferences/', { ...kept, columns }, { token: user.token })
    const asked = { provider: 'p', returnTo: '/"entity":"users"', challenge: null }
    const handoff = { ...asked, link: { entity: 'users', id: user.id } }
    const link = await server.context.handoffs.make('link', handoff)
    await server.context.rates.keep(`users/${user.id}`, 1000)
    await server.context.rates.keep(`admins/1 as users/${user.id}`, 1000)
    await server.context.rates.keep('keys/1', 1000)
    const reactions = await fillReactions(server, OLD)
    await eventually(async () => (await tasks(server)).length === reactions.length)
    await server.stop()
    // As if the server had ended before it read the journal.
    await server.query("DELETE FROM takeback_tasks WHERE queue = 'reactions'")
    await server.query('UPDATE takeback_cursors SET seq = 0')
    reacting.held = false
    reacting.done = []
    await server.restart(declaring(NEW, OLD))
    await eventually(() => reacting.done.length >= reactions.length)
    expect(reacting.done.toSorted()).toEqual(reactions)
    expect(
      await server.expect(200, 'GET', '/api/auth/preferences/', undefined, { token: user.token }),
    ).toEqual({
      ...kept,
      views: { orders_placed: kept.views.orders, notes: [] },
      columns: { orders_placed: 'title', people: 'email' },
    })
    expect(await server.context.handoffs.find('link', link)).toEqual({
      ...asked,
      link: { entity: 'people', id: user.id },
    })
    const rates = await server.query("SELECT key FROM takeback_rates WHERE key LIKE 'kept %'")
    expect(rates.map(({ key }) => key).sort()).toEqual([
      `kept chiefs/1 as people/${user.id}`,
      'kept keys/1',
      `kept people/${user.id}`,
    ])
  })

  test('a request that is repeated with its key is not done twice', async () => {
    reacting.held = false
    const server = await started(declaring(OLD))
    const { id, token } = await server.user('users', { email: 'ada@example.com' })
    const acting = await server.expect(200, 'POST', '/api/auth/as/', { user: `users/${id}` })
    const sent = [token, acting.token, server.adminToken].map((one, at) => ({
      body: { title: `${at}` },
      token: one,
      headers: { 'Idempotency-Key': 'the-same' },
    }))
    const before = await Promise.all(sent.map((one) => server.call('POST', '/api/notes/', one)))
    expect(before.map(({ status }) => status)).toEqual([201, 201, 201])
    await server.restart(declaring(NEW, OLD))
    const after = await Promise.all(sent.map((one) => server.call('POST', '/api/notes/', one)))
    expect(after.map(({ text: body }) => body)).toEqual(before.map(({ text: body }) => body))
    expect(after.every(({ headers }) => headers.get('Idempotent-Replay') === 'true')).toBe(true)
    expect(await server.rows('notes')).toBe(3)
    const other = { ...sent[0], body: { title: 'other' } }
    expect((await server.call('POST', '/api/notes/', other)).status).toBe(422)
    await server.restart(declaring(OLD, NEW))
    for (const one of sent)
      expect((await server.call('POST', '/api/notes/', one)).headers.get('Idempotent-Replay')).toBe('true')
  })

  test('what a webhook was not told yet, and what it is told of next', async () => {
    reacting.held = false
    const receiver = new Receiver()
    const { url: to, host } = receiver
    const hooked = ({ orders }: Names) => {
      const hook = { to, secret: SECRET, on: [`${orders}.create`], allow: [host] }
      return { ...declaring({ ...OLD, orders }), webhooks: { hook } } as unknown as AppDeclaration
    }
    const server = await started(hooked(OLD))
    receiver.answers.push(500, 500)
    const first = await server.expect(201, 'POST', '/api/orders/', { title: 'a' })
    await eventually(() => receiver.told.length >= 1)
    await server.stop()
    receiver.answers.length = 0
    const before = receiver.told.length
    const renamed = hooked(NEW)
    const entities = Object.entries(renamed.entities).map(([name, one]) =>
      name === NEW.orders ? [name, { ...one, was: OLD.orders }] : [name, one],
    )
    await server.restart({ ...renamed, entities: Object.fromEntries(entities) })
    const next = await server.expect(201, 'POST', `/api/${NEW.orders}/`, { title: 'b' })
    await eventually(() => receiver.told.length === before + 2)
    const told = receiver.told.slice(before).flatMap(({ body }) => body.changes)
    expect(told).toMatchObject([first, next].map(({ id }) => ({ entity: NEW.orders, id, kind: 'create' })))
    await receiver.stop()
  })

  test('what waits behind a task that was under way', async () => {
    const { promise: end, resolve: goOn } = Promise.withResolvers<void>()
    const reactions = { 'orders.*': () => end }
    const server = await started({ ...declaring(OLD), reactions } as AppDeclaration)
    const { id } = await server.expect(201, 'POST', '/api/orders/', { title: 'a' })
    await server.expect(200, 'PATCH', `/api/orders/${id}/`, { title: 'b' })
    const waiting = () => server.query('SELECT holder, next_at, error FROM takeback_tasks ORDER BY id')
    await eventually(async () => {
      const [first, second] = await waiting()
      return typeof first?.holder === 'string' && second?.next_at === null
    })
    // Renames the type, as a newer server does while this one runs.
    const opened = await server.openStore()
    await opened.structure.transact('change', (session) => renameType(session, 'orders', 'carts'))
    await opened.close()
    goOn()
    // The second task is tried. This server does not know its reaction, but the newer one does.
    await eventually(async () => {
      const all = await waiting()
      return all.length === 1 && String(all[0]?.error).includes('no reaction carts.*')
    })
  })

  test('what reactions have done is told under the name of today', async () => {
    reacting.held = false
    const named = (orders: string, was?: string): AppDeclaration => {
      const [declared, formerly] = [declaring(OLD), was === undefined ? {} : { was }]
      const entities = { ...declared.entities, [orders]: entity({ ...formerly, fields: { title: text() } }) }
      if (orders !== 'orders') delete (entities as Record<string, unknown>).orders
      const reaction = async ({ api }: { api: { notes: { create(body: object): Promise<unknown> } } }) => {
        await api.notes.create({ title: 'of a reaction' })
      }
      return { ...declared, entities, reactions: { [`${orders}.create`]: reaction } } as AppDeclaration
    }
    const server = await started(named('orders'))
    await server.expect(201, 'POST', '/api/orders/', { title: 'a' })
    const done = async (name: string) =>
      (await server.expect(200, 'GET', `/api/operations/?actor=reactions/${name}.create`)).data.length
    await eventually(async () => (await done('orders')) === 1)
    await server.restart(named('carts', 'orders'))
    expect([await done('carts'), await done('orders')]).toEqual([1, 0])
  })

  test('what is left of a type that is gone is told, and not ended in silence', async () => {
    reacting.held = true
    const server = await started(declaring(OLD))
    await server.expect(201, 'POST', '/api/users/?invite=1', { email: 'ada@example.com' })
    await fillReactions(server, OLD)
    const reasons = async () => {
      const all = await tasks(server)
      return all.map(({ error, aside_at }) => [String(error), aside_at !== null] as const)
    }
    await eventually(async () => (await tasks(server)).filter(({ error }) => error !== null).length === 4)
    const { users: _, orders: __, ...others } = declaring(OLD).entities
    const reactions = { 'notes.create': () => {} }
    const without = { admins: 'admins', entities: others, reactions } as AppDeclaration
    await server.restart(without)
    // While the types are only kept aside, tasks are retried: a type may come back, or another server may have it.
    const told = ['no Entity type users that logs in', 'no reaction orders.create']
    await eventually(async () => {
      const all = await reasons()
      return told.every((text) => all.some(([error, aside]) => error.includes(text) && !aside))
    })
    const opened = await server.openStore()
    await dropAside(opened.structure, await findAside(opened.structure, ['users', 'orders']))
    await opened.close()
    await eventually(async () => (await tasks(server)).length === 6)
    const dropped = (name: string) =>
      `${name} was dropped with "takeback migrate --drop", and with it what this task was for.`
    expect((await tasks(server)).filter(({ aside_at }) => aside_at === null)).toEqual([])
    expect(new Set((await reasons()).map(([error]) => error))).toEqual(
      new Set([dropped('users'), dropped('orders')]),
    )
    // Another type that gets the name has nothing to do with the task, even if somebody retries it.
    const { clients: ___, ...remaining } = others
    await server.restart({
      ...without,
      entities: {
        ...remaining,
        users: entity({ was: 'clients', login: { userType: 'client', verify: true }, fields: {} }),
      },
    } as AppDeclaration)
    expect(await server.context.work.retryAside('mail')).toBe(1)
    expect(await server.context.work.retryAside('reactions')).toBe(5)
    await eventually(async () =>
      (await reasons()).every(([error, aside]) => aside && error.includes('was dropped')),
    )
    expect(await tasks(server)).toHaveLength(6)
  })

  test('what no declaration has anything for is set aside after a day', async () => {
    reacting.held = true
    const server = await started(declaring(OLD))
    const reactions = await fillReactions(server, OLD)
    await eventually(async () => (await tasks(server)).filter(({ error }) => error !== null).length === 3)
    const without = { ...declaring(OLD), reactions: {} } as AppDeclaration
    await server.restart(without)
    expect((await tasks(server)).filter(({ aside_at }) => aside_at !== null)).toEqual([])
    for (let left = reactions.length; left > 0; ) {
      await server.stop()
      const past = new Date(Date.now() - 25 * 60 * 60_000).toISOString()
      await server.query('UPDATE takeback_tasks SET at = $1 WHERE aside_at IS NULL', past)
      await server.query('UPDATE takeback_tasks SET next_at = at WHERE next_at IS NOT NULL')
      await server.restart(without)
      const waiting = async () => (await tasks(server)).filter(({ aside_at }) => aside_at === null).length
      await eventually(async () => (await waiting()) < left)
      left = await waiting()
    }
    const all = await tasks(server)
    expect(all).toHaveLength(reactions.length)
    for (const { error } of all) expect(error).toContain('no longer in the declaration')
    expect(
      server.logged.join('').match(/was set aside|no longer in the declaration/g)?.length,
    ).toBeGreaterThan(5)
    // Declared again, they can be done.
    reacting.held = false
    reacting.done = []
    await server.restart(declaring(OLD))
    expect(await server.context.work.retryAside('reactions')).toBe(reactions.length)
    await eventually(() => reacting.done.length === reactions.length)
  })

  test('what users of a dropped type have done is not of those who get their name', async () => {
    const login = (userType: string, more = {}) => entity({ login: { userType }, fields: {}, ...more })
    const notes = entity({ fields: { title: text() }, access: { create: signedIn, read: signedIn } })
    const server = await started(withAdmins({ users: login('user'), clients: login('client'), notes }))
    const old = await server.user('users', { email: 'old@example.com' })
    const { id, token } = await server.user('clients', { email: 'new@example.com' })
    expect(id).toBe(old.id)
    await server.expect(201, 'POST', '/api/notes/', { title: 'of old' }, { token: old.token })
    await server.restart(withAdmins({ clients: login('client'), notes }))
    const opened = await server.openStore()
    await dropAside(opened.structure, await findAside(opened.structure, ['users']))
    await opened.close()
    await server.restart(withAdmins({ users: login('client', { was: 'clients' }), notes }))
    const own = await server.expect(200, 'GET', '/api/operations/', undefined, { token })
    expect(own.data).toEqual([])
    const all = await server.expect(200, 'GET', '/api/operations/?entity=notes')
    expect(all.data).toMatchObject([{ actor: expect.stringMatching(/^users~\d+\/1$/) }])
  })
})
