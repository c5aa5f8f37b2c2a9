import { test } from 'bun:test'
import { connect } from '../../client/client.ts'
import { entity, everyone, integer, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { eventually, onEveryStore, type TestServer } from '../harness.ts'
import { TestStream } from '../test-stream.ts'

const declaration = withAdmins({
  rooms: entity({ fields: { title: text() }, access: { read: everyone } }),
  bookings: entity({
    fields: { number: integer(), room: ref('rooms', { as: 'bookings' }) },
    access: { read: everyone },
  }),
})

/** It compares each booking of a room with all others, and finds nothing. */
const SLOW = 'bookings.exists(b, b.room.bookings.exists(c, c.number == b.number + 100000 + c.room.id))'

onEveryStore(
  'a stream whose filter takes longer than a statement may',
  declaration,
  (server: TestServer) => {
    test('does not keep other streams from their changes', async () => {
      const room = await server.expect(201, 'POST', '/api/rooms/', { title: 'first' })
      const bookings = Array.from({ length: 1000 }, (_, number) => ({ number, room: { id: room.id } }))
      for (let round = 0; round < 2; round++) await server.expect(201, 'POST', '/api/bookings/', bookings)
      const slow = await TestStream.open(server, { lists: [{ entity: 'rooms', filter: SLOW }] })
      const rename = (title: string) => server.expect(200, 'PATCH', `/api/rooms/${room.id}/`, { title })
      // The client connects again if a stream ends.
      const api = connect<typeof declaration>(server.url)
      const follow = () => {
        const titles = new Set<string>()
        const stop = api.rooms.live({}, (rooms) => {
          for (const { title } of rooms) titles.add(title)
        })
        return { titles, stop }
      }
      const early = follow()
      await eventually(() => early.titles.has('first'))
      await rename('second')
      await eventually(() => early.titles.has('second'))
      const late = follow()
      await eventually(() => late.titles.has('second'))
      await rename('third')
      for (const { titles } of [early, late]) await eventually(() => titles.has('third'))
      slow.cut()
      for (const { stop } of [early, late]) stop()
    })
  },
  { 'statement-timeout': '1' },
)
