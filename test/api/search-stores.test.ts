import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { keptWords } from '../../src/declare/words.ts'
import { system } from '../../src/plan/viewer/actor.ts'
import { copy } from '../../src/store/copy/copy.ts'
import { entity, everyone, object, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { isDeep, isTested, onEveryStoreByHand, onStore, TestServer } from '../harness.ts'
import { startPostgres } from '../postgres.ts'

const declaration = withAdmins({
  pages: entity({
    fields: {
      title: text({ search: true }),
      body: text({ search: true, optional: true }),
      by: object({ name: text({ search: true, optional: true }) }, { optional: true }),
    },
    access: { read: everyone },
  }),
})

/** Few words, so that many are found, in many scripts; some are prefixes of others. */
const VOCABULARY =
  'a an ant anthem Ant çà Éclair ecl o’neil 12 123 1234 東京都 京都 東 Straße strass οδός ΟΔΟΣ हिन्दी ครับ 🎉 - x_y Ελλάδα'.split(
    ' ',
  )

/** Returns the same random numbers on every store (mulberry32). */
function* numbers(seed: number): Generator<number> {
  for (let state = seed; ; ) {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    yield ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function sentences(seed: number): (most: number) => string {
  const random = numbers(seed)
  const next = (below: number) => Math.floor((random.next().value ?? 0) * below)
  return (most) => Array.from({ length: next(most + 1) }, () => VOCABULARY[next(VOCABULARY.length)]).join(' ')
}

/** How many searches are compared. */
const ROUNDS = isDeep ? 400 : 40

describe.skipIf(!isTested('postgres'))('search on every database', () => {
  const servers = ['sqlite', 'postgres'].map((store) => new TestServer(store, declaration))
  beforeAll(async () => {
    await startPostgres()
    for (const server of servers) {
      await server.start()
      const say = sentences(7)
      for (let at = 1; at <= 250; at++) {
        const body = {
          title: say(6),
          body: at % 3 === 0 ? null : say(40),
          by: at % 4 === 0 ? { name: say(2) } : null,
        }
        await server.expect(201, 'POST', '/api/pages/', body)
        if (at % 5 === 0 && (at - 2) % 9 > 0)
          await server.expect(200, 'PATCH', `/api/pages/${at - 2}/`, { title: say(4) })
        if (at % 9 === 0) await server.expect(200, 'DELETE', `/api/pages/${at}/`)
        if (at % 18 === 0) await server.expect(204, 'DELETE', `/api/pages/${at}/?purge=1`)
      }
    }
  })
  afterAll(() => Promise.all(servers.map((server) => server.remove())))

  test('gives the same in the same order', async () => {
    const say = sentences(11)
    let found = 0
    for (let round = 0; round < ROUNDS; round++) {
      const words = encodeURIComponent(`${say(2)} ${VOCABULARY[round % VOCABULARY.length]}`)
      const query = `/api/pages/?limit=200&count=1&fields=id&search=${words}`
      const [one, other] = await Promise.all(servers.map((server) => server.call('GET', query)))
      expect([words, one?.text]).toEqual([words, other?.text])
      found += one?.body.total ?? 0
      const next = `/api/pages/?limit=3&fields=id&search=${words}`
      const [mine, yours] = await Promise.all(servers.map((server) => server.call('GET', next)))
      expect([words, mine?.text]).toEqual([words, yours?.text])
    }
    expect(found).toBeGreaterThan(5 * ROUNDS)
  })

  test('finds what a walk over all texts finds', async () => {
    for (const server of servers) {
      const { data } = await server.expect(200, 'GET', '/api/pages/?limit=200')
      const { data: rest } = await server.expect(200, 'GET', '/api/pages/?limit=200&sort=-id')
      const all = new Map([...data, ...rest].map((page) => [page.id, page]))
      const wordsOf = (page: { title: string; body: string | null; by: { name: string | null } | null }) =>
        [page.title, page.body ?? '', page.by?.name ?? ''].map(keptWords).join('')
      for (const [first, last] of [
        ['ant', 'an'],
        ['123', '12'],
        ['京都', '東'],
        ['strass', 'οδ'],
      ] as const) {
        const expected = [...all.values()].filter(
          (page) => wordsOf(page).includes(` ${first} `) && wordsOf(page).includes(` ${last}`),
        )
        const query = `/api/pages/?limit=200&sort=id&search=${encodeURIComponent(`${first} ${last}`)}`
        const got: { id: number }[] = (await server.expect(200, 'GET', query)).data
        expect(got.map(({ id }) => id)).toEqual(expected.map(({ id }) => id).sort((a, b) => a - b))
        expect(got.length).toBeGreaterThan(5)
      }
    }
  })

  test('is copied along, both ways', async () => {
    const query = `/api/pages/?limit=50&search=${encodeURIComponent('ant')}`
    for (const [at, source] of servers.entries()) {
      const store = at === 0 ? 'postgres' : 'sqlite'
      const target = new TestServer(store, declaration)
      const [from, to] = [await source.openStore(), await target.openStore()]
      await copy(from, to, () => {})
      await Promise.all([from.close(), to.close()])
      target.adminToken = source.adminToken
      await target.start()
      expect((await target.call('GET', query)).text).toBe((await source.call('GET', query)).text)
      await target.expect(200, 'PATCH', '/api/pages/1/', { title: 'unheard of' })
      expect((await target.expect(200, 'GET', '/api/pages/?search=unheard')).data).toHaveLength(1)
      await target.remove()
    }
  })
})

onEveryStoreByHand('search in many', (store) => {
  const server = new TestServer(store, declaration)
  const ROWS = 100_000
  beforeAll(async () => {
    await server.start()
    const numbersOf =
      store === 'sqlite'
        ? `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})`
        : `WITH n(i) AS (SELECT * FROM generate_series(1, ${ROWS}))`
    const time = store === 'sqlite' ? "'2026-01-01T00:00:00.000Z'" : "timestamptz '2026-01-01'"
    await server.query(
      `INSERT INTO pages (version, created_at, updated_at, title, "title~")
      SELECT * FROM (${numbersOf} SELECT 1, ${time}, ${time}, 'page ' || i || ' of w' || (i % 1000),
        ' page  ' || i || '  of  w' || (i % 1000) || ' ' FROM n) x`,
    )
    await server.query('ANALYZE pages')
  })
  afterAll(() => server.remove())

  test('is by the index', async () => {
    const lists = server.context.plans.get('pages')?.view(system).lists
    if (lists === undefined) throw new Error('no lists')
    const { statement, params } = lists.page({
      filters: [],
      sort: lists.byRank,
      after: undefined,
      trashed: 'without',
      fields: undefined,
      expand: undefined,
      limit: 20,
      at: undefined,
      search: ['page', 'w77'],
    })
    const values = statement.paramNames.map((name) => params[name] as string | number | null)
    const rows = await server.query(
      `${store === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN'} ${statement.text}`,
      ...values,
    )
    const plan = rows.map((row) => Object.values(row).join(' ')).join('\n')
    expect(plan).toMatch(
      store === 'sqlite' ? /SCAN pages:\S+:search VIRTUAL TABLE/ : /Bitmap Index Scan on "pages:\S+"/,
    )
    expect(plan).not.toMatch(/SCAN t\b|Seq Scan/)
    const found = await server.expect(200, 'GET', '/api/pages/?search=page%20w77&count=1')
    expect(found.total).toBe(100 + 1000)
    expect(found.data[0].title).toEndWith(' of w77')
  })
})

onStore('sqlite', 'what is purged', declaration, (server) => {
  test('leaves none of its words in any file', async () => {
    const random = numbers(3)
    const canary = () =>
      Array.from({ length: 14 }, () =>
        String.fromCharCode(97 + Math.floor((random.next().value ?? 0) * 26)),
      ).join('')
    const canaries: string[] = []
    const said = (count: number) => {
      const made = Array.from({ length: count }, canary)
      canaries.push(...made)
      return made.join(' ')
    }
    // Enough for several segments and pages of the index, among words that stay.
    for (let at = 0; at < 300; at++)
      await server.expect(201, 'POST', '/api/pages/', { title: `stays ${canary()}`, body: canary() })
    for (let at = 1; at <= 300; at += 2)
      await server.expect(200, 'PATCH', `/api/pages/${at}/`, { title: said(2), body: said(20) })
    const files = () =>
      Buffer.concat(readdirSync(server.folder).map((name) => readFileSync(join(server.folder, name))))
    const before = files()
    expect(canaries.slice(0, 50).every((word) => before.includes(word))).toBe(true)
    for (let at = 1; at <= 300; at += 2) {
      await server.expect(200, 'DELETE', `/api/pages/${at}/`)
      await server.expect(204, 'DELETE', `/api/pages/${at}/?purge=1`)
    }
    // The index shares prefixes of words, so only the ends of words are looked for.
    const bytes = files()
    expect(canaries.filter((word) => bytes.includes(word.slice(4)))).toEqual([])
    expect((await server.expect(200, 'GET', '/api/pages/?search=stays&count=1')).total).toBe(150)
    const rest = await Promise.all(
      ['data', 'idx'].map(async (part) =>
        server.query(`SELECT * FROM "pages:title~+body~+by.name~:search_${part}"`),
      ),
    )
    const kept = Buffer.concat(
      rest
        .flat()
        .flatMap((row) => Object.values(row))
        .map((value) => (value instanceof Uint8Array ? value : Buffer.from(String(value)))),
    )
    expect(canaries.filter((word) => kept.includes(word.slice(4)))).toEqual([])
    const [search] = await server.query("SELECT name FROM sqlite_schema WHERE name LIKE '%:search'")
    await server.query(
      `INSERT INTO "${search?.name}" ("${search?.name}", rank) VALUES ('integrity-check', 1)`,
    )
  })
})
