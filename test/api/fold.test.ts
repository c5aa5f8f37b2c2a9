import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Fields } from '../../src/declare/define.ts'
import { check } from '../../src/store/check/check.ts'
import { entity, everyone, object, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore, onEveryStoreByHand, TestServer } from '../harness.ts'

const optional = { optional: true } as const

const books = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: {}, access: { create: everyone } }),
  authors: entity({ fields: { name: text({ fold: true }) }, access: { read: everyone } }),
  books: entity({
    fields: {
      title: text({ sort: 'fold' }),
      plain: text(optional),
      author: ref('authors', { optional: true, as: 'books' }),
      info: object({ place: text({ fold: true, optional: true }), other: text(optional) }, optional),
      note: text({ fold: true, optional: true, read: 'me.type == "admin"' }),
      hint: text({ fold: true, optional: true, read: 'title == "Äpfel"' }),
    },
    access: {
      read: everyone,
      create: 'fold(title) != "verboten"',
      update: 'fold(next.title) != "verboten" && fold(title) != "fest"',
    },
    index: [['fold(title)']],
  }),
})

const TITLES = ['Zebra', 'äpfel', 'Apfel', 'Äpfel', 'zoo', 'ähre', 'Öl', 'Straße', 'STRASSE', '10', 'Éclair']
/** The order that people expect. Texts that differ only in case and accents keep the order of their creation. */
const SORTED = ['10', 'ähre', 'äpfel', 'Apfel', 'Äpfel', 'Éclair', 'Öl', 'Straße', 'STRASSE', 'Zebra', 'zoo']

onEveryStore('folded texts', books, (server) => {
  let token = ''
  const list = async (query: string, sent = {}): Promise<Record<string, unknown>[]> =>
    (await server.expect(200, 'GET', `/api/books/?limit=200&${query}`, undefined, sent)).data
  const titles = async (filter: string, sent = {}) =>
    (await list(`filter=${encodeURIComponent(filter)}`, sent)).map(({ title }) => title).join(' ')

  beforeAll(async () => {
    token = (await server.user('users', { email: 'ann@example.com' })).token
    await server.expect(201, 'POST', '/api/authors/', [{ name: 'Émile' }, { name: 'emile' }, { name: 'Zoé' }])
    const bodies = TITLES.map((title, at) => ({ title, author: { id: 1 + (at % 3) } }))
    await server.expect(201, 'POST', '/api/books/', bodies)
  })

  test('are found whatever their capitals and accents', async () => {
    for (const [filter, found] of [
      ['fold(title) == "apfel"', 'äpfel Apfel Äpfel'],
      ['fold(title) == "ÄPFEL"', 'äpfel Apfel Äpfel'],
      ['fold(title) == fold("Äpfel") && title != "Apfel"', 'äpfel Äpfel'],
      ['fold(title).contains("strass")', 'Straße STRASSE'],
      ['fold(title).startsWith("Ä") && fold(title).endsWith("É")', 'ähre'],
      ['fold(title) in ["ZOO", "eclair"]', 'zoo Éclair'],
      ['fold(title) < "apfel"', 'ähre 10'],
      ['fold(author.name) == "zoe" && fold(title).startsWith("a")', 'Apfel ähre'],
      ['author.books.exists(b, fold(b.title) == "zebra") && title == "10"', '10'],
      ['fold(title).matches("^[a-e]+$")', ''],
    ] as const)
      expect([filter, await titles(filter)]).toEqual([filter, found])
  })

  test('are sorted as people sort, page by page', async () => {
    for (const [sort, expected] of [
      ['title', SORTED],
      ['fold(title)', SORTED],
      ['-title', SORTED.toReversed()],
    ] as const) {
      const found: unknown[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const next: string = cursor === '' ? '' : `&cursor=${cursor}`
        const page = await server.expect(200, 'GET', `/api/books/?limit=2&sort=${sort}${next}`)
        found.push(...page.data.map(({ title }: { title: string }) => title))
        cursor = page.next
      }
      expect(found).toEqual([...expected])
    }
    const later = encodeURIComponent(new Date(Date.now() + 60_000).toISOString())
    const past = await list(`sort=title&at=${later}`)
    expect(past.map(({ title }) => title)).toEqual(TITLES.toSorted())
    const refused = await server.call('GET', `/api/books/?at=${later}&filter=fold(title)=="a"`)
    expect([refused.status, refused.body.errors.filter[0]]).toEqual([
      422,
      'uses fold(), which cannot be combined with at: folded texts of the past are not kept',
    ])
  })

  test('say what is wrong', async () => {
    for (const [filter, said] of [
      ['fold(plain) == "a"', 'needs a field that is declared with text({ fold: true }) in fold()'],
      ['fold(title + "a") == "a"', 'needs a single text field in fold()'],
      ['fold(id) == "a"', 'needs a single text field in fold()'],
      ['fold(titel) == "a"', 'unknown field "titel" at column 6; did you mean "title"?'],
    ] as const) {
      const { status, body } = await server.call('GET', `/api/books/?filter=${encodeURIComponent(filter)}`)
      expect([filter, status, body.errors?.filter?.[0]]).toEqual([filter, 422, expect.stringContaining(said)])
    }
    expect((await server.call('GET', '/api/books/?sort=fold(plain)')).status).toBe(422)
  })

  test('follow every write, and rules see what is written', async () => {
    const post = (title: string) => server.call('POST', '/api/books/', { body: { title }, token })
    expect((await post('VERBOTEN')).status).toBe(403)
    const own = (await post('erlaubt')).body.id
    const rename = async (title: string) =>
      (await server.call('PATCH', `/api/books/${own}/`, { body: { title }, token })).status
    expect([await rename('Verböten'), await rename('FÉST'), await rename('frei')]).toEqual([403, 200, 403])
    const { id } = await server.expect(201, 'POST', '/api/books/', { title: 'Fest', hint: 'HÍNT' })
    const path = `/api/books/${id}/`
    const found = async (filter: string) => (await titles(`${filter} && id == ${id}`)) !== ''
    await server.expect(200, 'PATCH', path, { title: 'Überall', info: { other: 'x' } })
    expect([await found('fold(title) == "uberall"'), await found('fold(title) == "fest"')]).toEqual([
      true,
      false,
    ])
    await server.expect(200, 'PATCH', path, { info: { place: 'Zürich' } })
    expect(await found('fold(info.place) == "zurich"')).toBe(true)
    await server.expect(200, 'PATCH', path, { info: null })
    expect(await found('fold(info.place) == null')).toBe(true)
    await server.expect(200, 'POST', `${path}revert/`, { version: 3 })
    expect(await found('fold(info.place) == "zurich"')).toBe(true)
    const deleted = await server.call('DELETE', path)
    await server.expect(200, 'POST', `/api/operations/${deleted.headers.get('Takeback-Operation')}/undo/`)
    await server.expect(200, 'PUT', path, { title: 'Fin' })
    expect(await found('fold(title) == "fin" && fold(hint) == null')).toBe(true)
    await server.expect(200, 'DELETE', path)
  })

  test('tell nothing of what the caller may not see', async () => {
    await server.expect(200, 'PATCH', '/api/books/4/', { note: 'Geheim', hint: 'Sichtbar' })
    await server.expect(200, 'PATCH', '/api/books/5/', { note: 'Geheim', hint: 'Sichtbar' })
    const as = (query: string) => server.call('GET', `/api/books/?${query}`, { token })
    const said = async (query: string) => JSON.stringify((await as(query)).body).replaceAll('note', 'nope')
    for (const query of ['filter=fold(note)=="a"', 'sort=fold(note)', 'filter=fold(note).contains("e")'])
      expect(await said(query)).toBe(await said(query.replaceAll('note', 'nope')))
    expect(await titles('fold(hint) == "sichtbar"', { token })).toBe('Äpfel')
    expect(await titles('fold(hint).contains("b")', { token })).toBe('Äpfel')
    const sorted = await list('sort=-fold(hint)', { token })
    expect(sorted.map(({ id }) => id)).toEqual([
      4,
      ...sorted
        .map(({ id }) => Number(id))
        .filter((id) => id !== 4)
        .sort((a, b) => b - a),
    ])
  })
})

onEveryStoreByHand('folding that is declared later', (store) => {
  const things = (fields: Fields, index: string[][] = []) => withAdmins({ things: entity({ fields, index }) })
  const server = new TestServer(store, things({ a: text() }))
  beforeAll(() => server.start())
  afterAll(() => server.remove())
  const ids = async (filter: string) =>
    (await server.expect(200, 'GET', `/api/things/?filter=${encodeURIComponent(filter)}`)).data.map(
      ({ id }: { id: number }) => id,
    )

  test('folds what is there, is renamed with its text, and goes again', async () => {
    await server.expect(201, 'POST', '/api/things/', [{ a: 'Ä' }, { a: 'b' }, { a: 'á' }])
    await server.expect(200, 'DELETE', '/api/things/3/')
    await server.restart(things({ a: text({ fold: true, search: true }) }, [['fold(a)']]))
    await server.expect(200, 'DELETE', '/api/things/3/?restore=1')
    expect(await ids('fold(a) == "a"')).toEqual([1, 3])
    await server.restart(things({ b: text({ was: 'a', sort: 'fold' }) }, [['b']]))
    expect(await ids('fold(b) == "a"')).toEqual([1, 3])
    await server.expect(200, 'PATCH', '/api/things/2/', { b: 'À' })
    expect((await check(await server.location())).findings).toEqual([])
    await server.restart(things({ b: text() }))
    await server.restart(things({ b: text(), c: text({ default: 'Ça', fold: true }) }))
    expect(await ids('fold(c) == "ca"')).toEqual([1, 2, 3])
  })
})
