import { beforeAll, expect, test } from 'bun:test'
import { choice, date, datetime, decimal, entity, integer, number, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore } from '../harness.ts'

const shop = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: {} }),
  shops: entity({ fields: { name: text() }, access: { read: 'me != null' } }),
  sales: entity({
    fields: {
      shop: ref('shops', { optional: true }),
      owner: ref('users', { optional: true }),
      status: choice(['open', 'paid'], { optional: true }),
      pieces: integer({ optional: true }),
      price: decimal({ scale: 3, optional: true }),
      weight: number({ optional: true }),
      day: date({ optional: true }),
      sold_at: datetime({ optional: true, read: 'owner == null || owner.id == me.id' }),
      margin: integer({ optional: true, read: 'me.type == "admin"' }),
    },
    access: { read: 'owner.id == me.id' },
  }),
})

const NO_ZONE =
  '"Europe/Berlim" is not a time zone, such as Europe/Berlin or UTC; did you mean "Europe/Berlin"?'

onEveryStore('summaries', shop, (server) => {
  let ann = { id: 0, token: '' }
  const get = (query: string, token?: string) =>
    server.expect(200, 'GET', `/api/sales/summary/?${query}`, undefined, token === undefined ? {} : { token })

  beforeAll(async () => {
    ann = await server.user('users', { email: 'ann@example.com' })
    await server.expect(201, 'POST', '/api/shops/', [{ name: 'A' }, { name: 'B' }])
    await server.expect(201, 'POST', '/api/sales/', [
      {
        shop: { id: 1 },
        status: 'open',
        pieces: 2,
        price: '1.005',
        weight: 0.5,
        day: '2026-01-02',
        margin: 5,
      },
      { shop: { id: 1 }, status: 'paid', pieces: -3, price: '2', weight: 1.5, day: '2026-01-01' },
      { shop: { id: 2 }, status: 'open', pieces: 9007199254740991, owner: { id: ann.id } },
      { shop: { id: 2 }, status: 'open', pieces: 9007199254740991, price: '999999999999999.999' },
      { status: null, pieces: null, price: '999999999999999.999', owner: { id: ann.id }, margin: 7 },
    ])
  })

  test('count, add up, average and bound, by group', async () => {
    expect(await get('')).toEqual({ data: [{ count: 5 }], next: null })
    expect(await get('group=status&count=1')).toEqual({
      data: [
        { group: { status: null }, count: 1 },
        { group: { status: 'open' }, count: 3 },
        { group: { status: 'paid' }, count: 1 },
      ],
      next: null,
    })
    expect(await get('group=shop.name&sum=pieces,price&avg=weight,price&min=day&max=day,price')).toEqual({
      data: [
        {
          group: { 'shop.name': null },
          sum: { pieces: null, price: '999999999999999.999' },
          avg: { weight: null, price: 1e15 },
          min: { day: null },
          max: { day: null, price: '999999999999999.999' },
        },
        {
          group: { 'shop.name': 'A' },
          sum: { pieces: -1, price: '3.005' },
          avg: { weight: 1, price: 1.5025 },
          min: { day: '2026-01-01' },
          max: { day: '2026-01-02', price: '2.000' },
        },
        {
          group: { 'shop.name': 'B' },
          sum: { pieces: '18014398509481982', price: '999999999999999.999' },
          avg: { weight: null, price: 1e15 },
          min: { day: null },
          max: { day: null, price: '999999999999999.999' },
        },
      ],
      next: null,
    })
    expect((await get('sum=price')).data).toEqual([{ sum: { price: '2000000000000003.003' } }])
  })

  test('see what the list would show', async () => {
    expect((await get('filter=pieces<5&sum=pieces&count=1')).data).toEqual([
      { count: 2, sum: { pieces: -1 } },
    ])
    expect((await get('shop.name=A&group=status')).data).toHaveLength(2)
    expect((await get('count=1', ann.token)).data).toEqual([{ count: 2 }])
    await server.expect(403, 'GET', '/api/sales/summary/?trashed=only', undefined, { token: ann.token })
    await server.expect(401, 'GET', '/api/sales/summary/', undefined, { token: null })
    for (const name of ['group', 'sum', 'min']) {
      const [hidden, unknown] = await Promise.all(
        ['margin', 'morgan'].map((path) =>
          server.call('GET', `/api/sales/summary/?${name}=${path}`, { token: ann.token }),
        ),
      )
      expect(hidden?.text.replace('margin', 'morgan')).toBe(unknown?.text ?? '')
      expect(hidden?.status).toBe(422)
    }
    expect((await get('sum=margin')).data).toEqual([{ sum: { margin: 12 } }])
  })

  test('come a page at a time', async () => {
    const first = await get('group=shop.id,status&limit=2')
    const second = await get(`group=shop.id,status&limit=2&cursor=${first.next}`)
    const whole = await get('group=shop.id,status')
    expect([...first.data, ...second.data]).toEqual(whole.data)
    expect([whole.data.length, second.next]).toEqual([4, null])
  })

  test('refuse what is no number, no value or no parameter', async () => {
    for (const [query, errors] of [
      ['sum=status', { sum: ['"status" is not a number of sales'] }],
      ['avg=day', { avg: ['"day" is not a number of sales'] }],
      ['min=status', { min: ['"status" is not a number, a date or a time of sales'] }],
      ['group=nothing', { group: ['"nothing" is not a value of sales'] }],
      ['group=status,status', { group: ['names a value twice'] }],
      ['sort=status', { sort: ['"status" is neither in group nor a figure of this request: sort by count'] }],
      [
        'group=status&sum=pieces&sort=-sum(price)',
        {
          sort: [
            '"sum(price)" is neither in group nor a figure of this request: sort by sum(pieces), status; did you mean "sum(pieces)"?',
          ],
        },
      ],
      ['group=status&sort=-count,count', { sort: ['names a value twice'] }],
      ['distinct=nothing', { distinct: ['"nothing" is not a value of sales'] }],
      ['group=day(status)', { group: ['"status" is not a date or a time of sales'] }],
      ['group=day(nothing)', { group: ['"nothing" is not a date or a time of sales'] }],
      ['sum=day(sold_at)', { sum: ['"day(sold_at)" is not a number of sales'] }],
      ['group=hour(day)', { group: ['"day" is a date, which has no hours'] }],
      ['group=month(day,UTC)', { group: ['"day" is a date, which has no time zone: write month(day)'] }],
      ['group=day(sold_at,"Europe/Berlim")', { group: [NO_ZONE] }],
      ["group=day(sold_at,Europe'Berlin)", { group: ['has a text without its closing quote'] }],
      ['group=day(sold_at', { group: ['has a "(" without its ")"'] }],
      ['group=day(sold_at),day( sold_at )', { group: ['names a value twice'] }],
      ['group=status&sort=-count&cursor=abc', { cursor: ['is not a cursor of this summary with this sort'] }],
      ['count=2', { count: ['must be 1 or 0'] }],
    ] as const) {
      const { status, body } = await server.call('GET', `/api/sales/summary/?${query}`)
      expect([query, status, body.errors]).toEqual([query, 422, errors])
    }
  })
})

/** Times around clock changes, and at the limits of what can be written. */
const TIMES = [
  '2026-03-28T22:59:59.999Z',
  '2026-03-28T23:00:00.000Z',
  '2026-03-29T00:30:00.000Z',
  '2026-03-29T01:30:00.001Z',
  '2026-03-29T21:59:59.999Z',
  '2026-03-29T22:00:00.000Z',
  '2026-10-25T00:30:00.000Z',
  '2026-10-25T01:30:00.000Z',
  '2026-12-31T23:30:00.000Z',
  '2027-01-01T00:15:30.500Z',
  '2024-12-30T12:00:00.000Z',
  '2027-01-03T23:59:59.999Z',
  '1969-12-31T23:59:59.999Z',
  '1850-06-01T23:50:00.000Z',
  '0001-01-01T00:00:00.000Z',
  '9999-12-31T23:59:59.999Z',
]
const ZONES = [undefined, 'UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Pacific/Kiritimati']

/** Returns the expected group of a time, by the clocks of the zone. */
function periodOf(unit: string, time: string, zone = 'UTC'): string | null {
  if (zone !== 'UTC' && (time < '0001-01-02' || time >= '9999-12-31')) return null
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'medium',
  }).format(new Date(time))
  const [day = '', clock = ''] = zone === 'UTC' ? time.split(/[T.]/) : format.split(' ')
  const [, minutes = 0, seconds = 0] = clock.split(':').map(Number)
  if (unit === 'hour') {
    const since = (minutes * 60 + seconds) * 1000 + Number(time.slice(20, 23))
    return new Date(Date.parse(time) - since).toISOString()
  }
  if (unit === 'month' || unit === 'year')
    return `${day.slice(0, unit === 'month' ? 7 : 4)}-01-01`.slice(0, 10)
  const date = new Date(`${day}T00:00:00Z`)
  if (unit === 'week') date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7))
  return date.toISOString().slice(0, 10)
}

onEveryStore('summaries of periods', shop, (server) => {
  let ann = { id: 0, token: '' }
  const get = async (query: Record<string, string>, token?: string) =>
    server.expect(
      200,
      'GET',
      `/api/sales/summary/?${new URLSearchParams(query)}`,
      undefined,
      token === undefined ? {} : { token },
    )

  beforeAll(async () => {
    ann = await server.user('users', { email: 'ann@example.com' })
    const sales = TIMES.map((sold_at, at) => ({
      sold_at,
      day: sold_at.slice(0, 10),
      status: at % 3 === 0 ? 'open' : 'paid',
      pieces: at === 15 ? 9007199254740991 : at,
      price: `${at % 4}.5`,
      weight: at / 4,
    }))
    await server.expect(201, 'POST', '/api/sales/', [...sales, { status: null }])
  })

  test('group times by hour, day, week, month and year, in any time zone', async () => {
    for (const zone of ZONES)
      for (const unit of ['hour', 'day', 'week', 'month', 'year']) {
        const name = zone === undefined ? `${unit}(sold_at)` : `${unit}(sold_at,"${zone}")`
        const { data } = await get({ group: name })
        const counts = Object.entries(Object.groupBy(TIMES, (time) => String(periodOf(unit, time, zone))))
          .map(([value, times = []]): [string | null, number] => [
            value === 'null' ? null : value,
            times.length,
          ])
          .filter(([value]) => value !== null)
          .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))
        const nowhere = TIMES.length + 1 - counts.reduce((all, [, count]) => all + count, 0)
        expect([name, data]).toEqual([
          name,
          [[null, nowhere] as const, ...counts].map(([value, count]) => ({
            group: { [name]: value },
            count,
          })),
        ])
      }
  })

  test('group dates by their own day, week, month and year', async () => {
    for (const unit of ['day', 'week', 'month', 'year']) {
      const { data } = await get({ group: `${unit}(day)`, distinct: 'day' })
      const days = new Set(TIMES.map((time) => time.slice(0, 10)))
      expect(data.slice(1).map((one: any) => one.group[`${unit}(day)`])).toEqual(
        [...new Set([...days].map((day) => periodOf(unit, `${day}T00:00:00.000Z`)))].sort(),
      )
      expect(data.reduce((all: number, one: any) => all + one.distinct.day, 0)).toBe(days.size)
    }
  })

  test('count distinct values, periods too', async () => {
    expect((await get({ distinct: 'status,price,sold_at,year(sold_at)' })).data).toEqual([
      { distinct: { status: 2, price: 4, sold_at: 16, 'year(sold_at)': 7 } },
    ])
    expect((await get({ group: 'status', distinct: 'price', count: '1' })).data).toEqual([
      { group: { status: null }, count: 1, distinct: { price: 0 } },
      { group: { status: 'open' }, count: 6, distinct: { price: 4 } },
      { group: { status: 'paid' }, count: 10, distinct: { price: 4 } },
    ])
  })

  test('are sorted by figures and by values, page by page', async () => {
    const figures = {
      count: '1',
      sum: 'pieces,price',
      avg: 'weight,price',
      min: 'day',
      max: 'pieces',
      distinct: 'status',
    }
    const group = 'year(sold_at),status'
    const figureOf = (one: any, name: string) => {
      const [, figure = '', path = ''] = /^(\w+)\((.*)\)$/.exec(name) ?? []
      return name in one.group ? one.group[name] : figure === '' ? one[name] : one[figure][path]
    }
    const less = (a: unknown, b: unknown) => {
      if (a === b) return 0
      if (a === null || b === null) return a === null ? -1 : 1
      const [x, y] = [a, b].map((one) => (/^\d+(\.\d+)?$/.test(String(one)) ? Number(one) : String(one)))
      return (x ?? 0) < (y ?? 0) ? -1 : 1
    }
    const whole = (await get({ group, ...figures })).data
    for (const sort of [
      '-count',
      'count,-status',
      '-sum(pieces)',
      'sum(price),-count',
      '-avg(weight)',
      'avg(price)',
      'min(day)',
      '-max(pieces)',
      '-distinct(status),-year(sold_at)',
      '-year(sold_at)',
      'status,-year(sold_at)',
      '-status',
    ]) {
      const keys = [...sort.split(','), ...group.split(',')].map((key) => [
        key.replace(/^-/, ''),
        key[0] === '-',
      ])
      const wanted = whole.toSorted((a: any, b: any) => {
        for (const [name, descending] of keys) {
          const order = less(figureOf(a, String(name)), figureOf(b, String(name)))
          if (order !== 0) return descending ? -order : order
        }
        return 0
      })
      const found: unknown[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const page = await get({ group, ...figures, sort, limit: '3', ...(cursor !== '' && { cursor }) })
        found.push(...page.data)
        cursor = page.next
      }
      expect([sort, found]).toEqual([sort, wanted])
    }
    const top = await get({ group: 'status', sort: '-count', limit: '1' })
    expect(top.data).toEqual([{ group: { status: 'paid' }, count: 10 }])
  })

  test('tell nothing of hidden times', async () => {
    const made = await server.expect(201, 'POST', '/api/sales/', [
      { sold_at: '2000-01-01T00:00:00Z', owner: { id: ann.id } },
    ])
    const { data } = await get({ group: 'year(sold_at)', distinct: 'sold_at' }, ann.token)
    expect(data).toEqual([{ group: { 'year(sold_at)': '2000-01-01' }, distinct: { sold_at: 1 } }])
    await server.expect(200, 'DELETE', `/api/sales/${made.data[0].id}/`)
  })
})
