import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { EntityDeclaration } from '../../src/declare/define.ts'
import { resolve } from '../../src/declare/resolve.ts'
import {
  boolean,
  choice,
  date,
  datetime,
  decimal,
  entity,
  everyone,
  integer,
  json,
  list,
  number,
  object,
  ref,
  text,
} from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { giant, isDeep, onEveryStoreByHand, type TestResponse, TestServer } from '../harness.ts'

/*
 * Tries every expression in every kind of rule: for creates, reads, updates with `next`, deleted Entities and fields.
 * Other tests check the results; this one checks that every database accepts the SQL.
 */

const some = { optional: true } as const
const person = {
  name: text(some),
  level: integer({ default: 1 }),
  // `me.type` is the user type, even if a field has that name.
  type: text(some),
  tags: list(text(), { default: [], max: 100 }),
  company: ref('companies', some),
  friends: list(ref('users'), { default: [] }),
  home: object({ city: text(some) }, some),
} as const

const fields = {
  title: text(),
  word: text(some),
  Word2: text(some),
  whole: integer(some),
  order: integer({ default: 1 }),
  part: number(some),
  price: decimal({ ...some, scale: 2 }),
  cost: decimal({ ...some, scale: 2 }),
  flag: boolean(some),
  done: boolean({ default: false }),
  day: date(some),
  due: date(some),
  starts: datetime(some),
  ends: datetime(some),
  status: choice(['open', 'held'], { default: 'open' }),
  tags: list(text(), { default: [], max: 100 }),
  counts: list(integer(), { default: [] }),
  lines: list(object({ price: integer(some), label: text(some) }), { default: [], max: 100 }),
  owner: ref('users', some),
  members: list(ref('users'), { default: [] }),
  place: object({ city: text(some), count: integer({ default: 3 }), keeper: ref('users', some) }, some),
  extra: json(some),
  code: integer({ ...some, unique: true }),
} as const

/** `$` before a name is removed, or replaced by `next.` */
const expressions = [
  ...['==', '<', '>='].flatMap((how) => [
    `$word ${how} "it's"`,
    `$word ${how} $Word2`,
    `$word ${how} me.name`,
    `$owner.name ${how} "x"`,
    `$owner.company.name ${how} $word`,
    `!($owner.company.name ${how} me.name)`,
    `$whole ${how} 3`,
    `$whole ${how} 2.5`,
    `$whole ${how} $order`,
    `$order ${how} me.level`,
    `size($tags) ${how} 2`,
    `size($members) ${how} $order`,
    `size($word) ${how} $order`,
    `$part ${how} 2.5`,
    `$part ${how} 3`,
    `$price ${how} "10.50"`,
    `$price ${how} 3`,
    `$price ${how} $cost`,
    `$day ${how} "2026-01-01"`,
    `$day ${how} $due`,
    `$starts ${how} now`,
    `$starts ${how} $ends`,
    `$starts ${how} timestamp("2026-01-01T00:00:00Z")`,
    `$starts + duration("1h") ${how} now - duration("2h")`,
    `$ends - $starts ${how} duration("90m")`,
    `now - $starts ${how} duration("1h")`,
    `$place.city ${how} "x"`,
    `$place.count ${how} $order`,
    `$place.keeper.name ${how} me.name`,
    `$owner.level ${how} $whole`,
  ]),
  ...['<', '<=', '>', '>='].map((how) => `$day ${how} now`),
  ...['<', '<=', '>', '>='].map((how) => `$day ${how} now - duration("24h")`),
  ...['flag', 'done'].flatMap((name) => [`$${name}`, `!$${name}`, `$${name} == true`, `$${name} != false`]),
  '$flag == $done',
  '($whole > 3) == $flag',
  '$flag ? $whole > 3 : $part < 2.5',
  '($word == null ? "a" : $word) == "a"',
  '($flag ? $whole : 3) > $order',
  ...['word', 'place.city', 'owner.name'].flatMap((name) => [
    `$${name}.startsWith("a")`,
    `$${name}.startsWith("")`,
    `$${name}.startsWith(me.name)`,
    `$${name}.endsWith("it's")`,
    `$${name}.endsWith($title)`,
    `$${name}.contains("%_\\\\")`,
    `$${name}.contains(me.name)`,
    `$${name}.matches("^[A-Z]{2}")`,
    `$${name}.lowerAscii() == "x"`,
    `$${name}.lowerAscii().startsWith("x")`,
    `$${name} in ["a", "it's"]`,
    `$${name} in [me.name, $title]`,
    `has($${name})`,
    `$${name} == null`,
  ]),
  ...['whole', 'place.count', 'owner.level'].flatMap((name) => [
    `$${name} in [1, 2]`,
    `$${name} in [1, $order]`,
    `$${name} in $counts`,
  ]),
  '$part in [1.5, 2.0]',
  '$price in ["1.00"]',
  '$day in ["2026-01-01"]',
  '$status == "open"',
  '$status in ["open", "held"]',
  '"a" in $tags',
  '$word in $tags',
  'me.name in $tags',
  '!("a" in $tags)',
  '$tags.exists(t, t.startsWith("a"))',
  '$tags.all(t, size(t) < 10 && t != $word)',
  '$tags == null',
  '3 in $counts',
  '$counts.exists(n, n > $whole)',
  '$lines.exists(l, l.price > 3)',
  '$lines.all(l, l.label != null && l.label != $word)',
  '$lines.exists(l, l.label in $tags)',
  '$owner == null',
  '$owner.id == me.id',
  '!($owner.id == me.id)',
  '$owner.id in [1, 2]',
  '$owner.company.id == me.company.id',
  '$owner.company.boss.name == "x"',
  '$owner.company.boss.id == me.id',
  '$place.keeper.id == me.id',
  '$place.keeper.company.id == $owner.company.id',
  'me.id in $members',
  '!(me.id in $members)',
  '3 in $members',
  '$owner.id in $members',
  '$members.exists(m, m.id == me.id)',
  '$members.exists(m, m.name == $word)',
  '$members.all(m, m.company.id == me.company.id)',
  '$members.exists(m, m.friends.exists(f, f.id == me.id))',
  '$members.exists(m, me.id in m.friends)',
  'me.id in $owner.friends',
  '$owner.friends.exists(f, f.name == $word)',
  '$owner.id in me.friends',
  'me.friends.exists(f, f.id == $owner.id)',
  '"a" in me.tags',
  'size(me.tags) > 0',
  'me.company.name == $word',
  'me.home.city == $place.city',
  'me.home != null',
  '$place == null',
  '$place != null && $place.keeper != null',
  'has($place.count)',
  '$extra != null',
  'me == null',
  'me != null',
  'me.type == "user"',
  'me.type in ["admin", "user"]',
  'now > timestamp("2026-01-01T00:00:00Z")',
  'now < timestamp("2026-01-01T00:00:00Z") || $flag',
]
const ofStored = [
  'id > 1',
  'id in [1, 2]',
  'version > 1',
  'created_at < now',
  'deleted_at == null',
  'updated_at > created_at',
]

const asIs = (expression: string) => expression.replaceAll('$', '')
const asNext = (expression: string) => expression.replaceAll('$', 'next.')

/** Joins rules with "or". */
const or = (rules: readonly string[]) => rules.map((rule) => `(${rule})`).join(' || ')

/** Returns a type with these rules. With `wide`, they also allow everything. */
function typeOf(group: readonly string[], wide: boolean): EntityDeclaration {
  const made = group.filter((one) => !ofStored.includes(one)).map(asIs)
  const more = wide ? ['title != ""'] : []
  const self = or([...group.map(asIs), ...more])
  const update = or([...group.map(asNext), ...more])
  const field = { read: or(group.map(asIs)), write: update }
  return entity({
    fields: {
      ...fields,
      seen: text({ ...some, ...field }),
      nested: object({ seen: integer({ default: 1, ...field }) }, some),
    },
    access: {
      create: made.length === 0 ? everyone : or([...made, ...more]),
      ...{ read: wide ? self : everyone, update, delete: self, restore: self, purge: self, history: self },
    },
  })
}

/** Several per type: a type for each would take too long to start. */
const all = [...ofStored, ...expressions]
const GROUP = isDeep ? 8 : 10
const groups = Array.from({ length: Math.ceil(all.length / GROUP) }, (_, at) =>
  all.slice(at * GROUP, (at + 1) * GROUP),
)

const logins = {
  users: entity({ login: { userType: 'user' }, fields: person, access: { read: everyone } }),
  staff: entity({ login: { userType: 'staff' }, fields: { level: integer({ default: 1 }) } }),
  companies: entity({ fields: { name: text(), boss: ref('users', some) }, access: { read: everyone } }),
}
const narrow = Object.fromEntries(groups.map((group, at) => [`t${at}`, typeOf(group, false)]))
const wide = Object.fromEntries(groups.map((group, at) => [`w${at}`, typeOf(group, true)]))
// Rules that refuse everything only repeat the same statements.
const tried = isDeep ? { ...narrow, ...wide } : wide
const everywhere = withAdmins({ ...logins, ...tried })

// The servers below use the wide types.
test('all expressions can be declared by themselves', () => {
  expect(() => resolve(withAdmins({ ...logins, ...narrow }))).not.toThrow()
})

onEveryStoreByHand('rules everywhere', (store) => {
  const server = new TestServer(store, everywhere)
  let tokens: (string | null)[] = []

  // Starting so many types takes longer than usual.
  beforeAll(async () => {
    await server.start()
    await server.expect(201, 'POST', '/api/companies/', { name: 'Acme' })
    const ann = await server.user('users', { email: 'ann@example.com', name: 'Ann', company: { id: 1 } })
    await server.expect(200, 'PATCH', '/api/users/1/', { friends: [{ id: 1 }], tags: ['a'] })
    tokens = [ann.token]
  })
  afterAll(() => server.remove())

  const full = {
    title: 'x',
    ...{ word: "it's", Word2: 'b', whole: 5, order: 2, part: 2.5, price: '10.50', cost: '1.25' },
    ...{ flag: true, done: true, day: '2026-05-01', due: '2026-05-02', status: 'held' },
    ...{ starts: '2026-01-01T00:00:00Z', ends: '2026-01-01T01:00:00Z' },
    ...{ tags: ['a', 'b'], counts: [3, 5], lines: [{ price: 5, label: 'a' }], extra: { a: 1 } },
    ...{ owner: { id: 1 }, members: [{ id: 1 }], place: { city: 'a', keeper: { id: 1 } } },
  }

  type Calls = (method: string, path: string, body?: unknown) => Promise<TestResponse>

  async function exerciseMany(list: string, id: number, call: Calls): Promise<void> {
    const where = `${list}?filter=id == ${id}`
    await call('PATCH', where, { order: { $add: 1 }, nested: { seen: 5 }, seen: 'd' })
    await call('DELETE', `${where}&dry_run=1`)
    for (const order of [1, 2]) await call('PUT', `${list}?match=code`, { ...full, code: id, order })
  }

  async function exercise(type: string, token: string | null, bodies: readonly object[]): Promise<void> {
    const list = `/api/${type}/`
    const call = async (method: string, path: string, body?: unknown): Promise<TestResponse> => {
      const received = await server.call(method, path, { token, ...(body !== undefined && { body }) })
      if (received.status >= 500)
        throw new Error(`${method} ${path} ${JSON.stringify(body)} ${received.text}`)
      return received
    }
    await call('POST', list, { title: 'x' })
    await call('POST', list, { ...full, seen: 'a', nested: { seen: 3 } })
    await call('POST', list, [{ title: 'x' }, full])
    for (const body of bodies) {
      const { id } = await server.expect(201, 'POST', list, body)
      const path = `${list}${id}/`
      await call('PATCH', path, {})
      await call('PATCH', path, { title: 'y' })
      await call('PATCH', path, { place: {}, nested: {} })
      await call('PATCH', path, { place: { count: 4 }, nested: { seen: 4 }, seen: 'b' })
      await call('PATCH', path, { place: null, nested: null, owner: null, members: [] })
      if (body === full) await exerciseMany(list, id, call)
      const { headers } = await call('PUT', path, { ...full, seen: 'c' })
      await call('POST', `/api/operations/${headers.get('takeback-operation')}/undo/`)
      await call('GET', path)
      await call('GET', `${path}history/`)
      await call('GET', `${path}?at=${new Date().toISOString()}`)
      await call('POST', `${path}revert/`, { version: 1 })
      const deleted = await call('DELETE', path)
      await call('GET', `${list}?trashed=only`)
      await call('DELETE', `${path}?restore=1`)
      await call('POST', `/api/operations/${deleted.headers.get('takeback-operation')}/undo/`)
      await call('POST', '/api/batch/', [
        { method: 'PATCH', path, body: { title: 'z' } },
        { method: 'DELETE', path },
      ])
      await call('DELETE', `${path}?purge=1`)
    }
    await call('GET', `${list}?count=1&sort=seen&filter=seen!="x"&fields=seen,nested`)
    await call('GET', `${list}?at=${new Date().toISOString()}&sort=-seen`)
    await call('GET', `${list}summary/?group=seen&sum=nested.seen`)
  }

  for (const [at, group] of groups.entries())
    giant(`${group[0]} and those after it`, async () => {
      // An Entity without values only repeats the same statements, with null.
      const bodies = isDeep || at % 8 === 0 ? [{ title: 'x' }, full] : [full]
      for (const type of [`t${at}`, `w${at}`].filter((one) => one in tried))
        for (const token of tokens) await exercise(type, token, bodies)
    })
})
