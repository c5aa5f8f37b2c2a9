import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { resolve } from '../../src/declare/resolve.ts'
import { ref } from '../../src/takeback.ts'
import { compileCel, compileOrder } from '../cel-evaluate.ts'
import { conditions } from '../cel-expressions.ts'
import { sortable } from '../cel-paths.ts'
import {
  declarationWith,
  fieldsOf,
  fillReferring,
  fillRows,
  fillTargets,
  ROWS,
  referring,
  removeTargets,
  rowFields,
} from '../cel-rows.ts'
import type { World } from '../cel-world.ts'
import {
  isDeep,
  onEveryStore,
  onEveryStoreByHand,
  runs,
  sample,
  sampleStart,
  TestServer,
} from '../harness.ts'

const RUNS = runs(120)

type Row = Readonly<Record<string, unknown>> & { readonly id: number }

async function all(server: TestServer, type: string, more = ''): Promise<Row[]> {
  return (await server.expect(200, 'GET', `/api/${type}/?limit=200${more}`)).data
}

/** Returns all data that the evaluator needs. */
async function worldOf(server: TestServer, me: World['me']): Promise<World> {
  const live: Readonly<Record<string, readonly Row[]>> = {
    bs: await all(server, 'bs'),
    cs: await all(server, 'cs'),
    users: await all(server, 'users'),
    admins: await all(server, 'admins'),
    ds: await everyOne(server, 'ds'),
  }
  return {
    me,
    fieldsOf(type) {
      if (type === 'ds') return { ...fieldsOf.ds, rows: ref('rows') }
      return type in fieldsOf ? fieldsOf[type as keyof typeof fieldsOf] : rowFields
    },
    find: (type, id) => live[type]?.find((one) => one.id === id),
    referring(type, id, name) {
      const [from, field] =
        type.startsWith('rows') && name === 'ds' ? ['ds', type] : (referring[type]?.[name] ?? [])
      if (from === undefined || field === undefined) return undefined
      const entities = (live[from] ?? []).filter((one) => refersTo(one[field], id))
      return { type: from, entities }
    },
  }
}

function refersTo(reference: unknown, id: number): boolean {
  const all = Array.isArray(reference) ? reference : [reference]
  return all.some((one) => one?.id === id)
}

/** Reads all rows, even if there is more than a page. */
async function everyOne(server: TestServer, type: string): Promise<Row[]> {
  const found: Row[] = []
  for (let more: Row[] = []; found.length === 0 || more.length > 0; found.push(...more)) {
    more = await all(server, type, `&filter=${encodeURIComponent(`id > ${found.at(-1)?.id ?? 0}`)}`)
    if (more.length === 0) break
  }
  return found
}

async function person(server: TestServer, type: 'admins' | 'users', id: number): Promise<World['me']> {
  const entity = await server.expect(200, 'GET', `/api/${type}/${id}/`)
  return { type, userType: type.slice(0, -1), entity }
}

function idsOf(rows: readonly Row[]): number[] {
  return rows.map(({ id }) => id).sort((a, b) => a - b)
}

/** The messages of limits, which random conditions may exceed. */
const LIMITS =
  /is longer than 4096 bytes|parts, more than 100|by more than 100 years|searches in texts|has a product with/

/** Which rows a random number selects: mostly the live ones. */
const [LIVE, TRASH, PAST] = [0, 18, 19] as const

/** Conditions about referrers. */
const RELATIONS = [
  'ds.exists(x, x.flag)',
  '!ds.exists(x, x.flag)',
  'ds.all(x, x.flag)',
  '!ds.all(x, x.flag)',
  '(ds.exists(x, x.flag) ? 1 : 2) == 2',
  'size(ds) == 0',
  'size(ds) > 1',
  'size(ds) >= -1 && size(ds) < 2.5',
  'size(ds) > size(b.ds)',
  'ds.size() in [1, 2]',
  '!(size(b.ds) == 0)',
  'ds.exists(x, x.c.name == name)',
  'ds.exists(x, x.c.id == 3)',
  'ds.exists(x, x.c.id == 3 && x.flag == sure)',
  '!ds.exists(x, x.c.id == 3)',
  'ds.exists(x, x.admin.id == me.id)',
  'ds.exists(x, x.admin.id == me.id && x.count > count)',
  'ds.exists(x, x.c.bs.exists(y, y.name == x.name))',
  'ds.exists(x, x.c.bs.all(y, y.flag))',
  'ds.exists(x, x.c.bs.exists(y, y.id == 4))',
  'b.ds.exists(x, x.c.id == 3)',
  '!b.ds.exists(x, x.c.id == 3)',
  'b.ds.all(x, x.count > 0)',
  'b.c.bs.exists(x, x.flag)',
  'b.c.lists.exists(x, x.flag)',
  'b.c.lists.exists(x, x.id == 7)',
  '!b.c.lists.all(x, x.flag)',
  'size(b.c.lists) > 2',
  'me.ds.exists(x, x.rows.id == id)',
  'me.ds.exists(x, x.count == count)',
  'me.ds.exists(x, x.count == count && x.flag == sure)',
  'me.ds.exists(x, b.id == x.b.id)',
  '!me.ds.exists(x, x.count == count)',
  'size(me.ds) > count',
  'ds.exists(x, me.ds.exists(y, y.id == x.id))',
  'ds.exists(x, size(x.c.bs) > 1)',
  'ds.exists(x, "a" in x.tags)',
  'ds.exists(x, x.tags.exists(y, y == x.name))',
  'ds.exists(x, 4 in x.cs)',
  'ds.exists(x, x.cs.exists(y, y.count > 0))',
  'tags.exists(x, ds.exists(y, y.name == x))',
]

/** Cases that random generation seldom finds. */
const SELDOM = [
  'name.startsWith("a")',
  'name.startsWith("\\ud7ff") || name.startsWith("\u{10ffff}")',
  '"B".startsWith("b") || me.type.startsWith("Ad")',
  '(flag ? "a" : "B") < (sure ? "b" : "A")',
  'name < word',
  '!(name in [b.name])',
  '!(b.c.name in [word])',
  'b != null && b.name != null',
  'lines.exists(x, x.note < x.deep.word)',
  'lines.exists(x, x.tags.exists(y, y < x.note))',
  'lines.exists(x, x.tags.exists(y, x.note < y))',
  '!lines.exists(x, x.note == "a")',
  '!lines.all(x, x.note == "a")',
  '!lines.exists(x, x.tags.all(y, y == x.note))',
  '!lines.all(x, !x.tags.exists(y, y == x.note))',
  '(lines.exists(x, x.note == "a") ? 1 : 2) == 2',
  'lines.all(x, x.note == "a") == false',
  'lines.all(x, x.maybe == null || !x.maybe.inner.flag)',
  'has(inner.deep) != has(b.c.info)',
  '(flag ? price : b.c.price) > 1.495',
  '(flag ? big : b.ratio) == (sure ? 1 : 0.5)',
  'fine >= 1e-9 && whole < 1e-10',
  '(starts + duration("1h")) - duration("2h") < ends',
  'starts + duration("876000h") > ends + duration("8784h")',
  'starts - duration("876000h") > ends - duration("8784h")',
  'timestamp("9999-12-31T23:59:59Z") - starts < duration("1h")',
  'day < timestamp("9999-12-31T12:00:00Z")',
  ...RELATIONS,
]

/** Each case for live rows, for the trash and for the past; unless the run is deep, for one of them in turn. */
const EXAMPLES = SELDOM.flatMap((text, at) =>
  sample([LIVE, TRASH, PAST], 3, at).map((which): [string, number] => [text, which]),
)

onEveryStore('expressions', declarationWith([]), (server) => {
  let world: World
  let rows: Row[]
  let withTrash: Row[]

  beforeAll(async () => {
    await fillTargets(server)
    await fillRows(server, 'rows')
    const { id } = await server.expect(200, 'GET', '/api/auth/me')
    await fillReferring(server, 'rows', [{ admin: { id } }])
    // Rows that are in the trash already keep their references to Entities that are deleted later.
    for (const id of [3, 7]) await removeThoseOf(id)
    await removeTargets(server)
    for (const gone of [5, 9, 20]) await server.call('DELETE', `/api/ds/${gone}/`)
    world = await worldOf(server, await person(server, 'admins', id))
    rows = await all(server, 'rows')
    withTrash = await all(server, 'rows', '&trashed=with')
    expect(withTrash).toHaveLength(ROWS)
  })

  async function removeThoseOf(b: number): Promise<void> {
    for (const { id } of await all(server, 'rows', `&b.id=${b}`))
      await server.expect(200, 'DELETE', `/api/rows/${id}/`)
  }

  test('mean what they say, of the live, of the past and of the trash', async () => {
    const past = encodeURIComponent(new Date(Date.now() + 60_000).toISOString())
    await fc.assert(
      fc.asyncProperty(conditions, fc.nat(PAST), async (text, chance) => {
        const holds = compileCel(text)
        const among = chance === TRASH ? withTrash : rows
        const expected = idsOf(among.filter((row) => holds('rows', row, world) === true))
        const which = chance === PAST ? `&at=${past}` : chance === TRASH ? '&trashed=with' : ''
        const asked = `/api/rows/?limit=200&filter=${encodeURIComponent(text)}${which}`
        const { status, body } = await server.call('GET', asked)
        if (status === 422 && LIMITS.test(body.errors.filter?.[0])) return
        if (chance === PAST && /^uses (referrers|fold\(\))/.test(body.errors?.filter?.[0])) return
        expect([text, status, body.errors, idsOf(body.data ?? [])]).toEqual([text, 200, undefined, expected])
      }),
      // The examples count as runs.
      { numRuns: RUNS + EXAMPLES.length, examples: EXAMPLES },
    )
  }, 3_600_000)

  test('sort as they compare, page by page', async () => {
    const keys = sortable.map((path, at) => (at % 2 === 0 ? path : `-${path}`))
    const several = fc.sample(fc.tuple(fc.constantFrom(...keys), fc.constantFrom(...keys)), 10)
    for (const sort of [...keys, ...several.filter(([a, b]) => a !== b).map((pair) => pair.join(','))])
      expect([sort, await walk(server, sort)]).toEqual([sort, idsInOrder(sort)])
  }, 3_600_000)

  function idsInOrder(sort: string): number[] {
    const by = sort.split(',').map((key) => {
      const descending = key.startsWith('-')
      const path = key.slice(descending ? 1 : 0)
      // This field is declared with `sort: 'fold'`.
      return { sign: descending ? -1 : 1, order: compileOrder(path === 'word' ? 'fold(word)' : path) }
    })
    const last = by.at(-1)?.sign ?? 1
    const compare = (a: Row, b: Row) =>
      by.map(({ sign, order }) => sign * order('rows', a, b, world)).find((one) => one !== 0) ??
      last * (a.id - b.id)
    return [...rows].sort(compare).map(({ id }) => id)
  }
})

/** A page size that makes pages start and end among equal values. */
const PAGE = isDeep ? 7 : 31

async function walk(server: TestServer, sort: string): Promise<number[]> {
  const found: number[] = []
  let next: string | null = ''
  while (next !== null && found.length <= ROWS) {
    const cursor: string = next === '' ? '' : `&cursor=${encodeURIComponent(next)}`
    const page = await server.expect(200, 'GET', `/api/rows/?limit=${PAGE}&sort=${sort}${cursor}`)
    found.push(...page.data.map(({ id }: Row) => id))
    next = page.next
  }
  return found
}

/** Rules whose literals are part of the SQL text. If one escaped its quotes, it would match more rows, or none. */
const HOSTILE = [
  `name == "' OR 1=1 --"`,
  `name != "\\\\' OR '1'='1"`,
  `name == "\\\\"`,
  `word.startsWith("'")`,
  `word.endsWith("''") || "\\"" in tags || name.contains("$1") || name in ["?1", ":a", "\\n"]`,
  `word.matches("^'|\\"$")`,
  `ratio == 5e-324 || ratio == 0.30000000000000004 || ratio < -4503599627370495.0 || 1e300 < ratio`,
  `big in [9007199254740991, -9007199254740991, -2147483649] || count < -1`,
  `price == -0.01 || cost == "9999999999999999.99" || fine == 1e-9 || -1 in numbers || "-1.50" in prices`,
  `(flag ? timestamp("2026-01-01T00:00:00Z") : timestamp("1970-01-01T00:00:00Z")) <= starts`,
  `starts - timestamp("2026-01-01T00:00:00Z") >= duration("1h")`,
  `timestamp("2026-01-01T00:00:00Z") - timestamp("2025-01-01T00:00:00Z") > duration("1h") && sure`,
  `(flag ? day : "2026-01-01") == (sure ? "2026-01-01" : born)`,
  `(flag ? "a" : "B") < (sure ? "b" : "A")`,
  `me.type.startsWith("US") || (flag ? me.name : "B") > "a"`,
  `(flag ? me.created_at : "2026-01-01T00:00:00.000Z") <= starts`,
  `(me.level > 0 ? (sure ? starts : "2026-01-01T00:00:00.000Z") : me.updated_at + duration("1h")) < ends`,
  `(sure ? size(me.name) : 2) == count || (flag ? me.deleted_at - duration("1h") : now) > starts`,
  `!(count in [me.level, 2]) || me.level == null && sure`,
  `!tags.exists(x, x == me.name)`,
  `!tags.all(x, x != me.name)`,
  `!(tags.exists(x, x == me.name) || flag)`,
  `size(flag ? "😀" : "ab") == count || (sure ? 1 : 0.5) == count`,
  `(flag ? "user" != me.type : created_at <= me.deleted_at) == sure`,
]

/** Whether the rule can be declared. */
function isWithinLimits(rule: string): boolean {
  try {
    resolve(declarationWith([rule]))
    return true
  } catch (error) {
    if (error instanceof Error && LIMITS.test(error.message)) return false
    throw error
  }
}

/** A caller, and the evaluator's view of the same caller. */
interface TestCaller {
  readonly token: string | null
  readonly world: World
}

onEveryStoreByHand('rules', (store) => {
  const random = fc.sample(conditions, Math.min(60, Math.ceil(RUNS / 25)))
  // Rules that exceed a limit cannot be declared.
  const relations = sample(
    RELATIONS.filter((text) => !text.includes('x.rows')),
    8,
    sampleStart(store),
  )
  const rules = [
    ...HOSTILE,
    ...relations,
    ...random.filter((text) => text.length < 500 && isWithinLimits(text)),
  ]
  const server = new TestServer(store, declarationWith(rules))
  const people: { id: number; token: string }[] = []
  /** The rows of each type, which do not change. */
  const rowsOf = new Map<string, Row[]>()

  beforeAll(async () => {
    await server.start()
    await fillTargets(server)
    for (const at of rules.keys()) await fillRows(server, `rows_${at}`)
    for (const fields of [
      { name: 'ab', level: 1 },
      { name: null, level: null },
    ])
      people.push(await server.user('users', { email: `${fields.name}@example.com`, ...fields }))
    const users = people.map(({ id }) => ({ user: { id } }))
    for (const [at, rule] of rules.entries())
      if (/\bds\b/.test(rule)) await fillReferring(server, `rows_${at}`, users)
    await removeTargets(server)
  }, 600_000)
  afterAll(() => server.remove())

  describe('show what they say', () => {
    test('to nobody', async () => {
      await check({ token: null, world: await worldOf(server, null) })
    }, 600_000)

    test.each([0, 1])(
      'to user %d',
      async (at) => {
        const { id, token } = people[at] ?? { id: 0, token: '' }
        await check({ token, world: await worldOf(server, await person(server, 'users', id)) })
      },
      600_000,
    )
  })

  async function check({ token, world }: TestCaller): Promise<void> {
    for (const [at, rule] of rules.entries()) {
      const type = `rows_${at}`
      const holds = compileCel(rule)
      const rows = rowsOf.get(type) ?? (await all(server, type))
      rowsOf.set(type, rows)
      const expected = idsOf(rows.filter((row) => holds(type, row, world) === true))
      const list = await server.call('GET', `/api/${type}/?limit=200&count=1`, { token })
      // A list is refused if the rule can never hold for the caller.
      const refused = expected.length === 0 && [401, 403].includes(list.status)
      if (!refused)
        expect([rule, list.status, list.body.total, idsOf(list.body.data ?? [])]).toEqual([
          rule,
          200,
          expected.length,
          expected,
        ])
      for (const { id } of rows.filter((row) => row.id % (isDeep ? 9 : 17) === 0)) {
        const { status } = await server.call('GET', `/api/${type}/${id}/`, { token })
        expect([rule, id, status === 200]).toEqual([rule, id, expected.includes(id)])
        if (status !== 200) expect([401, 404]).toContain(status)
      }
    }
  }
})
