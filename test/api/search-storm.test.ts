import { expect, test } from 'bun:test'
import { check } from '../../src/store/check/check.ts'
import { entity, integer, text } from '../../src/takeback.ts'
import { Dice } from '../cel-values.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore, operationOf } from '../harness.ts'

const declaration = withAdmins({
  rooms: entity({
    fields: {
      title: text({ search: true }),
      note: text({ search: true, optional: true }),
      n: integer({ default: 0 }),
    },
  }),
})
const WORDS = ['the', 'red', 'blue', 'house', 'garden', 'room', 'view']
const STEPS = 30

interface Room {
  readonly id: number
  readonly title: string
  readonly note: string | null
}

onEveryStore('search after many changes at once', declaration, (server) => {
  const dice = new Dice(5)
  const words = () => Array.from({ length: 1 + dice.below(3) }, () => dice.one(WORDS)).join(' ')
  const rooms = async (query: string): Promise<Room[]> =>
    (await server.expect(200, 'GET', `/api/rooms/?limit=200&sort=id&${query}`)).data

  const part = (made: number) => {
    const body = { title: words(), note: dice.maybe(words) }
    return made < 4 || dice.below(3) === 0
      ? { method: 'POST', path: '/api/rooms/', body }
      : { method: 'PATCH', path: `/api/rooms/${1 + dice.below(made)}/`, body }
  }

  /** Changes several rooms in one transaction, some of them more than once; every third time takes that back. */
  async function change(step: number): Promise<void> {
    const made = (await rooms('')).length
    const parts = Array.from({ length: 1 + dice.below(4) }, () => part(made))
    await server.expect(200, 'POST', '/api/batch/', parts)
    if (made === 0 || step % 3 !== 2) return
    const filter = encodeURIComponent(`id % 3 != ${dice.below(3)}`)
    const body = { title: words(), n: step }
    const patched = await server.call('PATCH', `/api/rooms/?filter=${filter}`, { body })
    expect(patched.status).toBe(200)
    if (dice.below(3) === 0) await server.expect(200, 'POST', `/api/operations/${operationOf(patched)}/undo/`)
  }

  test('finds exactly the rows with the word', async () => {
    for (let step = 0; step < STEPS; step++) {
      await change(step)
      const all = await rooms('')
      for (const word of WORDS) {
        const wanted = all.filter(({ title, note }) => `${title} ${note}`.split(' ').includes(word))
        const found = await rooms(`search=${word}`)
        expect([step, word, found.map(({ id }) => id)]).toEqual([step, word, wanted.map(({ id }) => id)])
      }
    }
    expect((await check(await server.location())).findings).toEqual([])
  })
})
