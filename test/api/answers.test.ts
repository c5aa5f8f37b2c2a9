import { beforeAll, describe, expect } from 'bun:test'
import { budget } from '../../src/budget.ts'
import { entity, everyone, integer, list, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { giant, isDeep, onEveryStore, sample, sampleStart, type TestServer } from '../harness.ts'

const declaration = withAdmins({
  nodes: entity({
    fields: {
      name: text(),
      body: text({ optional: true }),
      rank: integer({ default: 0 }),
      up: ref('nodes', { optional: true, as: 'below' }),
      links: list(ref('nodes', { as: 'linked' }), { default: [] }),
    },
    access: {
      read: 'name != "hidden"',
      create: everyone,
      update: everyone,
      restore: everyone,
      history: everyone,
    },
  }),
})

type Node = Readonly<Record<string, unknown>> & { readonly id: number }

async function pages(
  server: TestServer,
  query: string,
  { token = server.adminToken, from = null }: { token?: string | null; from?: string | null } = {},
): Promise<{ ids: number[]; lengths: number[] }> {
  const [ids, lengths]: [number[], number[]] = [[], []]
  for (let next = from; ; ) {
    const cursor = next === null ? '' : `&cursor=${encodeURIComponent(next)}`
    const {
      status,
      body,
      text: answer,
    } = await server.call('GET', `/api/nodes/?${query}${cursor}`, { token })
    expect([query, status]).toEqual([query, 200])
    expect(body.data.length).toBeGreaterThan(0)
    ids.push(...body.data.map(({ id }: Node) => id))
    lengths.push(answer.length)
    if (body.next === null) return { ids, lengths }
    next = body.next
  }
}

/** The largest allowed answer: its own Entities, the expanded ones, and one more Entity. */
const MOST = budget.pageBytes + budget.expandBytes + 1_200_000

onEveryStore('a page of large Entities', declaration, (server) => {
  const COUNT = isDeep ? 40 : 20
  const all = Array.from({ length: COUNT }, (_, at) => at + 1)

  beforeAll(async () => {
    for (const at of all)
      await server.expect(201, 'POST', '/api/nodes/', {
        name: `n${String(at).padStart(3, '0')}`,
        body: `${at} `.repeat(100_000 + (at % 7) * 30_000),
        rank: at % 5,
      })
  })

  const queries = [
    'limit=200',
    'limit=20',
    'limit=200&sort=-name',
    'limit=200&sort=rank,name',
    'limit=200&filter=rank%20%3C%2099',
    'limit=200&filter=name.contains(%22n%22)&sort=-rank',
    'limit=200&trashed=with',
    'limit=200&expand=up,links',
    'limit=200&fields=id,name,body',
  ]
  giant.each([...sample(queries, 2)])('ends where an answer is full, and goes on: %s', async (query) => {
    // Without a token, rules apply.
    const token = query.includes('sort') ? null : server.adminToken
    const { ids, lengths } = await pages(server, query, { token })
    expect([...ids].sort((a, b) => a - b)).toEqual(all)
    for (const length of lengths) expect(length).toBeLessThan(MOST)
    expect(lengths.length).toBeGreaterThan(1)
  })

  giant('in the past too', async () => {
    const at = encodeURIComponent(new Date(Date.now() + 60_000).toISOString())
    const { ids, lengths } = await pages(server, `limit=200&at=${at}`)
    expect(ids).toEqual(all)
    for (const length of lengths) expect(length).toBeLessThan(MOST)
  })
})

onEveryStore('answers about large Entities', declaration, (server) => {
  /** Groups of almost a megabyte each: together more than an answer may hold. */
  const GROUPS = isDeep ? 25 : 20
  const VERSIONS = isDeep ? 30 : 19
  let id = 0

  beforeAll(async () => {
    id = (await server.expect(201, 'POST', '/api/nodes/', { name: 'n' })).id
    for (let at = 2; at <= VERSIONS; at++)
      await server.expect(200, 'PATCH', `/api/nodes/${id}/`, { body: `${at} `.repeat(200_000) })
  })

  giant.each([20, 200])('a history ends where an answer is full, and goes on: limit=%d', async (limit) => {
    const versions: number[] = []
    let pagesOfIt = 0
    for (let next: string | null = ''; next !== null; pagesOfIt++) {
      const cursor: string = next === '' ? '' : `&cursor=${next}`
      const path = `/api/nodes/${id}/history/?limit=${limit}${cursor}`
      const { status, body, text: answer } = await server.call('GET', path)
      expect(status).toBe(200)
      expect(answer.length).toBeLessThan(2 * budget.pageBytes + 3_000_000)
      for (const { version, changed } of body.data) {
        versions.push(version)
        const [from, to] = [version - 1, version].map((of) => (of < 2 ? null : `${of} `))
        if (version > 1) expect(changed.body.to.slice(0, to?.length)).toBe(to)
        if (version > 2) expect(changed.body.from.slice(0, from?.length)).toBe(from)
      }
      next = body.next
    }
    expect(versions).toEqual(Array.from({ length: VERSIONS }, (_, at) => VERSIONS - at))
    expect(pagesOfIt).toBeGreaterThan(1)
  })

  giant('so do the changes of an operation', async () => {
    const parts = Array.from({ length: isDeep ? 25 : 16 }, (_, at) => ({
      method: 'PATCH',
      path: `/api/nodes/${id}/`,
      body: { rank: at + 1 },
    }))
    const { headers } = await server.call('POST', '/api/batch/', { body: parts })
    const operation = headers.get('takeback-operation')
    const ranks: number[] = []
    for (let next: string | null = ''; next !== null; ) {
      const cursor: string = next === '' ? '' : `&cursor=${next}`
      const { body, text: answer } = await server.call(
        'GET',
        `/api/operations/${operation}/?limit=200${cursor}`,
      )
      expect(answer.length).toBeLessThan(2 * budget.pageBytes + 3_000_000)
      expect(body.data.length).toBeGreaterThan(0)
      ranks.push(...body.data.map(({ changed }: { changed: { rank: { to: number } } }) => changed.rank.to))
      next = body.next
    }
    expect(ranks).toEqual(parts.map(({ body }) => body.rank))
  })

  giant('and so does a summary', async () => {
    for (let at = 0; at < GROUPS; at++)
      await server.expect(201, 'POST', '/api/nodes/', { name: 'm', body: `${at} ${'x'.repeat(900_000)}` })
    const path = '/api/nodes/summary/?group=body&filter=name%20==%20%22m%22'
    const { body, text: answer } = await server.call('GET', path)
    // The cursor contains the value of the last group.
    expect(answer.length).toBeLessThan(budget.answerBytes + 3_000_000)
    expect([body.data.length > 1, body.data.length < GROUPS, body.next === null]).toEqual([true, true, false])
  })
})

/** Counts expanded Entities, at any depth, and truncated ones. */
function walk(value: unknown, seen: { entities: number; cut: number } = { entities: 0, cut: 0 }) {
  if (Array.isArray(value)) for (const one of value) walk(one, seen)
  else if (typeof value === 'object' && value !== null) {
    if ('version' in value) seen.entities++
    else if ('truncated' in value) seen.cut++
    for (const one of Object.values(value)) walk(one, seen)
  }
  return seen
}

/** In a list, whole Entities come first, then truncated ones. None is missing, and their order is kept. */
function expectPrefixes(value: unknown, count: number): void {
  if (Array.isArray(value)) {
    const states = value.map((one) => ('version' in one ? 'whole' : one.truncated === true ? 'cut' : 'plain'))
    expect(states.join(' ')).toMatch(/^(whole ?)*(cut ?)*$|^(plain ?)*$/)
    for (const one of value) expectPrefixes(one, count)
  } else if (typeof value === 'object' && value !== null) {
    const { links } = value as { links?: Node[] }
    if (links !== undefined)
      expect(links.map(({ id }) => id)).toEqual(Array.from({ length: count }, (_, at) => at + 1))
    for (const one of Object.values(value)) expectPrefixes(one, count)
  }
}

onEveryStore('expansions of Entities that link to each other', declaration, (server) => {
  const COUNT = 40

  beforeAll(async () => {
    const made = Array.from({ length: COUNT }, (_, at) => ({
      name: `n${at}`,
      up: at === 0 ? null : { id: 1 },
    }))
    await server.expect(201, 'POST', '/api/nodes/', [made[0]])
    await server.expect(201, 'POST', '/api/nodes/', made.slice(1))
    const links = Array.from({ length: COUNT }, (_, at) => ({ id: at + 1 }))
    for (let id = 1; id <= COUNT; id++)
      await server.expect(200, 'PATCH', `/api/nodes/${id}/`, { links, up: { id: 1 } })
  })

  const starts = ['?limit=200&', '?', '7/?']
  describe.each(starts)('%s', (start) => {
    const expansions = [
      'links',
      'links.links',
      'links.links.links',
      'up.links.links',
      'links.up.links,links.links.up',
      'linked.linked.linked',
      'linked.links.below',
      'below(limit=200;sort=id;expand=links(sort=id)),links(limit=200;filter=id > 0)',
      'links,links.links,linked,linked.links,up,below,below.links.linked',
    ]
    giant.each([...sample(expansions, 3, starts.indexOf(start))])(
      'bring along no more than they may: %s',
      async (expand) => {
        const { status, body, text: answer } = await server.call('GET', `/api/nodes/${start}expand=${expand}`)
        expect(status).toBe(200)
        const own = body.data?.length ?? 1
        const { entities } = walk(body.data ?? body)
        expect(entities - own).toBeLessThanOrEqual(budget.expandEntities)
        expect(answer.length).toBeLessThan(MOST)
        expectPrefixes(body.data ?? body, COUNT)
        // Expansions are limited, not refused.
        expect(entities).toBeGreaterThan(own)
      },
    )
  })

  giant('say where they were cut, and only there', async () => {
    const { links: whole } = await server.expect(200, 'GET', '/api/nodes/1/?expand=links.links')
    expect(walk(whole)).toEqual({ entities: COUNT * (COUNT + 1), cut: 0 })
    const { data } = await server.expect(200, 'GET', '/api/nodes/?limit=200&expand=links.links.links')
    expect(data[0].links.at(-1)).toEqual({ id: COUNT, truncated: true })
    expect(data[0].links[0].links[0].links[0]).toMatchObject({ id: 1, name: 'n0', version: 2 })
  })
})

onEveryStore('expansions of large Entities', declaration, (server) => {
  const COUNT = isDeep ? 40 : 28

  beforeAll(async () => {
    for (let at = 1; at <= COUNT; at++)
      await server.expect(201, 'POST', '/api/nodes/', {
        name: at === 3 ? 'hidden' : `n${at}`,
        body: `${at} `.repeat(250_000 / 2),
        up: at === 1 ? null : { id: 1 },
      })
    const links = Array.from({ length: COUNT }, (_, at) => ({ id: at + 1 }))
    for (const id of [1, 2]) await server.expect(200, 'PATCH', `/api/nodes/${id}/`, { links })
  })

  const start = sampleStart(server.store)
  const asked = [
    '1/?expand=links',
    '1/?expand=links.links',
    '1/?expand=links.up',
    '1/?expand=links(sort=-name)',
    '?limit=2&expand=links.links',
    '?expand=links,up',
  ]
  giant.each([...sample(asked, 2, start)])('bring along as much as fits: %s', async (path) => {
    const { status, body, text: answer } = await server.call('GET', `/api/nodes/${path}`)
    expect(status).toBe(200)
    expect(answer.length).toBeLessThan(MOST)
    expect(walk(body).cut).toBeGreaterThan(0)
  })

  giant('hidden Entities are not reported as cut', async () => {
    const { body } = await server.call('GET', '/api/nodes/1/?expand=links', { token: null })
    expect(body.links[2]).toEqual({ id: 3 })
    expect(body.links[1].name).toBe('n2')
    expect(body.links.at(-1)).toEqual({ id: COUNT, truncated: true })
  })

  giant('referrers come page by page, none twice and none left out', async () => {
    const all = Array.from({ length: COUNT - 1 }, (_, at) => at + 2)
    const places = ['1/?expand=below', '?limit=40&expand=below', '?limit=200&expand=below']
    for (const path of sample(places, 2, start))
      for (const [options, sort] of [
        ['', ''],
        ['(sort=-id;limit=30)', '&sort=-id'],
      ]) {
        const { body } = await server.call('GET', `/api/nodes/${path}${options}`)
        const { below } = body.data?.[0] ?? body
        const ids = below.data.map(({ id }: Node) => id)
        const rest = await pages(server, `up.id=1&limit=20${sort}`, { from: below.next })
        const found = [...ids, ...rest.ids]
        expect([path, options, found]).toEqual([path, options, sort === '' ? all : all.toReversed()])
      }
  })
})
