import { beforeAll, expect, test } from 'bun:test'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import bookings from '../../examples/bookings/takeback.config.ts'
import { template } from '../../src/cli/init-config.ts'
import { declaredTypes } from '../../src/cli/types.ts'
import * as takeback from '../../src/takeback.ts'
import { isDeep } from '../harness.ts'
import { blocksOf } from '../markdown.ts'
import { must } from './package.ts'
import { buildLibrary, newFolder } from './process.ts'

const root = join(import.meta.dir, '..', '..')

const right = `import { app, entity, everyone, ref, text } from 'takeback'
export default app({ entities: {
  rooms: entity({ fields: { title: text({ max: 200, unique: true }) }, access: { read: everyone } }),
  bookings: entity({ fields: { room: ref('rooms', { onDelete: 'cascade' }) } }),
} })`

/** Every builder, with and without options, so that TypeScript must name every inferred type. */
const everything = `import * as t from 'takeback'
export const bare = { a: t.text(), b: t.email(), c: t.url(), d: t.integer(), e: t.number(), f: t.decimal(),
  g: t.boolean(), h: t.date(), i: t.datetime(), j: t.choice(['x', 'y']), k: t.json(), l: t.secret(),
  m: t.object({ a: t.text() }), n: t.list(t.text()), o: t.ref('things') }
export const given = { a: t.text({ max: 3, read: t.everyone }), m: t.object({ a: t.date({ optional: true }) }, { optional: true }),
  n: t.list(t.ref('things', { onDelete: 'clear' }), { max: 3 }), o: t.ref('things', { as: 'x', write: t.signedIn }) }
export const kept = { a: t.ref('admins', { default: t.me }), b: t.datetime({ default: t.now }), c: t.decimal({ default: t.cel('d') }) }
export const things = t.entity({ fields: bare, set: { update: { i: t.now } }, computed: { x: 'd * 2' }, check: [{ that: 'd > 0', at: 'd', says: 'must be positive' }], access: { read: t.everyone, create: t.signedIn }, trash: { keep: '3d' } })
export default t.app({ admins: 'admins', journal: { keep: '1d' }, entities: {
  things, admins: t.entity({ login: { userType: 'admin' }, fields: {} }) },
  routes: { 'POST /api/go/:id/': { access: t.signedIn, body: t.object({ thing: t.ref('things') }),
    async run({ me, body, params, api }) { return { me: me?.email, a: (await api.things.get(body.thing.id)).a, id: params.id } } } },
  reactions: { async 'things.update'({ before, after, api }) { if (before.a !== after.a) await api.things.delete(after.id) } },
  jobs: { nightly: { every: '0 3 * * *', async run({ api }) { for (const { id } of (await api.things.list()).data) await api.things.update(id, { d: 3 }) } } } })
export const hooked = t.entity({ fields: { name: t.text() }, before: { async create(thing, { me, api }) {
  if (me === null) throw t.forbidden()
  const page = await api.things.list().catch((error: unknown) => { throw error instanceof t.InvalidData ? t.invalid({}) : error })
  return { ...thing, name: \`\${page.data[0]?.name} \${thing.name?.length}\` }
} } })
export const tests = t.cases(t.app({ entities: { things } }), { given: { things: { one: { a: 'x', o: 'one' } } },
  deleted: ['things/one'], cases: [{ as: 'nobody', may: ['list things', ['update things/one', { a: 'y' }]] }] })
export const failed = (error: unknown) => (error instanceof t.ApiError ? error.status : 0)
export const hooks = t.app({ entities: { things: t.entity({ fields: bare }) },
  webhooks: { erp: { to: t.env('URL'), secret: t.env('SECRET', 'none'), on: ['things.*', 'things.create'] } } })
export const builders = { ...t }`

/** The inferred options are exactly the given ones, also if none were given. */
const inferred = `import { app, choice, entity, integer, list, object, ref, text } from 'takeback'
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const backend = app({ admins: 'people', entities: {
  people: entity({ login: { userType: 'person' }, fields: {}, unique: [['email']], title: 'email' }),
  rooms: entity({ fields: { a: text(), o: object({ n: integer(), deep: object({ t: text({ max: 3 }) }) }),
    l: list(text()), r: ref('rooms'), c: choice(['x', 'y'], { default: 'x' }), v: list(choice(['x', 'y']), { default: ['y'] }) },
    unique: [['o.n', 'r.id']], index: [['-o.deep.t', 'created_at'], ['id']], title: 'o.deep.t' }),
} })
type F = (typeof backend)['entities']['rooms']['fields']
export const all: [Same<keyof F['a'], 'type'>, Same<keyof F['o'], 'type' | 'fields'>, Same<keyof F['l'], 'type' | 'items'>,
  Same<keyof F['r'], 'type' | 'target'>, Same<F['r']['target'], 'rooms'>, Same<F['c']['default'], 'x'>,
  Same<F['o']['fields']['deep']['fields']['t']['max'], 3>] = [true, true, true, true, true, true, true]
// Names that only the program knows are let through.
const some: Record<string, ReturnType<typeof entity>> = { rooms: entity({ fields: { a: ref(String('x')) } }) }
export const dynamic = app({ admins: String('x'), entities: some })`

const wrong = `import { app, cases, choice, datetime, entity, everyone, integer, json, list, now, object, ref, text } from 'takeback'
const rooms = entity({ fields: { title: text() } })
const fields = { room: ref('rooms'), starts_at: datetime(), place: object({ city: text() }), any: json(), tags: list(text()) } as const
// @ts-expect-error: an Entity type that is not declared
export const a = app({ entities: { rooms, bookings: entity({ fields: { room: ref('romms') } }) } })
// @ts-expect-error: the same in a list of an object
export const b = app({ entities: { rooms, bookings: entity({ fields: { o: object({ l: list(ref('romms')) }) } }) } })
// @ts-expect-error: the same without a call of entity
export const c = app({ entities: { rooms, bookings: { fields: { room: ref('romms', { optional: true }) } } } })
// @ts-expect-error: an event of a type that is not declared
export const w = app({ entities: { rooms }, webhooks: { erp: { to: '', secret: '', on: ['romms.*'] } } })
// @ts-expect-error: admins that are not declared
export const d = app({ admins: 'admin', entities: { admins: entity({ login: { userType: 'admin' }, fields: {} }) } })
// @ts-expect-error: admins that cannot log in
export const e = app({ admins: 'rooms', entities: { rooms, people: entity({ login: { userType: 'p' }, fields: {} }) } })
// @ts-expect-error: an option of app that is not known
export const f = app({ admin: 'rooms', entities: { rooms } })
// @ts-expect-error: an option of login that is not known
export const g = entity({ login: { userType: 'p', passwordMn: 8 }, fields: {} })
// @ts-expect-error: a path that is not there
export const h = entity({ fields, unique: [['room.id', 'start_at']] })
// @ts-expect-error: a reference without its id
export const i = entity({ fields, unique: [['room']] })
// @ts-expect-error: a type that cannot be unique
export const j = entity({ fields, unique: [['any']] })
// @ts-expect-error: a list cannot be sorted by
export const k = entity({ fields, index: [['-tags']] })
// @ts-expect-error: a path inside an object
export const l = entity({ fields, index: [['place.town']] })
// @ts-expect-error: the e-mail of a type without login
export const m = entity({ fields, title: 'email' })
// @ts-expect-error: a title that is no text
export const n = entity({ fields, title: 'starts_at' })
// @ts-expect-error: a default that is no choice
export const o = choice(['open', 'held'], { default: 'opn' })
// @ts-expect-error: an example that is no choice
export const p = choice(['open', 'held'], { example: 'opn' })
// @ts-expect-error: a default of a list that is no choice
export const q = list(choice(['open', 'held']), { default: ['opn'] })
// @ts-expect-error: search is for texts
export const r = integer({ search: true })
// @ts-expect-error: an action that is not known
export const s = entity({ fields, access: { list: everyone } })
// @ts-expect-error: a time is no number
export const t = integer({ default: now })
// @ts-expect-error: a field that is not there is set
export const v = entity({ fields, set: { update: { started_at: now } } })
// @ts-expect-error: a check at a field that is not there
export const u = entity({ fields, check: [{ that: 'place.city != ""', at: 'place.town', says: 'must be there' }] })
const people = app({ entities: { rooms, people: entity({ login: { userType: 'p' }, fields: { age: integer(), room: ref('rooms') } }) } })
const given = { rooms: { attic: { title: 'Attic' } }, people: { ann: { age: 3, room: 'attic' } } } as const
export const right = cases(people, { given, deleted: ['rooms/attic'], cases: [{ as: 'people/ann', may: ['list rooms'], mayNot: [['update rooms/attic', {}]] }] })
// @ts-expect-error: somebody who is not there
export const w = cases(people, { given, cases: [{ as: 'people/bob' }] })
// @ts-expect-error: a type that cannot log in
export const x = cases(people, { given, cases: [{ as: 'rooms/attic' }] })
// @ts-expect-error: an Entity that is not there
export const y = cases(people, { given, cases: [{ as: 'people/ann', may: ['read rooms/cellar'] }] })
// @ts-expect-error: an action of types for an Entity
export const z = cases(people, { given, cases: [{ as: 'nobody', mayNot: [['list rooms/attic', {}]] }] })
// @ts-expect-error: a value of another type
export const aa = cases(people, { given: { people: { ann: { age: 'three' } } }, cases: [] })
// @ts-expect-error: a deleted Entity that is not there
export const ab = cases(people, { given, deleted: ['people/bob'], cases: [] })`

/** Returns a declaration with this many Entity types of 20 fields each. */
function large(count: number): string {
  const kinds = (type: number, at: number) => [
    `text({ max: ${at + 10}, search: true })`,
    `integer({ min: 1, default: ${at} })`,
    `ref('type${(type + at) % count}', { optional: true, onDelete: 'clear' })`,
    `choice(['a${at}', 'b', 'c'], { default: 'b' })`,
    `object({ city: text(), zip: text({ optional: true }), country: ref('type0') }, { optional: true })`,
    `list(ref('type${type}', { onDelete: 'clear' }), { default: [] })`,
    `datetime({ optional: true })`,
  ]
  const types = Array.from({ length: count }, (_, type) => {
    const fields = Array.from({ length: 20 }, (_, at) => `field${at}: ${kinds(type, at)[at % 7]}`)
    return `type${type}: entity({ fields: { ${fields.join(', ')} }, unique: [['field0', 'field1']],
      index: [['field1', '-field6']], title: 'field4.city', access: { update: 'id == me.id' } })`
  })
  return `import { app, choice, datetime, entity, integer, list, object, ref, text } from 'takeback'
    export default app({ entities: { ${types.join(',\n')} } })`
}

/** A client of such a declaration. */
const client = `import { connect } from 'takeback/client'
import type config from './takeback.config.ts'
export async function use() {
  const api = connect<typeof config>('https://api.example.com')
  const made = await api.type1.create({ field0: '', field7: '', field14: '' })
  await made.update({ field1: { $add: 1 } })
  for await (const one of api.type2.list({ expand: ['field2', 'field9.field2'], fields: ['field0'], sort: '-field1' }))
    one.field2?.field0.length
  const { results } = await api.batch((b) => [b.type3.create({ field0: '', field7: '', field14: '' }), b.type4.delete(7)])
  api.type5.live({}, (all) => all[0]?.field0)
  return results[0].field1 + (await api.type6.list()).data.length
}`

/** Only the type of the declaration, from another file. */
const unused = `import type config from './takeback.config.ts'
export type Config = typeof config`

const settings = [
  ['--module', 'nodenext', '--target', 'es2022'],
  ['--module', 'preserve', '--moduleResolution', 'bundler', '--target', 'es2022'],
]

beforeAll(buildLibrary)

/** Makes a user's project that depends on Takeback. */
function project(config: string, files: Record<string, string> = {}): string {
  const folder = newFolder()
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'takeback'))
  symlinkSync(join(root, 'node_modules', '@tanstack'), join(folder, 'node_modules', '@tanstack'))
  const all = { 'package.json': '{"type":"module"}', 'takeback.config.ts': config, ...files }
  for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), text)
  return folder
}

/** Returns TypeScript's messages for a config, or for a page that uses it. */
function check(config: string, flags: readonly string[], files: Record<string, string> = {}): string {
  const main = files['page.ts'] === undefined ? 'takeback.config.ts' : 'page.ts'
  // Our own declaration files are checked by `checkAll`.
  return tsc(project(config, files), [...flags, '--skipLibCheck', main])
}

/** Returns its messages for several configs, in one run, because each run takes a second of processor time. */
function checkAll(configs: readonly string[], flags: readonly string[]): string {
  const files = Object.fromEntries(configs.map((config, at) => [`config-${at}.ts`, config]))
  return tsc(project('', files), [...flags, ...Object.keys(files)])
}

function tsc(cwd: string, args: readonly string[]): string {
  const command = join(root, 'node_modules', '.bin', 'tsc')
  return Bun.spawnSync([command, '--noEmit', '--strict', '--checkers', '1', ...args], {
    cwd,
  }).stdout.toString()
}

test('a config type-checks in somebody else’s project, whatever the project’s settings, also exported with its types; mistakes are found', () => {
  const names = Object.keys(takeback).filter((name) => !everything.includes(`t.${name}`))
  expect(names).toEqual([])
  const configs = [right, inferred, wrong, everything, template]
  for (const flags of settings)
    expect(checkAll(configs, [...flags, '--declaration', '--verbatimModuleSyntax'])).toBe('')
})

test('the message of a mistake has its place, the wrong name and the right ones', () => {
  const said = check(wrong.replaceAll('// @ts-expect-error', '//'), settings[0] ?? [])
  const lines = said.split('\n')
  const after = (place: RegExp) =>
    lines
      .slice(lines.findIndex((line) => place.test(line)))
      .slice(0, 3)
      .join('\n')
  expect(after(/^takeback.config.ts\(5,/)).toMatch(
    /'fields.room.target'[\s\S]*'"romms"' is not assignable to type '"bookings" \| "rooms"'/,
  )
  expect(after(/^takeback.config.ts\(7,/)).toMatch(
    /'fields.o.fields.l.items.target'[\s\S]*'"bookings" \| "rooms"'/,
  )
  expect(after(/^takeback.config.ts\(11,/)).toContain(`Type '"admin"' is not assignable to type '"admins"'`)
  expect(after(/^takeback.config.ts\(19,/)).toContain(
    `Type '"start_at"' is not assignable to type '"place.city" | "room.id" | "starts_at"'`,
  )
  expect(after(/^takeback.config.ts\(33,/)).toContain(
    `Type '"opn"' is not assignable to type '"held" | "open"`,
  )
})

test('the message of a mistake in a call of the client says which values are right', () => {
  const config = `import { app, choice, decimal, entity, integer, ref, text } from 'takeback'
export default app({ entities: {
  users: entity({ login: { userType: 'user' }, fields: { name: text() } }),
  orders: entity({ fields: { owner: ref('users'), price: decimal({ default: '0', read: 'owner.id == me.id' }),
    status: choice(['open', 'paid']), count: integer() } }),
} })`
  const page = `import { connect } from 'takeback/client'
import type config from './takeback.config.ts'
const { orders, users } = connect<typeof config>('')
export const right = [
  users.create({ name: '', email: '' }, { invite: true }),
  users.create([{ name: '', email: '', password: '' }], { verified: true }),
]
export const wrong = [
  orders.update(1, { price: 3 }),
  orders.update(1, { status: 'gone' }),
  orders.create({ owner: { id: 1 }, status: 'open', cuont: 3 }),
  users.create({ name: '', email: '' }),
]`
  const said = check(config, [...(settings[1] ?? []), '--allowImportingTsExtensions'], { 'page.ts': page })
  for (const expected of [
    "(9,22): error TS2322: Type 'number' is not assignable to type 'string | { $add: string; } | null | undefined'",
    `(10,22): error TS2322: Type '"gone"' is not assignable to type '"open" | "paid" | undefined'`,
    "'cuont' does not exist in type '{ count: number; owner: Reference;",
    "Property 'password' is missing in type '{ name: string; email: string; }'",
  ])
    expect(said).toContain(expected)
  expect(said.match(/: error/g)?.length).toBe(4)
})

test.each([
  ['docs/client.md', 'first, names, room, stop, sums'],
  ['docs/tanstack-db.md', 'kept, open'],
])('the examples of %s are right', (file, names) => {
  const source = readFileSync(join(root, 'examples', 'bookings', 'takeback.config.ts'), 'utf8')
  const page = blocksOf(file).filter(({ language }) => language === 'ts')
  const flags = [...(settings[1] ?? []), '--allowImportingTsExtensions']
  const files = { 'api.d.ts': declaredTypes(bookings, 'takeback.config.ts') }
  const text = [...page.map((block) => block.text), `export { ${names} }`].join('\n')
  expect(check(source, flags, { ...files, 'page.ts': text })).toBe('')
})

/** Whether two declarations are the same to a client. */
const compared = `import type { EntityPatch, NewEntity, SeenEntity, SignedInUser } from 'takeback/client'
import { connect } from 'takeback/client'
import type { Api } from './api.d.ts'
import type config from './takeback.config.ts'
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type One = (typeof config)['entities']
type Other = Api['entities']
type Wrong = { [Name in keyof One & keyof Other]:
  [Same<SeenEntity<One[Name]>, SeenEntity<Other[Name]>>, Same<NewEntity<One[Name]>, NewEntity<Other[Name]>>,
   Same<EntityPatch<One[Name]>, EntityPatch<Other[Name]>>] extends [true, true, true] ? never : Name }[keyof One & keyof Other]
export const all: [Same<keyof One, keyof Other>, Same<Wrong, never>, Same<SignedInUser<One>, SignedInUser<Other>>] = [true, true, true]
export const routes = async () => [
  connect<Api>('').route('POST /api/go/:id/', { params: { id: 1 }, body: { thing: { id: 5 } } }),
  connect<typeof config>('').route('POST /api/go/:id/', { params: { id: 1 }, body: { thing: { id: 5 } } }),
  (await connect<Api>('').things.get(1, { expand: ['o', 'others'] })).others.data[0]?.a,
]`

test('the types that are printed for clients elsewhere say the same as the declaration', () => {
  const changed = everything
    .replace("o: t.ref('things')", "o: t.ref('things', { as: 'others', optional: true })")
    .replace('i: t.datetime()', 'i: t.datetime({ optional: true })')
  expect(changed.match(/optional: true/g)?.length).toBe(
    2 + (everything.match(/optional: true/g)?.length ?? 0),
  )
  const [config = ''] = changed.split('export const hooked')
  const printed = must(project(config), `node "${join(root, 'bin', 'takeback.js')}" types`)
  const flags = [...(settings[1] ?? []), '--allowImportingTsExtensions']
  expect(check(config, flags, { 'api.d.ts': printed, 'page.ts': compared })).toBe('')
})

test('checking a declaration takes work in proportion to its size', () => {
  const work = (count: number, page?: string) => {
    const flags = [...(settings[1] ?? []), '--allowImportingTsExtensions', '--extendedDiagnostics']
    // The usual number, with which the figures below were found: some types are then checked more than once.
    flags.push('--checkers', '4')
    const said = check(large(count), flags, page === undefined ? {} : { 'page.ts': page })
    expect(said).not.toContain('error')
    return Number(/Instantiations:\s+(\d+)/.exec(said)?.[1])
  }
  const most = isDeep ? 100 : 48
  const [some, many] = [work(most / 4), work(most)]
  expect(many / some).toBeLessThan(4.4)
  // TypeScript needs about half as much for the fields alone.
  expect(many / (20 * most)).toBeLessThan(200)
  // A client adds less than half of the cost of its declaration.
  expect(work(most, client)).toBeLessThan(1.5 * work(most, unused))
})

test('options that do not exist are found', () => {
  const wrong = right
    .replace('max: 200', 'mx: 200')
    .replace("'cascade'", "'cascad'")
    .replace('access:', 'acces:')
  const said = check(wrong, ['--module', 'nodenext', '--target', 'es2022'])
  expect(said).toContain('"cascad"')
  expect(said.match(/takeback\.config\.ts\(3,\d+\): error/g)).toHaveLength(2)
})
