import { expect, test } from 'bun:test'
import type { AppDeclaration } from '../../src/declare/define.ts'
import { resolve } from '../../src/declare/resolve.ts'
import * as takeback from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore } from '../harness.ts'
import { blocksOf, exportedBy } from '../markdown.ts'

/** The declaration of the section in docs/declarations.md. */
function declared(): AppDeclaration {
  const [block] = blocksOf('docs/declarations.md').filter(({ text }) => text.includes("'POST /api/book/'"))
  if (block === undefined) throw new Error('The section is gone.')
  return exportedBy(block, takeback) as AppDeclaration
}

const { datetime, entity, list, ref } = takeback

const at = (quarter: number) => new Date(Date.UTC(2200, 0, 1) + quarter * 900_000).toISOString()

onEveryStore('bookings that never overlap', declared(), (server) => {
  const book = (token: string, room: number, quarters: readonly [from: number, to: number]) =>
    server.call('POST', '/api/book/', {
      token,
      body: { room: { id: room }, starts_at: at(quarters[0]), ends_at: at(quarters[1]) },
    })

  async function world() {
    const room = await server.expect(201, 'POST', '/api/rooms/', { title: 'Attic' })
    const { token } = await server.user('users', { email: `room${room.id}@example.com` })
    return { room: room.id as number, token }
  }

  test('of those who book at the same time, one succeeds', async () => {
    const { room, token } = await world()
    for (let round = 0; round < 5; round++) {
      const from = round * 10
      const asked = [0, 1, 2, 3].map((late) => book(token, room, [from + late, from + late + 4]))
      const statuses = (await Promise.all(asked)).map(({ status }) => status)
      expect(statuses.toSorted()).toEqual([200, 422, 422, 422])
    }
    expect((await book(token, room, [50, 54])).status).toBe(200)
    expect((await book(token, room, [54, 55])).status).toBe(200)
    for (const wrong of [
      [60, 60],
      [60.5, 62],
      [60, 61.5],
      [61, 60],
      [60, 157],
    ] as const)
      expect((await book(token, room, wrong)).status).toBe(422)
  })

  test('a cancellation can be taken back, unless a slot is taken', async () => {
    const { room, token } = await world()
    const { body } = await book(token, room, [0, 4])
    const cancel = (restore: string) =>
      server.call('DELETE', `/api/bookings/${body.id}/${restore}`, { token })
    const taken = async () => (await server.expect(200, 'GET', `/api/slots/?room.id=${room}&count=1`)).total
    expect(await taken()).toBe(4)
    expect((await cancel('')).status).toBe(200)
    expect(await taken()).toBe(0)
    expect((await cancel('?restore=1')).status).toBe(200)
    expect(await taken()).toBe(4)
    await cancel('')
    expect((await book(token, room, [3, 5])).status).toBe(200)
    expect((await cancel('?restore=1')).status).toBe(422)
    expect(await taken()).toBe(2)
  })
})

test('a check cannot count on referrers: writes at the same time do not see each other', () => {
  const resolved = (that: string) => () =>
    resolve(
      withAdmins({
        rooms: entity({ fields: {} }),
        bookings: entity({
          fields: {
            room: ref('rooms', { as: 'bookings' }),
            also: list(ref('rooms', { as: 'more' })),
            at: datetime(),
          },
          check: [{ that, at: 'at', says: 'is taken' }],
        }),
      }),
    )
  for (const that of [
    '!room.bookings.exists(b, b.at == at)',
    'size(room.bookings) < 3',
    'room.id == 1 || room.more.all(b, b.at != at)',
    'also.exists(r, r.bookings.exists(b, b.at == at))',
  ])
    expect(resolved(that)).toThrow('check.0.that: uses referrers, but writes at the same time')
})
