import { beforeAll, describe, expect, test } from 'bun:test'
import { budget } from '../../src/budget.ts'
import { system } from '../../src/plan/viewer/actor.ts'
import { entity, everyone, integer, list, ref, text } from '../../src/takeback.ts'
import { declaration, every, nestings, type Operator } from '../cel-operators.ts'
import { withAdmins } from '../declarations.ts'
import { giant, onEveryStore } from '../harness.ts'

/** The deepest filters that can be parsed, found once: every database accepts them. */
const deepest = new Map<Operator, string>()

function deepestOf(operator: Operator, parse: (filter: string) => unknown): string {
  const all = nestings(operator, (filter) => (parse(filter) === undefined ? undefined : filter))
  const filter = all.at(-1) ?? ''
  deepest.set(operator, filter)
  return filter
}

onEveryStore('what a filter costs', declaration, (server) => {
  beforeAll(async () => {
    const line = { note: 'a', flag: true, words: ['a'] }
    const user = await server.user('users', { name: 'u', email: 'u@example.com' })
    const owner = await server.expect(201, 'POST', '/api/owners/', {
      name: 'o',
      user: { id: user.id },
      at: '2026-01-01T00:00:00Z',
      tags: ['a'],
    })
    await server.expect(201, 'POST', '/api/rows/', {
      title: 'a',
      hidden: 'b',
      count: 1,
      price: '1.00',
      ratio: 1.5,
      sure: true,
      starts: '2026-01-01T00:00:00Z',
      words: ['a'],
      flags: [true],
      numbers: [1],
      times: [],
      lines: [line],
      owner: { id: owner.id },
      owners: [{ id: owner.id }],
    })
  })

  const ask = (filter: string) => server.call('GET', `/api/rows/?filter=${encodeURIComponent(filter)}`)

  describe('every operator is answered as deep as it may be nested', () => {
    test.each(every.map((one) => [one.op, one.wrap('□'), one] as const))(
      '%s: %s',
      async (_, _text, operator) => {
        const lists = server.context.plans.get('rows')?.view(system).lists
        const filter = deepest.get(operator) ?? deepestOf(operator, (one) => lists?.parse(one, new Map()))
        const { status, body } = await ask(filter)
        expect([status, body.errors]).toEqual([200, undefined])
      },
    )
  })
})

const lists = withAdmins({
  nodes: entity({
    fields: {
      name: text({ optional: true }),
      nums: list(integer(), { optional: true }),
      links: list(ref('nodes'), { optional: true }),
    },
  }),
})

onEveryStore(
  'a filter with loops within loops',
  lists,
  (server) => {
    const ask = (filter: string, more = '') =>
      server.call('GET', `/api/nodes/?filter=${encodeURIComponent(filter)}${more}`)

    /** Retries: on a busy machine, the short time limit cuts off any request. */
    const answerOf = async (filter: string) => {
      let received = await ask(filter)
      while (received.status === 503) received = await ask(filter)
      return received
    }

    test('is answered if the lists are short', async () => {
      const { id } = await server.expect(201, 'POST', '/api/nodes/', { name: 'short', nums: [1, 2, 3] })
      for (const filter of ['nums.all(x, x in nums)', 'nums.exists(x, size(nums) == x)'])
        expect([filter, (await answerOf(`name == "short" && ${filter}`)).body.data[0]?.id]).toEqual([
          filter,
          id,
        ])
    })

    giant('is answered or cut off if the lists are long, and nobody else waits for it', async () => {
      await server.expect(201, 'POST', '/api/nodes/', {
        nums: Array.from({ length: 100_000 }, (_, at) => at),
      })
      for (const filter of ['nums.all(x, x in nums)', '!nums.exists(x, !(x in nums))']) {
        const answered: string[] = []
        const [{ status }] = await Promise.all([
          ask(filter).finally(() => answered.push('filter')),
          // Sent while the filter runs: in the same thread it would have to wait.
          Bun.sleep(50)
            .then(() => server.call('GET', '/api/health'))
            .finally(() => answered.push('health')),
        ])
        // A database may find a way to answer in time.
        expect(status === 503 ? answered : status).toEqual(status === 503 ? ['health', 'filter'] : 200)
      }
      expect((await answerOf('nums.all(x, x >= 0) && size(nums) == 100000')).body.data).toHaveLength(1)
    })

    test('is refused with three levels', async () => {
      const filter = 'links.exists(l, l.links.exists(m, m.links.exists(n, n.name == "a")))'
      const { status, body } = await ask(filter)
      expect([status, Object.keys(body.errors)]).toEqual([422, ['filter']])
      expect(body.errors.filter[0]).toContain('a list within a list needs a declared max')
    })

    test('counts more in the past, which has no index', async () => {
      const filter = 'links.exists(l, l.links.exists(m, m.id in links))'
      expect((await answerOf(filter)).status).toBe(200)
      const past = encodeURIComponent(new Date(Date.now() + 60_000).toISOString())
      expect((await ask(filter, `&at=${past}`)).body.errors?.filter[0]).toContain('needs a declared max')
    })
  },
  { 'statement-timeout': '1' },
)

/** A rule of the maximum length. */
const long = Array.from({ length: 24 }, (_, at) => `name != "${'x'.repeat(140)}${at}"`).join(' && ')

const chain = withAdmins({
  knots: entity({
    fields: {
      name: text({ read: long }),
      size: integer({ optional: true }),
      next: ref('knots', { optional: true, as: 'before' }),
      other: ref('knots', { optional: true }),
    },
    access: { read: long, create: everyone },
  }),
})

onEveryStore('what a request adds to a statement', chain, (server) => {
  const ask = (query: string, token: string | null = null) =>
    server.call('GET', `/api/knots/${query}`, { token })
  const filter = (count: number) => {
    const one = 'next.next.next.name == other.other.other.name'
    return `?filter=${encodeURIComponent(Array.from({ length: count }, () => one).join(' || '))}`
  }

  test('is bounded, with the rules of all that it reaches', async () => {
    const { status, body } = await ask(filter(9))
    expect([status, body.code]).toEqual([422, 'invalid_data'])
    expect(body.errors[''][0]).toMatch(/needs \d+ bytes of SQL, more than 262144/)
    expect((await ask(filter(5))).status).toBe(200)
    // For a caller without rules, it is short.
    expect((await ask(filter(9), server.adminToken)).status).toBe(200)
  })

  const paths = (count: number) =>
    ['', 'next.', 'other.', 'next.next.', 'next.other.', 'other.next.', 'other.other.', 'next.next.next.']
      .flatMap((prefix) =>
        ['name', 'size', 'id', 'version', 'created_at', 'updated_at', 'deleted_at'].map(
          (name) => prefix + name,
        ),
      )
      .slice(0, count)

  test.each([
    ['sort', 'sort', (count: number) => `?sort=${paths(count).join(',')}`, budget.sortKeys],
    ['figures', 'group', (count: number) => `summary/?group=${paths(count).join(',')}`, budget.summaryValues],
    [
      'expand',
      'expand',
      (count: number) => `?expand=${Array(count).fill('next').join(',')}`,
      budget.expandPaths,
    ],
  ] as const)('%s name only so many values', async (_, key, query, most) => {
    expect((await ask(query(most), server.adminToken)).status).toBe(200)
    const { status, body } = await ask(query(most + 1), server.adminToken)
    expect([status, Object.keys(body.errors)]).toEqual([422, [key]])
    expect(body.errors[key][0]).toContain(`more than ${most}`)
  })

  test('the number of equalities is limited', async () => {
    const all = (count: number) =>
      `?${paths(count)
        .map((path) => `${path}=null`)
        .join('&')}`
    expect((await ask(all(budget.equalities), server.adminToken)).status).toBe(200)
    const { status, body } = await ask(all(budget.equalities + 1), server.adminToken)
    const [last = ''] = paths(budget.equalities + 1).slice(-1)
    expect([status, Object.keys(body.errors)]).toEqual([422, [last]])
  })
})
