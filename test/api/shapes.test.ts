import { afterAll, expect } from 'bun:test'
import { resolve } from '../../src/declare/resolve.ts'
import { tablesOf } from '../../src/plan/tables/schema.ts'
import { type Preview, preview } from '../../src/store/migration/migrate.ts'
import {
  boolean,
  choice,
  date,
  datetime,
  decimal,
  email,
  entity,
  type FieldDeclaration,
  integer,
  json,
  list,
  number,
  object,
  ref,
  secret,
  text,
  url,
} from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { dumpOf } from '../dump.ts'
import { giant, onEveryStoreByHand, TestServer } from '../harness.ts'

interface Shape {
  make(optional: boolean): FieldDeclaration
  readonly value: unknown
}

const shape = (value: unknown, make: Shape['make']): Shape => ({ value, make })

/** Every kind of field, with a possible value. */
const kinds: Readonly<Record<string, Shape>> = {
  text: shape('a', (o) => text({ optional: o })),
  address: shape('a@example.com', (o) => text({ optional: o })),
  choice: shape('a', (o) => choice(['a', 'b'], { optional: o })),
  email: shape('a@example.com', (o) => email({ optional: o })),
  url: shape('https://example.com/', (o) => url({ optional: o })),
  integer: shape(5, (o) => integer({ optional: o })),
  number: shape(1.5, (o) => number({ optional: o })),
  decimal: shape('1.50', (o) => decimal({ optional: o })),
  fine: shape('1.5000', (o) => decimal({ scale: 4, optional: o })),
  boolean: shape(true, (o) => boolean({ optional: o })),
  date: shape('2026-01-02', (o) => date({ optional: o })),
  datetime: shape('2026-01-02T03:04:05.006Z', (o) => datetime({ optional: o })),
  json: shape({ a: 5 }, (o) => json({ optional: o })),
  numbers: shape([1, 2], (o) => list(integer(), { optional: o })),
  texts: shape(['a'], (o) => list(text(), { optional: o })),
  secret: shape('xyzzy plugh', (o) => secret({ optional: o })),
  object: shape({ a: 5 }, (o) => object({ a: integer() }, { optional: o })),
  nested: shape({ a: { b: 5 } }, (o) => object({ a: object({ b: integer() }) }, { optional: o })),
  pointing: shape({ a: { id: 1 } }, (o) => object({ a: ref('rooms') }, { optional: o })),
  room: shape({ id: 1 }, (o) => ref('rooms', { optional: o })),
  tag: shape({ id: 1 }, (o) => ref('tags', { optional: o })),
  rooms: shape([{ id: 1 }], (o) => list(ref('rooms'), { optional: o })),
  tags: shape([{ id: 1 }], (o) => list(ref('tags'), { optional: o })),
}

const named = (kind: string, optional: boolean) => {
  const { value, make } = kinds[kind] ?? shape(undefined, () => text())
  return { name: `from_${kind}${optional ? '_or_none' : ''}`, kind, value, field: make(optional) }
}
/** One optional field for each way to store values. */
const optional = ['integer', 'json', 'object', 'room', 'rooms'].map((kind) => named(kind, true))
const everywhere = [...Object.keys(kinds).map((kind) => named(kind, false)), ...optional]
const inObjects = [
  ...['text', 'integer', 'json', 'object', 'room', 'rooms'].map((kind) => named(kind, false)),
  ...optional,
]

/** The documented changes of type, and the converted values. Any other change keeps the value, or is refused. */
const converted: Readonly<Record<string, unknown>> = {
  'integer decimal': '5.00',
  'integer fine': '5.0000',
  'integer text': '5',
  'integer address': '5',
  'decimal fine': '1.5000',
}
const unchanged = [
  'text choice',
  'choice text',
  'address email',
  'email text',
  'url text',
  'integer number',
  'decimal text',
  'date text',
  'datetime text',
]

const types = Object.fromEntries(
  ['rooms', 'tags'].map((name) => [name, entity({ fields: { name: text({ default: '' }) } })]),
)
const inside = (field: FieldDeclaration, within: boolean) => (within ? object({ in: field }) : field)

/** Declares a type for each shape, with a field for each shape that it becomes. `to` says which shape a field has. */
function declared(shapes: typeof everywhere, to: (from: number, to: number) => number) {
  const within = shapes === inObjects
  const fields = (from: number) =>
    shapes.map((_, at) => {
      const field = shapes[to(from, at)]?.field ?? text()
      return [`f${at}`, inside(field, within)] as const
    })
  const pairs = shapes.map(({ name }, from) => [
    name,
    entity({ fields: { other: integer({ default: 0 }), ...Object.fromEntries(fields(from)) } }),
  ])
  return withAdmins({ ...types, ...Object.fromEntries(pairs) })
}
const asItWas = (from: number) => from

onEveryStoreByHand('a field that becomes another', (store) => {
  const servers: TestServer[] = []
  afterAll(() => Promise.all(servers.map((server) => server.remove())))

  const planOf = async (server: TestServer, declaration: ReturnType<typeof declared>): Promise<Preview> => {
    const opened = await server.openStore()
    try {
      return await preview(opened.structure, tablesOf(resolve(declaration)))
    } finally {
      await opened.close()
    }
  }

  for (const shapes of [everywhere, inObjects]) {
    const within = shapes === inObjects
    giant(`keeps every value in its new form, or is refused${within ? ', in an object' : ''}`, async () => {
      const server = new TestServer(store, declared(shapes, asItWas))
      servers.push(server)
      await server.start()
      for (const name of Object.keys(types)) await server.expect(201, 'POST', `/api/${name}/`, {})
      for (const { name, value } of shapes) {
        const given = within ? { in: value } : value
        const body = Object.fromEntries(shapes.map((_, at) => [`f${at}`, given]))
        await server.expect(201, 'POST', `/api/${name}/`, body)
      }
      const { updated_at } = await server.expect(200, 'GET', `/api/${shapes.at(-1)?.name}/1/`)

      const all = declared(shapes, (_, at) => at)
      const plan = await planOf(server, all)
      const byField = Map.groupBy(plan.lines, ({ path }) => path.split('.', 2).join('.'))
      const linesOf = (name: string, at: number) => byField.get(`${name}.f${at}`) ?? []
      const isRefused = (from: number, at: number) =>
        linesOf(shapes[from]?.name ?? '', at).some(({ effect }) => effect === 'refused')
      for (const { name } of shapes)
        for (const at of shapes.keys()) {
          const said = linesOf(name, at)
          // Each path has one effect in a plan: refused, kept aside or changed.
          for (const { path, effect } of said)
            expect([
              path,
              effect,
              ...said.filter((one) => one.path === path && one.effect !== effect),
            ]).toEqual([path, effect])
        }
      // Stopped, so that background work does not change the database between the two dumps.
      await server.stop()
      const before = await dumpOf(server, store)
      await expect(server.restart(all)).rejects.toThrow('The database cannot be migrated to this declaration')
      expect(await dumpOf(server, store)).toBe(before)

      const possible = (from: number, at: number) => (isRefused(from, at) ? from : at)
      expect(
        (await planOf(server, declared(shapes, possible))).lines.filter(({ effect }) => effect !== 'safe'),
      ).toEqual([])
      await server.restart(declared(shapes, possible))
      for (const changed of [false, true])
        for (const [from, { name, kind, value }] of shapes.entries()) {
          const path = `/api/${name}/1/`
          if (changed) await server.expect(200, 'PATCH', path, { other: 1 })
          const now = await server.expect(200, 'GET', path)
          const then = await server.expect(200, 'GET', `${path}?at=${updated_at}`)
          const listed = await server.expect(200, 'GET', `/api/${name}/?at=${updated_at}`)
          expect(listed.data).toEqual([then])
          await server.expect(200, 'GET', `${path}history/`)
          for (const at of shapes.keys()) {
            const to = shapes[possible(from, at)]?.kind ?? ''
            if (kind === 'secret') continue
            const wanted = converted[`${kind} ${to}`] ?? value
            const read = (one: Record<string, any>) => (within ? one[`f${at}`].in : one[`f${at}`])
            expect([name, to, read(now)]).toEqual([name, to, wanted])
            expect([name, to, read(then)]).toEqual([name, to, wanted])
          }
        }
      if (within) return
      // Changes that the docs allow are not refused.
      for (const pair of [...Object.keys(converted), ...unchanged]) {
        const [from = '', to = ''] = pair.split(' ')
        const place = (kind: string) => shapes.findIndex((one) => one.kind === kind)
        expect([pair, isRefused(place(from), place(to))]).toEqual([pair, false])
      }
    })
  }
})
