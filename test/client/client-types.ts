import { createCollection, eq, Query } from '@tanstack/db'
import { type Client, connect, InvalidData } from '../../client/client.ts'
import { takebackCollection } from '../../tanstack-db/tanstack-db.ts'
import type { Hotel } from './app.ts'

/** The types that TypeScript infers for a client. Nothing here runs: the type check is the test. */

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(_: Same<A, B>) => {}

const api: Client<Hotel> = connect<Hotel>('https://api.example.com')

export async function bodies() {
  const room = await api.rooms.create({ title: 'x' })
  same<typeof room.price, string>(true)
  same<typeof room.house, { id: number } | null>(true)
  same<typeof room.size, { width: number; depth: number | null } | null>(true)
  same<typeof room.operation, string | null>(true)
  await room.update({ beds: { $add: 1 }, size: null, tags: { $add: ['x'] } }, { base: room.version })
  // @ts-expect-error: the title is required.
  await api.rooms.create({ beds: 1 })
  // @ts-expect-error: there is no such field.
  await api.rooms.create({ title: 'x', bed: 1 })
  // @ts-expect-error: a reference has an id.
  await api.rooms.create({ title: 'x', house: 5 })
  // @ts-expect-error: nothing can be added to a title.
  await api.rooms.update(1, { title: { $add: 1 } })
  // @ts-expect-error: no such choice.
  await api.bookings.update(1, { status: 'opn' })
  // @ts-expect-error: there is no such type.
  await api.romms.list()
  // @ts-expect-error: a password is never returned.
  ;(await api.users.create({ email: 'a@example.com', password: 'x' })).password
  // @ts-expect-error: no such option.
  await room.delete({ versoin: 1 })
  return room.delete({ version: 2, signal: new AbortController().signal, reason: 'x' })
}

export async function lists() {
  for await (const one of api.bookings.list({ filter: 'guests > 2', expand: ['room', 'room.house'] })) {
    same<typeof one.room.title, string>(true)
    same<NonNullable<typeof one.room.house>['country'], string>(true)
    same<typeof one.secret_note, string | null | undefined>(true)
    await one.update({ guests: 3 })
  }
  const [plain] = (await api.bookings.list()).data
  // @ts-expect-error: the room was not expanded.
  plain?.room.title
  const few = await api.bookings.get(1, { fields: ['guests', 'room'], expand: ['room'] })
  same<typeof few.room.beds, number>(true)
  // @ts-expect-error: this field was not selected.
  few.status
  const inner = await api.rooms.get(1, { fields: ['size.width'] })
  same<typeof inner.size, { width: number } | null>(true)
  const room = await api.rooms.get(1, { expand: ['bookings(limit=5)'] })
  same<(typeof room.bookings.data)[number]['guests'], number>(true)
  await api.rooms.list({
    sort: ['-price', 'house.name'],
    where: { 'house.country': 'ch', beds: 2 },
    limit: 5,
  })
  // @ts-expect-error: nothing refers to a booking.
  await api.bookings.list({ expand: ['rooms'] })
  // @ts-expect-error: no such field.
  await api.rooms.list({ fields: ['tilte'] })
  // @ts-expect-error: no such field to sort by.
  await api.rooms.list({ sort: '-prize' })
  // @ts-expect-error: no such field to compare.
  await api.rooms.list({ where: { bed: 2 } })
  // @ts-expect-error: no such parameter.
  await api.rooms.list({ filtr: 'beds > 1' })
  api.rooms.live({ filter: 'beds > 1', fields: ['title'] }, (all) => {
    same<(typeof all)[number]['title'], string | undefined>(false)
    all[0]?.title.length
    // @ts-expect-error: this field was not selected.
    all[0]?.beds
  })
  api.bookings.live({ sort: ['room.id', '-starts_at'] }, () => {})
  api.rooms.live({ sort: '-size.width' }, () => {})
  // @ts-expect-error: a booking has no title of its room.
  api.bookings.live({ sort: 'room.title' }, () => {})
}

export async function rest() {
  const { results } = await api.batch((batch) => {
    const room = batch.rooms.create({ title: 'x' })
    // @ts-expect-error: a reference has an id.
    batch.bookings.create({ room: room.id })
    return [room, batch.bookings.create({ room }), batch.rooms.purge(7)]
  })
  same<(typeof results)[0]['title'], string>(true)
  same<(typeof results)[1]['guests'], number>(true)
  same<(typeof results)[2], null>(true)
  // @ts-expect-error: there were three parts.
  results[3]
  const { user } = await api.login({ email: 'a@example.com', password: 'x' })
  same<typeof user.user_type, 'admin' | 'user'>(true)
  if (user.user_type === 'user') same<typeof user.name, string | null>(true)
  // @ts-expect-error: a login has a password.
  await api.login({ email: 'a@example.com' })
  await api.houses.upsert({ name: 'x', country: 'ch' }, { match: ['name'] })
  // @ts-expect-error: no such field.
  await api.houses.upsert({ name: 'x', country: 'ch' }, { match: ['nme'] })
  const answer: { note: string } = await api.route('POST /api/checkout/:room/', {
    params: { room: 5 },
    body: { note: 'x' },
  })
  // @ts-expect-error: no such route.
  await api.route('POST /api/chekout/:room/', {})
  // @ts-expect-error: it has a parameter and a body.
  await api.route('POST /api/checkout/:room/', { body: { note: 'x' } })
  // @ts-expect-error: a note is a text.
  await api.route('POST /api/checkout/:room/', { params: { room: 5 }, body: { note: 5 } })
  const error: unknown = answer
  if (error instanceof InvalidData) return error.errors['lines.2.price']
  // Without the types of an app, anything goes.
  return connect('https://api.example.com').anything.list({ limit: 5 })
}

export function collections() {
  const rooms = createCollection(takebackCollection({ api, entity: 'rooms', filter: 'beds > 1' }))
  const bookings = createCollection(takebackCollection({ api, entity: 'bookings', defaults: { guests: 1 } }))
  same<(typeof rooms.toArray)[number]['size'], { width: number; depth: number | null } | null>(true)
  same<ReturnType<typeof rooms.utils.idOf>, number>(true)
  rooms.insert({ title: 'x' })
  rooms.update(5, (draft) => {
    draft.beds = 2
    // @ts-expect-error: no such field.
    draft.bed = 2
  })
  // @ts-expect-error: the title is required.
  rooms.insert({ beds: 1 })
  // @ts-expect-error: keys are numbers.
  rooms.delete('5')
  // @ts-expect-error: there is no such type.
  takebackCollection({ api, entity: 'romms' })
  // @ts-expect-error: no such choice.
  takebackCollection({ api, entity: 'bookings', defaults: { status: 'opn' } })
  const untyped = createCollection(takebackCollection({ api: connect('https://x'), entity: 'anything' }))
  untyped.insert({ whatever: 1 })
  return new Query()
    .from({ booking: bookings })
    .join({ room: rooms }, ({ booking, room }) => eq(booking.room.id, room.id))
    .select(({ booking, room }) => ({ guests: booking.guests, title: room.title }))
}
