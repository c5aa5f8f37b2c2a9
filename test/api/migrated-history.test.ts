import { afterAll, expect, test } from 'bun:test'
import type { EntityDeclaration, Fields } from '../../src/declare/define.ts'
import { choice, decimal, integer, list, object, ref, text } from '../../src/takeback.ts'
import { things } from '../declarations.ts'
import { onEveryStoreByHand, TestServer } from '../harness.ts'

const declared = (fields: EntityDeclaration['fields']) =>
  things({ other: integer({ default: 0 }), ...fields })

interface Case {
  readonly before: Fields
  readonly after: Fields
  readonly body: object
  /** What the migration did, as the history shows it; and a later change of that by a person. */
  readonly migrated: Record<string, { from: unknown; to: unknown }>
  readonly sent: object
  readonly sentAs: Record<string, { from: unknown; to: unknown }>
}

const one = (path: string, from: unknown, to: unknown) => ({ [path]: { from, to } })
const inner = (fields: Fields, optional = false) => ({ o: object({ a: integer(), ...fields }, { optional }) })

/** Every way in which a migration gives values to rows that are there, and some that give none. */
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

onEveryStoreByHand('what a migration did', (store) => {
  const servers: TestServer[] = []
  afterAll(() => Promise.all(servers.map((server) => server.remove())))

  async function started(fields: Fields, body: object): Promise<TestServer> {
    const server = new TestServer(store, declared(fields))
    servers.push(server)
    await server.start()
    await server.expect(201, 'POST', '/api/things/', body)
    return server
  }
  const historyOf = async (server: TestServer, more = ''): Promise<any[]> =>
    (await server.expect(200, 'GET', `/api/things/1/history/${more}`)).data
  const kindsOf = (changes: any[]) =>
    changes.map(({ kind, actor, changed }) => [kind, actor?.split('/')[0] ?? null, changed])

  for (const [name, { before, after, body, migrated, sent, sentAs }] of Object.entries(cases))
    test(`${name} is the system's, not of whoever changes the Entity next`, async () => {
      const server = await started(before, body)
      const made = await server.expect(200, 'GET', '/api/things/1/')
      const isSeen = Object.keys(migrated).length > 0
      const bySystem = isSeen ? [['migrate', 'system', migrated]] : []
      await server.restart(declared(after))
      const now = await server.expect(200, 'GET', '/api/things/1/')
      expect(kindsOf(await historyOf(server)).slice(0, -1)).toEqual(bySystem)

      // As it stood: after the migration as it is now, and before it without what was not there then.
      const asOf = (at: string) => server.expect(200, 'GET', `/api/things/1/?at=${at}`)
      expect(await asOf('2100-01-01T00:00:00Z')).toEqual(now)
      for (const [path, { from }] of Object.entries(migrated))
        if (from === null) expect([path, valueAt(await asOf(made.updated_at), path)]).toEqual([path, null])

      const first = await server.call('PATCH', '/api/things/1/', { body: { other: 1 } })
      const second = await server.call('PATCH', '/api/things/1/', { body: sent })
      const other = ['update', 'admins', one('other', 0, 1)]
      const changes = await historyOf(server)
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
          `/api/things/1/history/?limit=1${next && `&cursor=${next}`}`,
        )
        pages.push(...page.data)
        next = page.next
      }
      expect(pages).toEqual(changes)

      // One operation of the system, which cannot be undone by itself.
      const operations = (await server.expect(200, 'GET', '/api/operations/?actor=system&entity=things')).data
      expect(operations.map(({ actor, changes: n, summary }: any) => [actor, n, summary])).toEqual(
        isSeen ? [['system', 1, { things: { migrate: 1 } }]] : [],
      )
      for (const { id } of operations) {
        expect(changes.map(({ operation }) => operation)).toContain(id)
        const { data } = await server.expect(200, 'GET', `/api/operations/${id}/`)
        expect(data).toEqual([{ entity: 'things', id: null, version: null, kind: 'migrate', changed: null }])
        const refused = await server.expect(409, 'POST', `/api/operations/${id}/undo/`)
        expect(refused.code).toBe('cannot_undo')
      }

      const operationOf = (received: { headers: Headers }) => received.headers.get('Takeback-Operation')
      const detail = async (received: { headers: Headers }) =>
        (await server.expect(200, 'GET', `/api/operations/${operationOf(received)}/`)).data[0].changed
      expect(await detail(first)).toEqual(one('other', 0, 1))
      expect(await detail(second)).toEqual(sentAs)

      // Undone, each gives back what it changed, and nothing else.
      const values = ({ version: _, updated_at: __, ...rest }: any) => rest
      await server.expect(200, 'POST', `/api/operations/${operationOf(first)}/undo/`)
      await server.expect(200, 'POST', `/api/operations/${operationOf(second)}/undo/`)
      expect(values(await server.expect(200, 'GET', '/api/things/1/'))).toEqual(values(now))
      const sentAgain = await server.expect(200, 'PATCH', '/api/things/1/', sent)
      const reverted = await server.call('POST', '/api/things/1/revert/', { body: { version: 1 } })
      expect([reverted.status, reverted.headers.get('Takeback-Unmapped')]).toEqual([200, null])
      // Fields that came later stay as they are.
      const isKnown = Object.keys(sentAs).every((path) => isKnownIn(made, path))
      expect(values(reverted.body)).toEqual({ ...values(isKnown ? now : sentAgain), other: 0 })

      // All of it: what a person did is undone, what the migration did is not.
      await server.expect(200, 'PATCH', '/api/things/1/', { ...sent, other: 5 })
      const undone = await server.expect(200, 'POST', '/api/operations/undo/', {
        since: new Date(Date.parse(made.updated_at) + 1).toISOString(),
        entity: 'things',
        skip_conflicts: true,
      })
      expect(undone.skipped).toEqual({})
      expect(values(await server.expect(200, 'GET', '/api/things/1/'))).toEqual(values(now))
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
  for (const [name, { field, value, next }] of Object.entries(asides))
    test(`${name} that was kept aside was changed by nobody meanwhile`, async () => {
      const isSelf = name.includes('reference')
      const filled = isSelf ? { g: 5 } : { f: value, g: 5 }
      const server = await started({ ...field, g: integer({ default: 1 }) }, filled)
      if (isSelf) await server.expect(200, 'PATCH', '/api/things/1/', { f: value })
      await server.restart(declared(field))
      const { updated_at } = await server.expect(200, 'PATCH', '/api/things/1/', { other: 1 })
      await server.restart(declared({}))
      const { updated_at: meanwhile } = await server.expect(200, 'PATCH', '/api/things/1/', { other: 2 })
      await server.restart(declared({ ...field, g: integer({ default: 1 }) }))
      const last = await server.call('PATCH', '/api/things/1/', { body: { f: next, other: 3 } })
      const changes = (await historyOf(server)).map(({ changed }) =>
        Object.keys(changed).filter((path) => path !== 'other'),
      )
      expect(changes.slice(1, 3)).toEqual([[], []])
      expect(changes[0]?.every((path: string) => path.startsWith('f'))).toBe(true)
      for (const at of [updated_at, meanwhile]) {
        const then = await server.expect(200, 'GET', `/api/things/1/?at=${at}`)
        expect(then.f).toEqual(value)
      }
      await server.expect(200, 'POST', `/api/operations/${last.headers.get('Takeback-Operation')}/undo/`)
      expect(await server.expect(200, 'GET', '/api/things/1/')).toMatchObject({ f: value, g: 5, other: 2 })
    })
})

/** Whether a state knows a dot path; one within an object that is not there is known to be empty. */
function isKnownIn(state: any, path: string): boolean {
  const [name = '', ...rest] = path.split('.')
  if (state === null) return true
  return Object.hasOwn(state, name) && (rest.length === 0 || isKnownIn(state[name], rest.join('.')))
}

function valueAt(state: any, path: string): unknown {
  return path.split('.').reduce((at, name) => at?.[name] ?? null, state)
}
