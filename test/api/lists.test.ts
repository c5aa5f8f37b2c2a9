import { beforeAll, expect, test } from 'bun:test'
import { everything } from '../declarations.ts'
import { expectInvalid, onEveryStore } from '../harness.ts'

const COLOURS = ['red', 'green', null]

onEveryStore('lists', everything, (server) => {
  const get = (query: string) => server.expect(200, 'GET', `/api/things/${query}`)
  const names = async (query: string) => (await get(query)).data.map(({ name }: { name: string }) => name)

  beforeAll(async () => {
    for (let at = 0; at < 45; at++)
      await server.expect(201, 'POST', '/api/things/', {
        name: `thing ${String(at).padStart(2, '0')}`,
        count: at % 7 === 0 ? null : (at % 7) - 3,
        price: at % 4 === 0 ? null : `${(at * 37) % 50}.5`,
        colour: COLOURS[at % 3],
        flag: at % 2 === 0,
        instant: at % 5 === 0 ? null : new Date(Date.UTC(2026, 0, 1 + (at % 6))).toISOString(),
        inner: at % 3 === 0 ? { deep: { word: `w${at % 2}` } } : null,
        ...(at > 0 && at % 10 === 0 && { parent: { id: 1 } }),
      })
  })

  test('20 at a time, a cursor to the next, null at the end', async () => {
    const first = await get('')
    expect(Object.keys(first)).toEqual(['data', 'next'])
    expect(first.data).toHaveLength(20)
    const second = await get(`?cursor=${first.next}`)
    const third = await get(`?cursor=${second.next}`)
    expect([second.data.length, third.data.length, third.next]).toEqual([20, 5, null])
    expect([first, second, third].flatMap(({ data }) => data.map(({ id }: { id: number }) => id))).toEqual(
      Array.from({ length: 45 }, (_, at) => at + 1),
    )
  })

  test('limit is from 1 to 200', async () => {
    expect((await get('?limit=45')).next).toBeNull()
    expect((await get('?limit=200')).data).toHaveLength(45)
    for (const limit of ['0', '201', 'x', '-1', '1.5', ''])
      expectInvalid(await server.call('GET', `/api/things/?limit=${limit}`), {
        limit: ['must be a whole number from 1 to 200'],
      })
  })

  test('every sort, nulls included, walks through all rows once', async () => {
    for (const sort of [
      'name',
      '-name',
      'count',
      '-count',
      'price,-count',
      '-price',
      'colour,-name',
      '-flag,instant',
      'inner.deep.word,-id',
      'parent.id',
      '-parent.id,count',
      'created_at',
      '-version,id',
      '-id',
    ]) {
      const seen: Record<string, unknown>[] = []
      let next: string | null = ''
      while (next !== null) {
        const page: { data: Record<string, unknown>[]; next: string | null } = await get(
          `?limit=4&sort=${sort}${next === '' ? '' : `&cursor=${next}`}`,
        )
        seen.push(...page.data)
        next = page.next
      }
      const whole = (await get(`?limit=200&sort=${sort}`)).data
      expect([sort, seen]).toEqual([sort, whole])
      expect(new Set(seen.map(({ id }) => id)).size).toBe(45)
    }
    expect((await names('?sort=price&limit=3')).length).toBe(3)
    const prices = (await get('?sort=price&limit=200')).data.map(({ price }: { price: string | null }) =>
      price === null ? -1 : Number(price),
    )
    expect(prices).toEqual([...prices].sort((a, b) => a - b))
  })

  test('a cursor stays right while rows come and go', async () => {
    const first = await get('?limit=10&sort=name')
    await server.expect(200, 'DELETE', `/api/things/${first.data[3].id}/`)
    await server.expect(201, 'POST', '/api/things/', { name: 'thing 00 and a half' })
    const second = await names(`?limit=10&sort=name&cursor=${first.next}`)
    expect(second[0]).toBe('thing 10')
    await server.expect(200, 'DELETE', `/api/things/${first.data[3].id}/?restore=1`)
    const { data } = await get('?name=thing 00 and a half')
    await server.expect(200, 'DELETE', `/api/things/${data[0].id}/`)
    await server.expect(204, 'DELETE', `/api/things/${data[0].id}/?purge=1`)
  })

  test('a cursor of another sort, or no cursor at all, is refused', async () => {
    const { next } = await get('?limit=2&sort=name')
    const forged = Buffer.from('things+name+id ["x",null]').toString('base64url')
    for (const query of [
      `sort=-name&cursor=${next}`,
      `cursor=${next}`,
      'cursor=x',
      'cursor=',
      'cursor=%00',
      `sort=name&cursor=${forged}`,
      `sort=count&cursor=${Buffer.from('things+count+id [{"a":1},3]').toString('base64url')}`,
    ])
      expectInvalid(await server.call('GET', `/api/things/?${query}`), {
        cursor: ['is not a cursor of this list with this sort'],
      })
  })

  test('count adds the total', async () => {
    const { data, total } = await get('?count=1&limit=2&colour=red')
    expect([data.length, total]).toEqual([2, 15])
    expect((await get('?count=0&limit=2')).total).toBeUndefined()
    expectInvalid(await server.call('GET', '/api/things/?count=yes'), { count: ['must be 1 or 0'] })
  })

  test('equality on any dot path, each with its own type', async () => {
    expect(await names('?name=thing 07')).toEqual(['thing 07'])
    expect((await get('?count=1&parent.id=1')).total).toBe(4)
    expect((await get('?inner.deep.word=w0&flag=true&count=1')).total).toBe(8)
    expect((await get('?price=37.50&count=1')).total).toBe((await get('?price=37.5&count=1')).total)
    expect((await get('?price=37.5&count=1')).total).toBeGreaterThan(0)
    expect((await get('?count=1&instant=2026-01-02T01:00:00%2B01:00')).total).toBeGreaterThan(0)
    expect((await get('?count=1&price=null')).total).toBe(12)
    expect((await get('?count=1&deleted_at=null')).total).toBe(45)
    expect((await get('?id=3')).data.map(({ id }: { id: number }) => id)).toEqual([3])
    expect((await get('?name=null')).data).toEqual([])
    expect((await get("?name=' OR 1=1 --")).data).toEqual([])
  })

  test('equality with a value of the wrong type, or on what is no value', async () => {
    const refused = {
      flag: '1',
      big: 'x',
      'parent.id': 'one',
      price: '1.234',
      instant: 'today',
      day: '2026-13-01',
      colour: 'blue',
      id: '9007199254740993',
      ratio: '0x10',
    }
    for (const [path, value] of Object.entries(refused)) {
      const { status, body } = await server.call('GET', `/api/things/?${path}=${value}`)
      expect([path, status, Object.keys(body.errors)]).toEqual([path, 422, [path]])
    }
    for (const path of [
      'parent',
      'inner',
      'inner.deep',
      'tags',
      'anything',
      'anything.a',
      'deletion',
      'pin',
      'lines.0.price',
      '"name"',
      "name'",
      'things.name',
    ])
      expect([path, (await server.call('GET', `/api/things/?${encodeURIComponent(path)}=1`)).status]).toEqual(
        [path, 422],
      )
    for (const sort of [
      'nothing',
      'name,,id',
      '-',
      '',
      'name desc',
      'name;',
      'pin',
      'tags',
      'inner',
      'name,-name',
    ]) {
      const { status, body } = await server.call('GET', `/api/things/?sort=${encodeURIComponent(sort)}`)
      expect([sort, status, Object.keys(body.errors)]).toEqual([sort, 422, ['sort']])
    }
  })

  test('fields chooses what comes back', async () => {
    expect((await get('?limit=1&fields=id,inner.deep.word,parent')).data).toEqual([
      { id: 1, inner: { deep: { word: 'w0' } }, parent: null },
    ])
    expectInvalid(await server.call('GET', '/api/things/?fields=id,,x'), {
      fields: ['"" is not a field of things', '"x" is not a field of things'],
    })
  })

  test('trashed: without, only, with', async () => {
    const { id } = await server.expect(201, 'POST', '/api/things/', { name: 'trash' })
    await server.expect(200, 'DELETE', `/api/things/${id}/`)
    expect(await names('?name=trash')).toEqual([])
    expect(await names('?trashed=only')).toEqual(['trash'])
    expect(await names('?trashed=with&name=trash')).toEqual(['trash'])
    expect((await get('?trashed=with&count=1')).total).toBe(46)
    expectInvalid(await server.call('GET', '/api/things/?trashed=yes'), { trashed: ['must be only or with'] })
  })

  test('the deletion in the trash is a field like the others', async () => {
    const { id } = await server.expect(201, 'POST', '/api/things/', { name: 'deletion' })
    await server.expect(200, 'DELETE', `/api/things/${id}/`)
    const of = `name=deletion&trashed`
    const [{ deletion }] = (await get(`?${of}=only`)).data
    expect(Object.keys(deletion)).toEqual(['operation', 'actor'])
    for (const trashed of ['only', 'with']) {
      expect((await get(`?${of}=${trashed}&fields=id,deletion`)).data).toEqual([{ id, deletion }])
      expect((await get(`?${of}=${trashed}&fields=id`)).data).toEqual([{ id }])
    }
    expect((await get('?trashed=with&id=1&fields=deletion')).data).toEqual([{ deletion: null }])
    const refusal = { fields: ['"deletion" is only there with trashed'] }
    expectInvalid(await server.call('GET', '/api/things/?fields=id,deletion'), refusal)
    expectInvalid(await server.call('GET', `/api/things/1/?fields=deletion`), refusal)
  })
})
