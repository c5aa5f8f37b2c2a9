import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { EntityDeclaration, Fields } from '../../src/declare/define.ts'
import { choice, decimal, entity, integer, list, object, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStoreByHand, TestServer } from '../harness.ts'

/** Declares a type for each case, in place of `things`, so that one server runs all cases. */
const declared = (all: readonly Fields[]) =>
  withAdmins(Object.fromEntries(all.map((fields, at) => [nameOf(at), typeOf(fields, nameOf(at))])))

const nameOf = (at: number) => `t${at}`

const typeOf = (fields: Fields, name: string): EntityDeclaration =>
  JSON.parse(
    JSON.stringify(entity({ fields: { other: integer({ default: 0 }), ...fields } })).replaceAll(
      '"things"',
      `"${name}"`,
    ),
  )

interface Case {
  readonly before: Fields
  readonly after: Fields
  readonly body: object
  /** The change that the migration made, as the history shows it; and a later change of it by a user. */
  readonly migrated: Record<string, { from: unknown; to: unknown }>
  readonly sent: object
  readonly sentAs: Record<string, { from: unknown; to: unknown }>
}

const one = (path: string, from: unknown, to: unknown) => ({ [path]: { from, to } })
const inner = (fields: Fields, optional = false) => ({ o: object({ a: integer(), ...fields }, { optional }) })

/** All ways in which a migration changes values of existing rows, and some in which it does not. */
const cases: Readonly<Record<string, Case>> = {
  'a new field with a default': {
    before: {},
    after: { n: integer({ default: 7 }) },
    body: {},
    migrated: one('n', null, 7),
    sent: { n: 8 },
    sentAs: one('n', 7, 8),
  },
  'a new choice with a default': {
    before: {},
    after: { c: choice(['a', 'b'], { default: 'a' }) },
    body: {},
    migrated: one('c', null, 'a'),
    sent: { c: 'b' },
    sentAs: one('c', 'a', 'b'),
  },
  'a new list with a default': {
    before: {},
    after: { l: list(text(), { default: ['x'] }) },
    body: {},
    migrated: one('l', null, ['x']),
    sent: { l: [] },
    sentAs: one('l', ['x'], []),
  },
  'a new list of references': {
    before: {},
    after: { l: list(ref('things'), { default: [] }) },
    body: {},
    migrated: one('l', null, []),
    sent: { l: [{ id: 1 }] },
    sentAs: one('l', [], [{ id: 1 }]),
  },
  'a new decimal with a default': {
    before: {},
    after: { d: decimal({ default: '1.5' }) },
    body: {},
    migrated: one('d', null, '1.50'),
    sent: { d: '2.00' },
    sentAs: one('d', '1.50', '2.00'),
  },
  'a new field that may be left out': {
    before: {},
    after: { t: text({ optional: true }) },
    body: {},
    migrated: {},
    sent: { t: 'x' },
    sentAs: one('t', null, 'x'),
  },
  'a new reference': {
    before: {},
    after: { r: ref('things', { optional: true }) },
    body: {},
    migrated: {},
    sent: { r: { id: 1 } },
    sentAs: one('r.id', null, 1),
  },
  'a new field of an object': {
    before: inner({}),
    after: inner({ b: integer({ default: 7 }) }),
    body: { o: { a: 1 } },
    migrated: one('o.b', null, 7),
    sent: { o: { b: 8 } },
    sentAs: one('o.b', 7, 8),
  },
  'a new field of an optional object that is there': {
    before: inner({}, true),
    after: inner({ b: integer({ default: 7 }) }, true),
    body: { o: { a: 1 } },
    migrated: one('o.b', null, 7),
    sent: { o: { b: 8 } },
    sentAs: one('o.b', 7, 8),
  },
  'a new field of an optional object that is not there': {
    before: inner({}, true),
    after: inner({ b: integer({ default: 7 }) }, true),
    body: { o: null },
    migrated: {},
    sent: { o: { a: 1, b: 7 } },
    sentAs: { ...one('o.a', null, 1), ...one('o.b', null, 7) },
  },
  'a new object': {
    before: {},
    after: { o: object({ b: integer({ default: 7 }) }) },
    body: {},
    migrated: one('o.b', null, 7),
    sent: { o: { b: 8 } },
    sentAs: one('o.b', 7, 8),
  },
  'an object that is optional now': {
    before: inner({}),
    after: inner({}, true),
    body: { o: { a: 1 } },
    migrated: {},
    sent: { o: { a: 2 } },
    sentAs: one('o.a', 1, 2),
  },
  'a default where there was none': {
    before: { n: integer({ optional: true }) },
    after: { n: integer({ default: 7 }) },
    body: { n: null },
    migrated: one('n', null, 7),
    sent: { n: 8 },
    sentAs: one('n', 7, 8),
  },
  'another default': {
    before: { n: integer({ default: 6 }) },
    after: { n: integer({ default: 7 }) },
    body: {},
    migrated: {},
    sent: { n: 8 },
    sentAs: one('n', 6, 8),
  },
  'an integer that becomes a text': {
    before: { n: integer() },
    after: { n: text() },
    body: { n: 5 },
    migrated: one('n', 5, '5'),
    sent: { n: 'x' },
    sentAs: one('n', '5', 'x'),
  },
  'an integer that becomes a decimal': {
    before: { n: integer() },
    after: { n: decimal({ scale: 1 }) },
    body: { n: 5 },
    migrated: one('n', 5, '5.0'),
    sent: { n: '1.5' },
    sentAs: one('n', '5.0', '1.5'),
  },
  'a decimal with more digits': {
    before: { o: object({ d: decimal() }) },
    after: { o: object({ d: decimal({ scale: 4 }) }) },
    body: { o: { d: '1.50' } },
    migrated: one('o.d', '1.50', '1.5000'),
    sent: { o: { d: '2' } },
    sentAs: one('o.d', '1.5000', '2.0000'),
  },
  'an integer without a value that becomes a text with a default': {
    before: { n: integer({ optional: true }) },
    after: { n: text({ default: 'x' }) },
    body: { n: null },
    migrated: one('n', null, 'x'),
    sent: { n: 'y' },
    sentAs: one('n', 'x', 'y'),
  },
}

const kindsOf = (changes: any[]) =>
  changes.map(({ kind, actor, changed }) => [kind, actor?.split('/')[0] ?? null, changed])

onEveryStoreByHand('what a migration did', (store) => {
  const all = Object.values(cases)
  const server = new TestServer(store, declared(all.map(({ before }) => before)))
  const made: any[] = []
  /** The types whose rows the migration changed. */
  const seen = all.flatMap(({ migrated }, at) => (Object.keys(migrated).length > 0 ? [nameOf(at)] : []))
  const historyOf = async (type: string): Promise<any[]> =>
    (await server.expect(200, 'GET', `/api/${type}/1/history/`)).data
  beforeAll(async () => {
    await server.start()
    for (const [at, { body }] of all.entries())
      made.push(await server.expect(201, 'POST', `/api/${nameOf(at)}/`, body))
    await server.restart(declared(all.map(({ after }) => after)))
  })
  afterAll(() => server.remove())

  for (const [at, [name, { migrated, sent, sentAs }]] of Object.entries(cases).entries())
    test(`${name} is the system's, not of whoever changes the Entity next`, async () => {
      const [type, path] = [nameOf(at), `/api/${nameOf(at)}/1/`]
      const isSeen = Object.keys(migrated).length > 0
      const bySystem = isSeen ? [['migrate', 'system', migrated]] : []
      const now = await server.expect(200, 'GET', path)
      expect(kindsOf(await historyOf(type)).slice(0, -1)).toEqual(bySystem)
      // The creator did not set what a later migration filled in.
      const [creation] = (await historyOf(type)).slice(-1)
      const operation = await server.expect(200, 'GET', `/api/operations/${creation.operation}/`)
      for (const { changed } of [creation, operation.data[0]])
        for (const [field, { from }] of Object.entries(migrated))
          if (from === null) expect([field, changed[field]]).toEqual([field, undefined])

      // The past: after the migration as it is now, and before it without the later fields.
      const asOf = (at: string) => server.expect(200, 'GET', `${path}?at=${at}`)
      expect(await asOf('2100-01-01T00:00:00Z')).toEqual(now)
      for (const [field, { from }] of Object.entries(migrated))
        if (from === null)
          expect([field, valueAt(await asOf(made[at].updated_at), field)]).toEqual([field, null])

      const first = await server.call('PATCH', path, { body: { other: 1 } })
      const second = await server.call('PATCH', path, { body: sent })
      const other = ['update', 'admins', one('other', 0, 1)]
      const changes = await historyOf(type)
      expect(kindsOf(changes).slice(0, -1)).toEqual([['update', 'admins', sentAs], other, ...bySystem])
      expect(changes.map(({ at }) => at)).toEqual(
        changes
          .map(({ at }) => at)
          .sort()
          .reverse(),
      )
      const pages = []
      for (let next: string | null = ''; next !== null; ) {
        const page: any = await server.expect(
          200,
          'GET',
          `${path}history/?limit=1${next && `&cursor=${next}`}`,
        )
        pages.push(...page.data)
        next = page.next
      }
      expect(pages).toEqual(changes)

      // One operation of the system for all types, which cannot be undone by itself.
      const operations = (await server.expect(200, 'GET', `/api/operations/?actor=system&entity=${type}`))
        .data
      expect(operations.map(({ actor, changes: n, summary }: any) => [actor, n, summary])).toEqual(
        isSeen ? [['system', seen.length, Object.fromEntries(seen.map((one) => [one, { migrate: 1 }]))]] : [],
      )
      for (const { id } of operations) {
        expect(changes.map(({ operation }) => operation)).toContain(id)
        const { data } = await server.expect(200, 'GET', `/api/operations/${id}/`)
        expect(data.map(({ entity: of }: any) => of).sort()).toEqual([...seen].sort())
        expect(data.find(({ entity: of }: any) => of === type)).toEqual({
          ...{ entity: type, id: null, version: null, kind: 'migrate', changed: null },
        })
        const refused = await server.expect(409, 'POST', `/api/operations/${id}/undo/`)
        expect(refused.code).toBe('cannot_undo')
      }

      const operationOf = (received: { headers: Headers }) => received.headers.get('Takeback-Operation')
      const detail = async (received: { headers: Headers }) =>
        (await server.expect(200, 'GET', `/api/operations/${operationOf(received)}/`)).data[0].changed
      expect(await detail(first)).toEqual(one('other', 0, 1))
      expect(await detail(second)).toEqual(sentAs)

      // Each undo takes back its own changes, and nothing else.
      const values = ({ version: _, updated_at: __, ...rest }: any) => rest
      await server.expect(200, 'POST', `/api/operations/${operationOf(first)}/undo/`)
      await server.expect(200, 'POST', `/api/operations/${operationOf(second)}/undo/`)
      expect(values(await server.expect(200, 'GET', path))).toEqual(values(now))
      const sentAgain = await server.expect(200, 'PATCH', path, sent)
      const reverted = await server.call('POST', `${path}revert/`, { body: { version: 1 } })
      expect([reverted.status, reverted.headers.get('Takeback-Unmapped')]).toEqual([200, null])
      // Fields that came later keep their values.
      const isKnown = Object.keys(sentAs).every((field) => isKnownIn(made[at], field))
      expect(values(reverted.body)).toEqual({ ...values(isKnown ? now : sentAgain), other: 0 })

      // An undo of everything takes back the changes of users, but not those of the migration.
      await server.expect(200, 'PATCH', path, { ...sent, other: 5 })
      const undone = await server.expect(200, 'POST', '/api/operations/undo/', {
        since: new Date(Date.parse(made[at].updated_at) + 1).toISOString(),
        entity: type,
        skip_conflicts: true,
      })
      expect(undone.skipped).toEqual({})
      expect(values(await server.expect(200, 'GET', path))).toEqual(values(now))
    })
})

const asides: Readonly<
  Record<string, { readonly field: Fields; readonly value: unknown; readonly next: unknown }>
> = {
  'a value': { field: { f: integer({ default: 1 }) }, value: 3, next: 4 },
  'a reference': { field: { f: ref('things', { optional: true }) }, value: { id: 1 }, next: null },
  'a list of references': {
    field: { f: list(ref('things'), { default: [] }) },
    value: [{ id: 1 }],
    next: [],
  },
  'an object': {
    field: { f: object({ a: integer(), b: object({ c: text() }) }) },
    value: { a: 1, b: { c: 'x' } },
    next: { a: 2 },
  },
  'an optional object': {
    field: { f: object({ a: integer() }, { optional: true }) },
    value: { a: 1 },
    next: null,
  },
  'an optional object that is not there': {
    field: { f: object({ a: integer() }, { optional: true }) },
    value: null,
    next: { a: 1 },
  },
}

onEveryStoreByHand('what was kept aside', (store) => {
  const all = Object.values(asides)
  const whole = declared(all.map(({ field }) => ({ ...field, g: integer({ default: 1 }) })))
  const server = new TestServer(store, whole)
  const each = async (call: (path: string, at: number) => Promise<any>) =>
    Promise.all(all.map((_, at) => call(`/api/${nameOf(at)}/1/`, at)))
  const changeOther = (other: number) => each((path) => server.expect(200, 'PATCH', path, { other }))
  let times: string[][] = []
  beforeAll(async () => {
    await server.start()
    const isSelf = ({ field }: { field: Fields }) => JSON.stringify(field).includes('"things"')
    for (const [at, one] of all.entries()) {
      const list = `/api/${nameOf(at)}/`
      await server.expect(201, 'POST', list, isSelf(one) ? { g: 5 } : { f: one.value, g: 5 })
      if (isSelf(one)) await server.expect(200, 'PATCH', `${list}1/`, { f: one.value })
    }
    await server.restart(declared(all.map(({ field }) => field)))
    const without = await changeOther(1)
    await server.restart(declared(all.map(() => ({}))))
    const meanwhile = await changeOther(2)
    times = all.map((_, at) => [without[at].updated_at, meanwhile[at].updated_at])
    await server.restart(whole)
  })
  afterAll(() => server.remove())

  for (const [at, [name, { value, next }]] of Object.entries(asides).entries())
    test(`${name} was changed by nobody meanwhile`, async () => {
      const path = `/api/${nameOf(at)}/1/`
      const last = await server.call('PATCH', path, { body: { f: next, other: 3 } })
      const { data } = await server.expect(200, 'GET', `${path}history/`)
      const changes = data.map(({ changed }: any) => Object.keys(changed).filter((one) => one !== 'other'))
      expect(changes.slice(1, 3)).toEqual([[], []])
      expect(changes[0]?.every((one: string) => one.startsWith('f'))).toBe(true)
      for (const time of times[at] ?? []) {
        const then = await server.expect(200, 'GET', `${path}?at=${time}`)
        expect(then.f).toEqual(value)
      }
      await server.expect(200, 'POST', `/api/operations/${last.headers.get('Takeback-Operation')}/undo/`)
      expect(await server.expect(200, 'GET', path)).toMatchObject({ f: value, g: 5, other: 2 })
    })
})

/** Whether a state has a dot path. A path in an object that is missing is known to be empty. */
function isKnownIn(state: any, path: string): boolean {
  const [name = '', ...rest] = path.split('.')
  if (state === null) return true
  return Object.hasOwn(state, name) && (rest.length === 0 || isKnownIn(state[name], rest.join('.')))
}

function valueAt(state: any, path: string): unknown {
  return path.split('.').reduce((at, name) => at?.[name] ?? null, state)
}
