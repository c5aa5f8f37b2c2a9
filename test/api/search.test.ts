import { expect, test } from 'bun:test'
import { compileSearch } from '../../src/plan/read/search.ts'
import { compile, sql } from '../../src/store/sql.ts'
import { choice, email, entity, everyone, integer, object, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { expectInvalid, onEveryStore } from '../harness.ts'

const books = withAdmins({
  books: entity({
    fields: {
      title: text({ search: true }),
      blurb: text({ search: true, optional: true }),
      pages: integer({ optional: true }),
      kind: choice(['novel', 'poem'], { search: true, default: 'novel' }),
      press: object(
        { name: text({ search: true, default: 'unknown press' }), city: text({ optional: true }) },
        { optional: true },
      ),
    },
    access: { read: everyone },
  }),
  notes: entity({ fields: { search: text({ optional: true }), mail: email({ optional: true }) } }),
})

onEveryStore('search', books, (server) => {
  const create = async (title: string, more: object = {}): Promise<number> =>
    (await server.expect(201, 'POST', '/api/books/', { title, ...more })).id
  const find = async (words: string, more = ''): Promise<string[]> =>
    (
      await server.expect(200, 'GET', `/api/books/?limit=200&search=${encodeURIComponent(words)}${more}`)
    ).data.map(({ title }: { title: string }) => title)
  const patch = (id: number, body: object) => server.expect(200, 'PATCH', `/api/books/${id}/`, body)

  test('every word in any of the fields, the last one as the beginning of one', async () => {
    await create('The Blue Éclair', { blurb: 'a story of pastry', press: { name: 'Straßenverlag' } })
    await create('Blue moons over 東京都')
    expect(await find('blue')).toEqual(['The Blue Éclair', 'Blue moons over 東京都'])
    for (const words of ['ECLAIR', 'blue past', 'pastry, "blue"', 'strassen', 'story the', 'écl'])
      expect([words, await find(words)]).toEqual([words, ['The Blue Éclair']])
    for (const words of ['moon', 'moo blue', '東京', '京都', '都', 'over 東'])
      expect([words, (await find(words)).includes('Blue moons over 東京都')]).toEqual([
        words,
        words !== 'moo blue',
      ])
    for (const words of ['past blue', 'clair', 'blue stories', '京東']) expect(await find(words)).toEqual([])
    expect(await find('novel blue')).toHaveLength(2)
  })

  test('best first: whole words before beginnings, more before fewer, short before long, new before old', async () => {
    await create('zebras all over', { blurb: 'zebras zebras zebras' })
    await create('a zebra', { blurb: `${'long '.repeat(200)}text` })
    await create('a zebra here and there and everywhere, and also elsewhere at times')
    await create('zebra zebra')
    await create('a zebra')
    expect(await find('zebra')).toEqual([
      'zebra zebra',
      'a zebra',
      'a zebra',
      'a zebra here and there and everywhere, and also elsewhere at times',
      'zebras all over',
    ])
    expect((await find('zebra', '&sort=id'))[0]).toBe('zebras all over')
    expect((await find('zebra', '&sort=-title'))[0]).toBe('zebras all over')
  })

  test('goes with equality, fields, count, limit and cursor', async () => {
    for (let at = 0; at < 25; at++)
      await create(`walrus ${'tusk '.repeat(at % 4)}${at}`, { pages: at % 2, blurb: 'x '.repeat(at % 3) })
    const whole = await server.expect(
      200,
      'GET',
      '/api/books/?search=walrus&limit=200&count=1&fields=id,title',
    )
    expect(whole.total).toBe(25)
    expect(Object.keys(whole.data[0])).toEqual(['id', 'title'])
    for (const sort of ['', '&sort=-pages', '&sort=title', '&sort=-id']) {
      const seen: unknown[] = []
      let next: string | null = ''
      while (next !== null) {
        const page: { data: unknown[]; next: string | null } = await server.expect(
          200,
          'GET',
          `/api/books/?search=walrus&limit=4${sort}${next === '' ? '' : `&cursor=${next}`}`,
        )
        seen.push(...page.data)
        next = page.next
      }
      expect(seen).toEqual(
        (await server.expect(200, 'GET', `/api/books/?search=walrus&limit=200${sort}`)).data,
      )
      expect(seen).toHaveLength(25)
    }
    const half = await server.expect(200, 'GET', '/api/books/?search=walrus&pages=1&count=1')
    expect(half.total).toBe(12)
    const { next } = await server.expect(200, 'GET', '/api/books/?search=walrus&limit=4')
    expectInvalid(await server.call('GET', `/api/books/?search=walrus&sort=id&cursor=${next}`), {
      cursor: ['is not a cursor of this list with this sort'],
    })
  })

  test('follows every write, in whatever way it is made', async () => {
    const id = await create('gnu one', { blurb: 'first gnat' })
    const found = async (...words: string[]) =>
      Promise.all(words.map(async (one) => (await find(one)).length))
    expect(await found('gnu', 'gnat', 'gnu gnat')).toEqual([1, 1, 1])
    await patch(id, { title: 'okapi' })
    expect(await found('gnu', 'gnat', 'okapi gnat')).toEqual([0, 1, 1])
    await patch(id, { blurb: null })
    expect(await found('gnat', 'okapi')).toEqual([0, 1])
    await server.expect(200, 'POST', `/api/books/${id}/revert/`, { version: 1 })
    expect(await found('gnu gnat', 'okapi')).toEqual([1, 0])
    await server.expect(200, 'PUT', `/api/books/${id}/`, { title: 'okapi two' })
    expect(await found('gnu', 'gnat', 'okapi two')).toEqual([0, 0, 1])
    const { data } = await server.expect(200, 'GET', '/api/operations/?limit=1')
    await server.expect(200, 'POST', `/api/operations/${data[0].id}/undo/`)
    expect(await found('gnu gnat', 'okapi')).toEqual([1, 0])
    await server.expect(200, 'DELETE', `/api/books/${id}/`)
    expect(await found('gnu')).toEqual([0])
    expect(await find('gnu', '&trashed=only')).toEqual(['gnu one'])
    await server.expect(200, 'DELETE', `/api/books/${id}/?restore=1`)
    expect(await found('gnu')).toEqual([1])
    await server.expect(200, 'DELETE', `/api/books/${id}/`)
    await server.expect(204, 'DELETE', `/api/books/${id}/?purge=1`)
    expect(await find('gnu', '&trashed=with')).toEqual([])
  })

  test('objects that come and go take their words along', async () => {
    const id = await create('heron')
    expect(await find('heron unknown')).toEqual([])
    await patch(id, { press: { city: 'Rome' } })
    expect(await find('heron unknown')).toEqual(['heron'])
    await patch(id, { press: { name: 'Stork' } })
    expect([await find('heron unknown'), await find('heron stork')]).toEqual([[], ['heron']])
    await patch(id, { press: null })
    expect(await find('heron stork')).toEqual([])
  })

  test('words are nowhere to be seen', async () => {
    const id = await create('Hidden Words')
    for (const path of ['', 'history/'])
      expect((await server.call('GET', `/api/books/${id}/${path}`)).text).not.toContain('~')
    const rows = await server.query('SELECT data FROM takeback_journal WHERE entity = $1', 'books')
    expect(JSON.stringify(rows)).not.toContain('~')
    for (const path of ['title~', '~rank'])
      expect((await server.call('GET', `/api/books/?${encodeURIComponent(path)}=1`)).status).toBe(422)
    for (const path of ['title~', '~rank'])
      for (const parameter of ['sort', 'fields'])
        expect(
          (await server.call('GET', `/api/books/?search=a&${parameter}=${encodeURIComponent(path)}`)).status,
        ).toBe(422)
    expect((await server.call('PATCH', `/api/books/${id}/`, { body: { 'title~': 'x' } })).status).toBe(422)
  })

  test('whatever is asked for is answered, or refused in a sentence', async () => {
    const ask = (words: string) => server.call('GET', `/api/books/?search=${encodeURIComponent(words)}`)
    for (const words of ['', ' ', '"', '*', '🎉', '()', '\0', '%', '‐'])
      expectInvalid(await ask(words), { search: ['must contain a letter or a digit'] })
    const eleven = Array.from({ length: 11 }, (_, at) => `w${at}`).join(' ')
    expectInvalid(await ask(eleven), { search: ['must have at most 10 words'] })
    expect((await ask(eleven.slice(0, -4))).status).toBe(200)
    for (const words of [
      'a"b',
      "a'b",
      "'a",
      'a*',
      'NEAR(a b)',
      'title:a',
      'a & b | !c',
      'a <-> b',
      'a:*',
      '-a',
      '^a',
      '{title} : a',
      'AND',
      'a OR',
      'NOT a',
      '\\a\\',
      "a'); DROP TABLE books; --",
      '%a_',
      'a\0b',
      'a'.repeat(10_000),
      '👩‍👩‍👧 a',
      'e\u0301',
      '\u0301',
      '1',
      'ａ',
      '$1',
      '?1',
      ':a',
      '@a',
      'a\tb\nc',
      'İ',
      'ß',
      '\u200bx',
    ])
      expect([words, [200, 422].includes((await ask(words)).status)]).toEqual([words, true])
    expect((await ask('word '.repeat(2000))).status).toBe(200)
    expect((await server.call('GET', '/api/books/?search=a&search=b')).status).toBe(422)
    expectInvalid(await server.call('GET', '/api/books/?search=a&at=2026-01-01T00:00:00Z'), {
      search: ['cannot be combined with at: search words of the past are not kept'],
    })
    expect((await server.call('GET', '/api/books/?search=blue', { token: null })).status).toBe(200)
  })

  test('texts of any length and kind are kept', async () => {
    const long = Array.from({ length: 100_000 }, (_, at) => `w${at.toString(36)}`).join(' ')
    await create('very long', { blurb: long })
    await create('very foreign', { blurb: '𠀀𪛖 🎉 ๛ क्ष ا‌ب '.repeat(2000), press: { name: '!!!' } })
    await create('!!!')
    await create('')
    expect(await find('very w1')).toEqual(['very long'])
    expect(await find('𪛖')).toEqual(['very foreign'])
    expect(await find('क्ष very')).toEqual(['very foreign'])
  })

  test('can be held to some of the fields, and weighs only those', async () => {
    const both = await create('ibis egret', { blurb: 'ibis '.repeat(9) })
    const title = await create('ibises and egret', { blurb: 'egret' })
    await create('a stork', { blurb: 'ibis egret' })
    const { model, store } = server.context
    const type = model.entities.get('books')
    if (type === undefined) throw new Error('no books')
    const within = async (words: string, paths?: readonly string[]) => {
      const search = compileSearch(type, store.dialect, (path) => paths?.includes(path) ?? true)
      if (search === undefined) return []
      const parsed = search.parse(words, new Map()) ?? []
      const found = sql`SELECT t."id", ${search.rank(parsed)} FROM "books" t WHERE ${search.condition(parsed)} ORDER BY 2 DESC`
      const params = {}
      search.bind(parsed, params)
      return (await store.read(compile(found, store.dialect.placeholder), params)).map(([id]) => Number(id))
    }
    expect(await within('egret ibis', ['title'])).toEqual([both, title])
    expect(await within('egret ibis', ['press.name'])).toEqual([])
    expect(await within('egret ibis', [])).toEqual([])
    expect(await within('egret ibis')).toHaveLength(3)
  })

  test('is told of in the reference', async () => {
    const { paths } = await server.expect(200, 'GET', '/api/openapi.json')
    const described = (path: string) =>
      paths[path].get.parameters.find(({ name }: { name?: string }) => name === 'search')?.description
    expect(described('/api/books/')).toContain('one of `title`, `blurb`, `kind`, `press.name`')
    expect(described('/api/notes/')).toBe('Only Entities with this value: a text.')
    expect(described('/api/admins/')).toBeUndefined()
  })

  test('where nothing is searched, it is a name as any other', async () => {
    await server.expect(201, 'POST', '/api/notes/', { search: 'x' })
    await server.expect(201, 'POST', '/api/notes/', { search: 'y' })
    expect((await server.expect(200, 'GET', '/api/notes/?search=x')).data).toHaveLength(1)
    expect((await server.call('GET', '/api/admins/?search=x')).status).toBe(422)
  })
})
