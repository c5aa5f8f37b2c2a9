import type { Client, connect as Connect, ConnectOptions } from '../../client/client.ts'
import * as client from '../../client/client.ts'
import type { Hotel } from './app.ts'

/**
 * Every call of a client. It runs in Bun, in Node and in a page, and only uses the platform. `network.test.ts` loses
 * every fourth answer, so a new call also changes which answers of the later calls are lost.
 */

function is(found: unknown, expected: unknown): void {
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)]
  if (one !== other) throw new Error(`expected ${other}, found ${one}`)
}

type Failed = abstract new (...given: never[]) => unknown

/** Expects a call to fail; `codes` are the allowed error codes. */
async function fails(call: PromiseLike<unknown>, Type: Failed, ...codes: string[]): Promise<void> {
  try {
    await call
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (error instanceof Type) return is(codes.includes(code) || code, true)
    throw error
  }
  throw new Error(`expected ${codes}`)
}

/** A wrong guess: after several from one address, it must wait. */
const guess = (call: Promise<unknown>, code: string) =>
  fails(call, client.ApiError, code, 'too_many_attempts')

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if (isSo()) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`it never came to this: ${what}`)
}

interface Place {
  readonly url: string
  readonly admin: { readonly email: string; readonly password: string }
  /** Makes names unique to this run. */
  readonly run: string
  readonly options?: ConnectOptions
}

export async function scenario(place: Place, connect: typeof Connect = client.connect): Promise<string> {
  const open = (more?: ConnectOptions) => connect<Hotel>(place.url, { ...place.options, ...more })
  const api = open()
  is((await api.login(place.admin)).user.user_type, 'admin')
  await entities(api, place)
  await lists(api, place)
  await past(api)
  await agents(api, open)
  await many(api, place)
  await live(api)
  await errors(api, open)
  await routes(api)
  await accounts(api, open, place)
  return 'done'
}

async function entities(api: Client<Hotel>, { run }: Place): Promise<void> {
  const room = await api.rooms.create({ title: `Attic ${run}` })
  is([room.price, room.version, room.size], ['10.00', 1, null])
  const both = await api.rooms.create([{ title: 'a' }, { title: 'b', size: { width: 3 } }])
  is([both[1]?.size?.depth, both[0]?.operation], [null, both[1]?.operation])
  const wide = await room.update({ beds: { $add: 2 }, size: { width: 3 } }, { version: 1, reason: 'größer' })
  is([wide.beds, wide.size], [3, { width: 3, depth: null }])
  // The calls are not part of the data.
  is(Object.keys(wide), Object.keys(room))
  await fails(room.update({ beds: 4 }, { version: 1 }), client.Stale, 'stale')
  const merged = await room.update({ title: `Loft ${run}` }, { base: 1 })
  is([merged.title, merged.beds], [`Loft ${run}`, 3])
  try {
    await room.update({ beds: 9 }, { base: 1 })
    throw new Error('expected a conflict')
  } catch (error) {
    if (!(error instanceof client.ChangedMeanwhile)) throw error
    is([error.version, error.conflicts?.beds?.now], [3, 3])
  }
  is((await room.replace({ title: `Loft ${run}` })).beds, 1)
  is((await room.reload()).version, 4)
  is((await api.rooms.get(room.id, { fields: ['title'] })).id, room.id)
  // As plain JavaScript may send it.
  is(Object.keys(await api.rooms.get(room.id, { fields: 'title' as never })), ['id', 'title'])
  // A field hides a call of the same name.
  const odd = await api.entities.entities.create({ update: 'x' })
  is([odd.update, (await odd.delete()).deleted_at !== null], ['x', true])
}

async function lists(api: Client<Hotel>, { run }: Place): Promise<void> {
  const house = await api.houses.create({ name: `Old ${run}`, country: 'ch' })
  const room = await api.rooms.create({ title: `Cellar ${run}`, house: { id: house.id } })
  const mine = { 'room.id': room.id } as const
  await api.bookings.create([1, 2, 3, 4, 5].map((guests) => ({ room: { id: room.id }, guests })))
  const page = await api.bookings.list({ where: mine, sort: '-guests', limit: 2, count: true })
  is([page.total, page.data.map(({ guests }) => guests), page.next !== null], [5, [5, 4], true])
  const seen: number[] = []
  for await (const one of api.bookings.list({
    where: mine,
    filter: 'guests > 1',
    sort: ['guests'],
    limit: 2,
  }))
    seen.push(one.guests)
  is(seen, [2, 3, 4, 5])
  const [one] = await api.bookings
    .list({ where: mine, expand: ['room', 'room.house'], fields: ['guests'], limit: 1 })
    .all()
  is([one?.room.title, one?.room.house?.name, one?.guests], [room.title, house.name, 1])
  const whole = await api.rooms.get(room.id, { expand: ['bookings(limit=2)'] })
  is([whole.bookings.data.length, whole.bookings.data[0]?.guests], [2, 1])
  is((await api.rooms.list({ search: `cellar ${run}` })).data.length, 1)
  const [sum] = await api.bookings.summary({ where: mine, sum: ['guests'], count: true }).all()
  is([sum?.count, sum?.sum?.guests], [5, 15])
  const { data, next } = await api.changes({ since: page.position ?? '', entity: 'bookings' })
  is([data.every(({ entity }) => entity === 'bookings'), typeof next], [true, 'string'])
}

async function past(api: Client<Hotel>): Promise<void> {
  const room = await api.rooms.create({ title: 'Past' })
  await room.update({ beds: 2 })
  const gone = await room.delete()
  await fails(room.reload(), client.NotFound, 'not_found')
  is((await api.rooms.list({ trashed: 'only', where: { id: room.id } })).data.length, 1)
  const { total, plan } = await api.preview((shown) => shown.rooms.restore(room.id))
  const back = await api.rooms.restore(room.id, { plan })
  is(
    [
      total,
      (await api.preview((shown) => shown.batch((batch) => [batch.rooms.create({ title: 'x' })]))).total,
    ],
    [1, 1],
  )
  await fails(back.update({ beds: 3 }, { plan }), client.PlanChanged, 'plan_changed')
  is([back.deleted_at, back.version], [null, 4])
  is(
    (await room.history()).data.map(({ kind }) => kind),
    ['restore', 'delete', 'update', 'create'],
  )
  is((await room.revert(1)).beds, 1)
  await room.update({ beds: 7 })
  is([(await room.undo()).total, (await room.reload()).beds], [1, 1])
  is([(await room.redo()).total, (await room.reload()).beds], [1, 7])
  const again = await room.delete()
  const undone = await api.operations.undo(again.operation ?? '')
  is([undone.total, (await room.reload()).deleted_at], [1, null])
  is((await api.operations.redo(undone.operation ?? '', { dryRun: true })).total, 1)
  const [last] = (await api.operations.list({ entity: `rooms/${room.id}`, limit: 1 })).data
  is(last?.undoes, [again.operation])
  is((await api.operations.get(gone.operation ?? '')).data[0]?.kind, 'delete')
  is(
    (await api.operations.undoAll({ entity: `rooms/${room.id}`, since: room.created_at }, { dryRun: true }))
      .total,
    1,
  )
  await room.delete()
  await room.purge()
  is((await api.rooms.history(room.id, { limit: 1 })).data[0]?.kind, 'purge')
}

async function many(api: Client<Hotel>, { run }: Place): Promise<void> {
  const made = await api.batch((batch) => {
    const room = batch.rooms.create({ title: `Batch ${run}` })
    const booking = batch.bookings.create({ room, guests: 3 })
    return [batch.bookings.update(booking.id, { status: 'held' }, { version: 1 }), room]
  })
  const [booking, room] = made.results
  is([booking.status, room.title, booking.room.id], ['held', `Batch ${run}`, room.id])
  is([made.operation, room.operation], [booking.operation, booking.operation])
  const rest = await api.batch((batch) => [
    batch.bookings.replace(booking.id, { room: { id: room.id } }),
    batch.houses.upsert({ name: `Up ${run}`, country: 'de' }, { match: ['name'] }),
    batch.bookings.update(booking.id, { guests: 2 }, { base: 3 }),
    batch.bookings.delete(booking.id),
    batch.bookings.restore(booking.id),
    batch.bookings.delete(booking.id),
    batch.bookings.purge(booking.id),
  ])
  is([rest.results[1].country, rest.results[2].guests, rest.results[6]], ['de', 2, null])
  is((await api.houses.upsert({ name: `Up ${run}`, country: 'at' }, { match: ['name'] })).version, 2)
  is((await api.houses.upsert([{ name: `Up ${run}`, country: 'ch' }], { match: ['name'] }))[0]?.version, 3)
  await api.bookings.create([1, 2].map((guests) => ({ room: { id: room.id }, guests })))
  const filter = `room.id == ${room.id}`
  const plan = await api.bookings.updateAll(filter, { guests: { $add: 1 } }, { dryRun: true })
  is([plan.total, plan.operation], [2, null])
  is(
    (await api.bookings.updateAll(filter, { guests: { $add: 1 } }, plan.plan ? { plan: plan.plan } : {}))
      .total,
    2,
  )
  await fails(
    api.bookings.updateAll(filter, { guests: 9 }, { plan: plan.plan ?? '' }),
    client.PlanChanged,
    'plan_changed',
  )
  is((await api.bookings.deleteAll(filter)).matched, 2)
}

async function live(api: Client<Hotel>): Promise<void> {
  const room = await api.rooms.create({ title: 'Live' })
  const shown: string[] = []
  const filter = `room.id == ${room.id} && guests > 1`
  const first = await api.bookings.create({ room: { id: room.id }, guests: 2 })
  const stop = api.bookings.live({ filter, fields: ['guests'], sort: '-guests' }, (all) => {
    shown.push(all.map(({ guests }) => guests).join())
  })
  const latest = (text: string) => until(`${text} (${shown})`, () => shown.at(-1) === text)
  await latest('2')
  const second = await api.bookings.create({ room: { id: room.id }, guests: 5 })
  await latest('5,2')
  await first.update({ guests: 9 })
  await latest('9,5')
  await second.update({ guests: 1 })
  await latest('9')
  await first.delete()
  await latest('')
  await first.restore()
  await latest('9')
  // The order of the server, also where a sort value is not among the fields.
  const third = await api.bookings.create({ room: { id: room.id }, guests: 9 })
  const ordered = await api.bookings.list({ filter, sort: '-guests' }).all()
  let order = ''
  const end = api.bookings.live({ filter, fields: ['starts_at'], sort: '-guests' }, (all) => {
    order = all.map(({ id }) => id).join()
  })
  await until('ties are in the order of the server', () => order === ordered.map(({ id }) => id).join())
  is(order, [third.id, first.id].join())
  end()
  await third.delete()
  await latest('9')
  stop()
  await first.update({ guests: 3 })
  is(shown.at(-1), '9')
  const wrong: unknown[] = []
  api.bookings.live({ filter: 'nothing > 1' }, () => {}, { onError: (error) => wrong.push(error) })
  await until('a wrong filter is told', () => wrong[0] instanceof client.InvalidData)
}

async function errors(api: Client<Hotel>, open: (more?: ConnectOptions) => Client<Hotel>): Promise<void> {
  try {
    await api.rooms.create({ title: 'x', beds: 0, house: { id: 999_999 } })
    throw new Error('expected failures')
  } catch (error) {
    if (!(error instanceof client.InvalidData)) throw error
    is(Object.keys(error.errors).sort(), ['beds', 'house', 'house.id'])
  }
  const nobody = open()
  await fails(nobody.rooms.list(), client.Unauthenticated, 'unauthenticated')
  await fails(open({ token: 'wrong' }).rooms.list(), client.Unauthenticated, 'invalid_token')
  is(await nobody.rooms.list().catch((error) => error.code), 'unauthenticated')
  let ended = 0
  await fails(
    nobody.rooms.list().finally(() => ended++),
    client.Unauthenticated,
    'unauthenticated',
  )
  is(ended, 1)
  await fails(api.rooms.purge((await api.rooms.create({ title: 'y' })).id), client.Conflict, 'not_deleted')
  const stopped = new AbortController()
  stopped.abort(new Error('enough'))
  await fails(api.rooms.list({ signal: stopped.signal }), Error, '')
  is((await api.may({ action: 'update', path: 'rooms/999999' })).code, 'not_found')
  is((await nobody.health()).status, 'ok')
  is((await api.healthDetails()).status, 'ok')
  await fails(
    nobody.auth.firstAdmin({ email: 'x@example.com', password: 'x', token: 'x' }),
    client.Conflict,
    'first_admin_exists',
  )
  const aside = await api.route('GET /api/system/tasks/', { query: { state: 'aside', limit: 5 } })
  is([aside.data, (await api.route('GET /api/system/jobs/')).data], [[], []])
  is((await api.route('GET /api/system/webhooks/')).data, [])
  is((await api.route('GET /api/auth/invitations/', { query: { limit: 5 } })).data, [])
  await fails(
    api.route('POST /api/auth/invitations/', { body: { user: 'users/1' } }),
    client.InvalidData,
    'invalid_data',
  )
  is((await api.route('GET /api/system/requests/')).endpoints.length > 0, true)
  is((await api.route('GET /api/system/migrations/')).plan, [])
  const none = { name: 'none' }
  await fails(
    api.route('POST /api/system/tasks/:id/retry/', { params: { id: 999_999 } }),
    client.NotFound,
    'not_found',
  )
  await fails(api.route('POST /api/system/jobs/:name/run/', { params: none }), client.NotFound, 'not_found')
  const resent = api.route('POST /api/system/webhooks/:name/resend/', { params: none, body: { aside: true } })
  await fails(resent, client.NotFound, 'not_found')
  is((await api.openapi()).openapi, '3.1.0')
  is((await api.model()).entities.find(({ name }) => name === 'rooms')?.may.purge, true)
  is((await nobody.model()).sign_in.types[0]?.login_with, 'email')
}

async function routes(api: Client<Hotel>): Promise<void> {
  const room = await api.rooms.create({ title: 'Route' })
  const sent = { params: { room: room.id }, body: { note: 'soon' } }
  const made: { booking: number; note: string } = await api.route('POST /api/checkout/:room/', sent)
  is([made.note, (await api.bookings.get(made.booking)).guests], ['soon', 2])
  is(await api.route('GET /api/free-rooms/', { query: { beds: 2 } }), { beds: '2' })
}

async function accounts(
  api: Client<Hotel>,
  open: (more?: ConnectOptions) => Client<Hotel>,
  { run }: Place,
): Promise<void> {
  const login = { email: `guest-${run}@example.com`, password: 'four random short words' }
  const guest = open()
  const { id } = await guest.users.create(login)
  is((await guest.login(login)).user.id, id)
  is((await guest.auth.me()).user_type, 'user')
  is(typeof (await guest.auth.refresh()).token, 'string')
  is(typeof (await guest.auth.ticket()).ticket, 'string')
  const changed = { password: login.password, new_password: 'five other random short words' }
  await guest.auth.password(changed)
  const elsewhere = open()
  await elsewhere.login({ email: login.email, password: changed.new_password })
  is((await guest.auth.sessions()).length, 2)
  const other = (await guest.auth.sessions()).find(({ current }) => !current)
  await guest.auth.endSession(other?.id ?? '')
  await fails(elsewhere.auth.me(), client.Unauthenticated, 'invalid_token')
  await guest.auth.endOtherSessions()
  const acting = await api.auth.as(`users/${id}`)
  is((await acting.auth.me()).id, id)
  await factors(guest, changed.new_password)
  await guest.auth.sendVerification({ email: login.email })
  await guest.auth.email.change({ email: `new-${login.email}`, password: changed.new_password })
  for (const followed of [guest.auth.verify, guest.auth.email.confirm, guest.auth.email.revert])
    await guess(followed({ token: 'wrong' }), 'invalid_link')
  await guest.auth.forgot({ email: login.email })
  await guess(guest.auth.reset({ token: 'wrong', password: changed.password }), 'invalid_link')
  await guest.logout()
  await fails(guest.auth.me(), client.Unauthenticated, 'unauthenticated')
  await guess(guest.login({ ...login, password: 'wrong' }), 'login_failed')
}

/** The key of an agent: it does nothing that it has not planned. */
async function agents(api: Client<Hotel>, open: (more: ConnectOptions) => Client<Hotel>): Promise<void> {
  const { id, key } = await api.auth.keys.create({ name: 'agent', agent: true })
  const agent = open({ token: key })
  const error = await agent.rooms.create({ title: 'Agent' }).catch((error: unknown) => error)
  if (!(error instanceof client.PlanFirst)) throw error
  is(error.preview.total, 1)
  const made = await agent.rooms.create({ title: 'Agent' }, { plan: error.preview.plan })
  is(made.title, 'Agent')
  await fails(agent.operations.undo(made.operation ?? ''), client.PlanFirst, '')
  is((await agent.operations.undo(made.operation ?? '', { dryRun: true })).total, 1)
  await api.auth.keys.end(id)
}

/** Other ways to log in. Codes of apps and answers of providers are covered by tests of the server. */
async function factors({ auth }: Client<Hotel>, password: string): Promise<void> {
  is((await auth.totp.get()).active, false)
  is(typeof (await auth.totp.setUp({ password })).secret, 'string')
  await guess(auth.totp.confirm({ code: '000000' }), 'second_factor_failed')
  await fails(auth.totp.recoveryCodes({ password }), client.NotFound, 'not_found')
  await fails(auth.totp.remove({ password }), client.NotFound, 'not_found')
  is(await auth.setPreferences({ theme: 'dark' }), await auth.preferences())
  is(await auth.passkeys.list(), [])
  is(typeof (await auth.passkeys.options({ password })).challenge, 'string')
  is(typeof (await auth.passkeys.loginOptions()).challenge, 'string')
  await fails(auth.passkeys.add({ name: 'x', credential: {} }), client.InvalidData, 'invalid_data')
  await fails(auth.passkeys.login({ credential: {} }), client.InvalidData, 'invalid_data')
  await fails(auth.passkeys.remove(1), client.NotFound, 'not_found')
  const { id, key } = await auth.keys.create({ name: 'robot' })
  is([(await auth.keys.list()).length, (await auth.keys.get(id)).name, key.slice(0, 3)], [1, 'robot', 'tb_'])
  is((await auth.keys.update(id, { name: 'other', can: { read_only: true } })).name, 'other')
  is(typeof (await auth.keys.end(id)).ended_at, 'string')
  is([await auth.providers.list(), await auth.identities.list()], [[], []])
  await guess(auth.providers.exchange({ code: 'wrong' }), 'invalid_code')
  await fails(auth.providers.link('google', { password }), client.NotFound, 'not_found')
  await guess(auth.identities.add({ code: 'wrong' }), 'invalid_code')
  await fails(auth.identities.remove(1), client.NotFound, 'not_found')
}
