import { expect, test } from 'bun:test'
import { createCollection, createLiveQueryCollection, createTransaction, gt } from '@tanstack/db'
import { ChangedMeanwhile, type Client, connect, InvalidData, NetworkError } from '../../client/client.ts'
import {
  offlineQueue,
  type QueuedWrite,
  type QueueStore,
  takebackCollection,
  writeTogether,
} from '../../tanstack-db/tanstack-db.ts'
import { ADMIN, eventually, giant, onEveryStore } from '../harness.ts'
import { type Hotel, hotel } from './app.ts'

/** A network that can be cut: all of it, the feed, or the answer to the next write. */
class Network {
  isCut = false
  isDeaf = false
  losesAnswer = false
  /** All writes except the first wait for this. */
  held: Promise<void> | undefined
  /** The text that the feed has sent. */
  heard = ''
  /** The writes that have reached the server. */
  readonly writes: string[] = []

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { pathname } = new URL(url)
    if (this.isCut || (this.isDeaf && pathname === '/api/changes/')) throw new TypeError('the network is cut')
    if (init.method !== 'GET' && this.writes.length > 0) await this.held
    const response = await fetch(url, init)
    if (pathname === '/api/changes/') return this.#overheard(response)
    if (init.method === 'GET' || pathname.startsWith('/api/auth/')) return response
    this.writes.push(`${init.method} ${pathname}`)
    this.isCut = this.losesAnswer
    this.losesAnswer = false
    if (this.isCut) throw new TypeError('the answer is lost')
    return response
  }

  #overheard(response: Response): Response {
    const listen = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        this.heard += new TextDecoder().decode(chunk)
        controller.enqueue(chunk)
      },
    })
    return new Response(response.body?.pipeThrough(listen), response)
  }
}

/** A store that survives a reload of the page. */
function keptIn(writes: Map<string, QueuedWrite>): QueueStore {
  return {
    read: async () => [...writes.values()].reverse(),
    put: async (write) => void writes.set(write.id, structuredClone(write)),
    remove: async (id) => void writes.delete(id),
  }
}

onEveryStore('a collection of TanStack DB', hotel, (server) => {
  async function signedIn(network = new Network()): Promise<Client<Hotel>> {
    const api = connect<Hotel>(server.url, { fetch: network.fetch, retries: 0 })
    await api.login(ADMIN)
    return api
  }

  test('follows others, shows writes at once, and settles them by the feed', async () => {
    const [api, other] = [await signedIn(), await signedIn()]
    const houses = createCollection(takebackCollection({ api, entity: 'houses' }))
    const live = createLiveQueryCollection((query) =>
      query.from({ house: houses }).where(({ house }) => gt(house.name, 'm')),
    )
    await live.preload()
    const theirs = await other.houses.create({ name: 'theirs', country: 'ch' })
    await eventually(() => live.has(theirs.id))
    const made = houses.insert({ name: 'ours', country: 'at' })
    const [shown] = live.toArray.filter(({ name }) => name === 'ours')
    expect(shown?.id).toBeLessThan(0)
    await made.isPersisted.promise
    const id = houses.utils.idOf(shown?.id ?? 0)
    expect(live.get(id)).toMatchObject({ name: 'ours', version: 1, $synced: true })
    expect(live.toArray).toHaveLength(2)
    const removed = houses.delete(id)
    await removed.isPersisted.promise
    expect(live.toArray.map(({ name }) => name)).toEqual(['theirs'])
    await api.operations.undo(String(removed.metadata.operation))
    await eventually(() => live.has(id))
    await houses.delete(id).isPersisted.promise
    expect((await other.houses.list()).data).toHaveLength(1)
  })

  test('a new row is never missing, also while another write is under way', async () => {
    const network = new Network()
    const houses = createCollection(takebackCollection({ api: await signedIn(network), entity: 'houses' }))
    await houses.preload()
    const release = Promise.withResolvers<void>()
    network.held = release.promise
    const first = houses.insert({ name: 'first', country: 'ch' })
    const second = houses.insert({ name: 'second', country: 'ch' })
    await eventually(() => network.heard.includes('"first"'))
    expect(houses.toArray.map(({ name }) => name)).toContain('first')
    release.resolve()
    await Promise.all([first.isPersisted.promise, second.isPersisted.promise])
    expect(houses.toArray.filter(({ name }) => ['first', 'second'].includes(name))).toHaveLength(2)
  })

  test('is told what is refused: the row is rolled back, with the error of the API', async () => {
    const api = await signedIn()
    const rooms = createCollection(takebackCollection({ api, entity: 'rooms', filter: 'beds < 5' }))
    await rooms.preload()
    const refused = rooms.insert({ title: 'none', beds: 0 })
    expect(rooms.size).toBe(1)
    const error = await refused.isPersisted.promise.catch((error) => error)
    expect([error instanceof InvalidData, error.errors.beds]).toEqual([true, ['must be at least 1']])
    expect(rooms.size).toBe(0)
    // A row outside of the filter is written, and then not shown.
    await rooms.insert({ title: 'hall', beds: 9 }).isPersisted.promise
    expect([rooms.size, (await api.rooms.list()).data.length]).toEqual([0, 1])
  })

  test('merges with what others have changed; only the same field is a conflict', async () => {
    const network = new Network()
    const [api, other] = [await signedIn(network), await signedIn()]
    const { id } = await other.rooms.create({ title: 'mine', size: { width: 2 } })
    const rooms = createCollection(takebackCollection({ api, entity: 'rooms', filter: `id == ${id}` }))
    network.isDeaf = true
    await rooms.preload()
    await other.rooms.update(id, { title: 'theirs', tags: ['new'] })
    const prices = ['11', '12', '13'].map((price) =>
      rooms.update(id, (draft) => {
        draft.price = price
        if (draft.size) draft.size.depth = Number(price)
      }),
    )
    const clash = rooms.update(id, (draft) => {
      draft.title = 'ours'
    })
    expect(rooms.get(id)).toMatchObject({ price: '13', title: 'ours', version: 1 })
    const error = await clash.isPersisted.promise.catch((error) => error)
    expect([error instanceof ChangedMeanwhile, error.conflicts?.title?.now]).toEqual([true, 'theirs'])
    network.isDeaf = false
    await Promise.all(prices.map((one) => one.isPersisted.promise))
    const now = { price: '13.00', title: 'theirs', tags: ['new'], size: { width: 2, depth: 13 }, version: 5 }
    expect(rooms.get(id)).toMatchObject(now)
  })

  test('writes of several collections are one operation', async () => {
    const api = await signedIn()
    const offline = offlineQueue(api, { name: 'together', store: keptIn(new Map()) })
    const rooms = createCollection(takebackCollection({ api, entity: 'rooms', offline }))
    const bookings = createCollection(takebackCollection({ api, entity: 'bookings', offline }))
    await Promise.all([rooms.preload(), bookings.preload()])
    const both = createTransaction({ mutationFn: writeTogether, autoCommit: false })
    both.mutate(() => {
      rooms.insert({ title: 'Loft' })
      const [room] = rooms.toArray.filter(({ title }) => title === 'Loft')
      bookings.insert({ room: { id: room?.id ?? 0 }, guests: 3 })
    })
    await both.commit()
    const [booking] = bookings.toArray
    expect(rooms.get(booking?.room.id ?? 0)?.title).toBe('Loft')
    const [last] = (await api.operations.list({ limit: 1 })).data
    expect(last?.changes).toBe(2)
    offline.close()
  })

  test('without an offline queue, writes of several collections keep their order and may be one operation', async () => {
    const network = new Network()
    const api = await signedIn(network)
    const rooms = createCollection(takebackCollection({ api, entity: 'rooms' }))
    const bookings = createCollection(takebackCollection({ api, entity: 'bookings' }))
    await Promise.all([rooms.preload(), bookings.preload()])
    const idOf = (name: string) => rooms.toArray.find(({ title }) => title === name)?.id ?? 0

    // It refers to a row of another collection that does not exist on the server yet.
    const made = rooms.insert({ title: 'Cellar' })
    const booked = bookings.insert({ room: { id: idOf('Cellar') }, guests: 2 })
    await Promise.all([made.isPersisted.promise, booked.isPersisted.promise])
    expect(network.writes).toEqual(['POST /api/rooms/', 'POST /api/bookings/'])
    expect(bookings.toArray.filter(({ room }) => room.id === idOf('Cellar'))).toHaveLength(1)

    const both = createTransaction({ mutationFn: writeTogether })
    both.mutate(() => {
      rooms.insert({ title: 'Gallery' })
      bookings.insert({ room: { id: idOf('Gallery') }, guests: 3 })
    })
    await both.isPersisted.promise
    expect((await api.operations.list({ limit: 1 })).data[0]).toMatchObject({
      id: both.metadata.operation,
      changes: 2,
    })
  })

  giant('keeps writes while the network is cut, over a reload, and sends each once', async () => {
    const kept = new Map<string, QueuedWrite>()
    const refused: [string, string][] = []
    const open = async (network: Network) => {
      const api = await signedIn(network)
      const onRefused = (error: any, { parts }: QueuedWrite) =>
        void refused.push([error.code, String(parts[0]?.body?.title)])
      const offline = offlineQueue(api, { name: 'offline', store: keptIn(kept), onRefused })
      const filter = 'title.startsWith("off")'
      return {
        offline,
        rooms: createCollection(takebackCollection({ api, entity: 'rooms', filter, offline })),
      }
    }
    const api = await signedIn()
    const old = await api.rooms.create({ title: 'off old', price: '5' })
    const network = new Network()
    const before = await open(network)
    await before.rooms.preload()
    network.losesAnswer = true
    before.rooms.insert({ title: 'off lost' })
    await eventually(() => network.isCut)
    before.rooms.insert({ title: 'off new' })
    const [made] = before.rooms.toArray.filter(({ title }) => title === 'off new')
    before.rooms.update(made?.id ?? 0, (draft) => {
      draft.beds = 4
    })
    before.rooms.update(old.id, (draft) => {
      draft.price = '7'
    })
    before.rooms.insert({ title: 'off wrong', beds: 0 })
    before.rooms.update(old.id, (draft) => {
      draft.price = '8'
    })
    await eventually(() => kept.size === 6)
    before.offline.close()

    const later = new Network()
    const after = await open(later)
    after.rooms.preload()
    await eventually(() => kept.size === 0)
    await eventually(() => after.rooms.toArray.every(({ $synced }) => $synced))
    const rows = after.rooms.toArray.map(({ title, beds, price }) => `${title} ${beds} ${price}`)
    expect(rows.sort()).toEqual(['off lost 1 10.00', 'off new 4 10.00', 'off old 1 8.00'])
    const inDatabase = (await api.rooms.list({ filter: 'title.startsWith("off")' }).all()).length
    expect([inDatabase, refused]).toEqual([3, [['invalid_data', 'off wrong']]])
    expect(network.writes.length + later.writes.length).toBe(7)
    after.offline.close()
  })

  test('without a queue, a write that gets no answer is rolled back', async () => {
    const network = new Network()
    const houses = createCollection(takebackCollection({ api: await signedIn(network), entity: 'houses' }))
    await houses.preload()
    network.isCut = true
    const lost = houses.insert({ name: 'lost', country: 'ch' })
    await expect(lost.isPersisted.promise).rejects.toBeInstanceOf(NetworkError)
    expect(houses.toArray.some(({ name }) => name === 'lost')).toBe(false)
  })
})
