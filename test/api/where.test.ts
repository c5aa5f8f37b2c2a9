import { beforeAll, expect, test } from 'bun:test'
import { connect } from '../../client/client.ts'
import {
  app,
  boolean,
  choice,
  date,
  datetime,
  decimal,
  entity,
  integer,
  number,
  ref,
  text,
} from '../../src/takeback.ts'
import { expectInvalid, onEveryStore } from '../harness.ts'

const optional = { optional: true } as const

/** Values of each field: first those that are falsy in JavaScript, or that read like another type. */
const values: Record<string, readonly unknown[]> = {
  done: [false, true],
  title: ['', 'false', '0', 'a&b=c', 'ä %2C,', 'null', 'null '],
  beds: [0, -1, 7],
  share: [0, 0.5, -1e-7],
  price: ['0.00', '10.50'],
  state: ['true', 'open', 'null'],
  day: ['2026-02-28', '0001-01-01'],
  starts_at: ['2026-02-28T10:00:00.000Z', '1970-01-01T00:00:00.000Z'],
}

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    rows: entity({
      fields: {
        done: boolean(optional),
        title: text(optional),
        beds: integer(optional),
        share: number(optional),
        price: decimal(optional),
        state: choice(['open', 'true', 'null'], optional),
        day: date(optional),
        starts_at: datetime(optional),
        next: ref('rows', optional),
      },
    }),
  },
  routes: {
    'GET /api/found/': {
      query: ['asked'],
      run: ({ query, api }) => api.rows.list(JSON.parse(query.asked ?? '')),
    },
  },
})

onEveryStore('where', declaration, (server) => {
  const all: Record<string, unknown>[] = []
  const api = () => connect(server.url, { token: server.adminToken })
  beforeAll(async () => {
    for (const [name, some] of Object.entries(values))
      for (const value of [...some, null]) all.push(await api().rows.create({ [name]: value }))
    all.push(await api().rows.create({ next: { id: all[0]?.id } }))
  })

  /** Everything that takes `where`. Each returns the ids that it finds. */
  const finders: Record<string, (asked: { where: object; filter?: string }) => Promise<unknown[]>> = {
    async 'of the client'(asked) {
      const found: unknown[] = []
      for await (const { id } of api().rows.list({ ...asked, limit: 7 })) found.push(id)
      return found
    },
    async 'in code'(asked) {
      const query = encodeURIComponent(JSON.stringify({ ...asked, limit: 200 }))
      const { data } = await server.expect(200, 'GET', `/api/found/?asked=${query}`)
      return data.map(({ id }: { id: number }) => id)
    },
  }

  for (const [name, idsOf] of Object.entries(finders)) {
    test(`${name} finds exactly what has the value, whatever it is`, async () => {
      for (const [field, some] of Object.entries(values))
        for (const value of [...some, null]) {
          const same = all.filter((row) => row[field] === value).map(({ id }) => id)
          expect([field, value, await idsOf({ where: { [field]: value } })]).toEqual([field, value, same])
        }
      expect(await idsOf({ where: { 'next.id': all[0]?.id } })).toEqual([all.at(-1)?.id])
    })

    test(`${name} goes together with a filter, and with others`, async () => {
      const [first, second] = all
      const filter = 'id == 1 || id == 2'
      expect([first?.id, second?.id]).toEqual([1, 2])
      expect(await idsOf({ where: { title: null, beds: null }, filter })).toEqual([1, 2])
      expect(await idsOf({ where: { title: null, done: false }, filter })).toEqual([1])
    })
  }

  test('of the client counts what it finds, and leaves out what is undefined', async () => {
    expect((await finders['of the client']?.({ where: { done: undefined } }))?.length).toBe(all.length)
    const { total } = await api().rows.list({ where: { done: false }, count: true, limit: 1 })
    expect(total).toBe(1)
  })

  test('in code refuses what is no value', async () => {
    const query = encodeURIComponent(JSON.stringify({ where: { title: [1], day: {} } }))
    const refused = ['must be a text, a number, true, false or null']
    expectInvalid(await server.call('GET', `/api/found/?asked=${query}`), {
      'where.title': refused,
      'where.day': refused,
    })
  })
})
