import { beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { entity, integer, json, list, object, text } from '../../src/takeback.ts'
import { forUsers, users, withAdmins } from '../declarations.ts'
import { onEveryStore, runs, type TestResponse, type TestServer } from '../harness.ts'

const declared = withAdmins({
  users,
  notes: entity({
    fields: {
      title: text(),
      count: integer({ default: 0 }),
      anything: json({ optional: true }),
      tags: list(text(), { default: [] }),
      place: object({ city: text({ optional: true }), zip: text({ optional: true }) }, { optional: true }),
    },
    access: forUsers,
  }),
})

/** The parts of a note that change separately; `place` says whether there is one. */
const PATHS = ['title', 'count', 'anything', 'tags', 'place', 'place.city', 'place.zip'] as const
type Path = (typeof PATHS)[number]
type Values = Readonly<Record<Path, unknown>>
/** `deletion` is the number of the operation that deleted it; `null` if it is live. */
type State = { readonly values: Values; readonly deletion: number | null }

interface Version {
  readonly note: number
  readonly before: State | undefined
  readonly after: State
}
interface Operation {
  readonly id: string
  readonly number: number
  readonly actor: number
  readonly versions: readonly Version[]
}

const some = {
  title: ['a', 'b', 'c'],
  count: [0, 1, 2],
  anything: [null, { x: 1 }, { y: 1 }, [1]],
  tags: [[], ['p'], ['p', 'q']],
  place: [null, { city: 'X' }, { zip: '1' }, { city: 'Y', zip: '1' }, {}],
} as const

type Move =
  | { readonly kind: 'create'; readonly actor: number; readonly value: number }
  | { readonly kind: 'edit'; readonly actor: number; readonly note: number; readonly fields: number[] }
  | { readonly kind: 'delete' | 'restore'; readonly actor: number; readonly note: number }
  | { readonly kind: 'undo'; readonly ago: number }
  | { readonly kind: 'undo all of'; readonly actor: number; readonly skip: boolean }

const actor = fc.nat({ max: 1 })
const note = fc.nat({ max: 2 })
const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('create' as const), actor, value: fc.nat({ max: 9 }) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('edit' as const),
      actor,
      note,
      fields: fc.array(fc.nat({ max: 39 }), { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('delete' as const, 'restore' as const), actor, note }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('undo' as const), ago: fc.nat({ max: 5 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('undo all of' as const), actor, skip: fc.boolean() }),
  },
)

/** Returns the values of a note by path. */
function valuesOf(body: any): Values {
  const { title, count, anything, tags, place } = body
  return {
    title,
    count,
    anything,
    tags,
    place: place === null ? null : true,
    'place.city': place?.city ?? null,
    'place.zip': place?.zip ?? null,
  }
}

/** Returns the body of an edit: one value for each field that it names. */
function bodyOf(fields: readonly number[]): Record<string, unknown> {
  const names = Object.keys(some) as (keyof typeof some)[]
  return Object.fromEntries(
    fields.map((number) => {
      const name = names[number % names.length] ?? 'title'
      const values = some[name]
      return [name, values[Math.floor(number / names.length) % values.length]]
    }),
  )
}

class World {
  readonly notes: { readonly id: number; state: State }[] = []
  readonly operations: Operation[] = []
  readonly #server: TestServer
  readonly #users: readonly { readonly id: number; readonly token: string }[]
  #number = 0

  readonly #since = new Date().toISOString()

  constructor(server: TestServer, users: readonly { readonly id: number; readonly token: string }[]) {
    this.#server = server
    this.#users = users
  }

  /** Reads a note from the server, after a call that the model does not predict. */
  async #read(id: number): Promise<Values> {
    const { data } = await this.#server.expect(200, 'GET', `/api/notes/?trashed=with&id=${id}`)
    return valuesOf(data[0])
  }

  #call(by: number, method: string, path: string, body?: unknown): Promise<TestResponse> {
    const token = this.#users[by]?.token ?? null
    return this.#server.call(method, path, body === undefined ? { token } : { token, body })
  }

  #note(received: TestResponse, by: number, versions: Version[]): void {
    const id = received.headers.get('Takeback-Operation')
    if (id !== null) this.operations.push({ id, number: this.#number, actor: by, versions })
    for (const { note, after } of versions) {
      const known = this.notes.find(({ id }) => id === note)
      if (known !== undefined) known.state = after
    }
  }

  async perform(one: Move): Promise<void> {
    this.#number++
    if (one.kind === 'undo') return this.#undoOne(one.ago)
    if (one.kind === 'undo all of') return this.#undoAll(one.actor, one.skip)
    if (one.kind === 'create') {
      const received = await this.#call(one.actor, 'POST', '/api/notes/', {
        title: 'a',
        ...bodyOf([one.value, one.value + 7]),
      })
      expect(received.status).toBe(201)
      const state = { values: valuesOf(received.body), deletion: null }
      this.notes.push({ id: received.body.id, state })
      return this.#note(received, one.actor, [{ note: received.body.id, before: undefined, after: state }])
    }
    const known = this.notes[one.note % Math.max(1, this.notes.length)]
    if (known === undefined) return
    const { id, state: before } = known
    const path = `/api/notes/${id}/`
    if (one.kind === 'edit') {
      const received = await this.#call(one.actor, 'PATCH', path, bodyOf(one.fields))
      expect(received.status).toBe(before.deletion === null ? 200 : 404)
      if (before.deletion !== null) return
      const after = { values: await this.#read(id), deletion: null }
      return this.#note(received, one.actor, [{ note: id, before, after }])
    }
    const deletes = one.kind === 'delete'
    const received = await this.#call(one.actor, 'DELETE', deletes ? path : `${path}?restore=1`)
    expect(received.status).toBe(200)
    if (deletes !== (before.deletion === null)) return
    const after = { ...before, deletion: deletes ? this.#number : null }
    return this.#note(received, one.actor, [{ note: id, before, after }])
  }

  async #undoOne(ago: number): Promise<void> {
    const operation = this.operations.at(-1 - ago)
    if (operation === undefined) return
    await this.#undo([operation], `/api/operations/${operation.id}/undo/`, {}, false)
  }

  async #undoAll(by: number, skip: boolean): Promise<void> {
    const mine = this.operations.filter((one) => one.actor === by)
    const body = { actor: `users/${this.#users[by]?.id}`, since: this.#since }
    await this.#undo(mine.toReversed(), '/api/operations/undo/', body, skip)
  }

  /** As the admin, who is neither of the two users. */
  async #undo(operations: readonly Operation[], path: string, body: object, skip: boolean): Promise<void> {
    const touched = new Set(operations.flatMap(({ versions }) => versions.map(({ note }) => note)))
    const results = [...touched].map((id) => {
      const versions = operations.flatMap((one) => one.versions.filter((version) => version.note === id))
      return { id, ...this.#takeBack(id, versions) }
    })
    const conflicts = results.filter(({ paths }) => paths.size > 0)
    const received = await this.#server.call('POST', path, { body: { ...body, skip_conflicts: skip } })
    const fails = conflicts.length > 0 && !skip
    expect([path, received.status, received.text]).toEqual([path, fails ? 409 : 200, received.text])
    const named = received.body[fails ? 'errors' : 'skipped']
    expect(Object.keys(named).sort()).toEqual(conflicts.map(({ id }) => `notes/${id}`).sort())
    // Exactly the conflicting paths are named.
    for (const { id, paths } of conflicts) {
      const said = named[`notes/${id}`].map((sentence: string) =>
        sentence.replace(/ was changed since.*/, ''),
      )
      const wanted = [...paths].map((one) =>
        one === 'deleted' ? expect.stringMatching(/^was \w+ since/) : one,
      )
      expect(said.sort()).toEqual(wanted.length === said.length ? expect.arrayContaining(wanted) : wanted)
    }
    if (fails) return
    const changed = results.filter(({ paths, next, now }) => paths.size === 0 && !Bun.deepEquals(next, now))
    expect(received.body.total).toBe(changed.length)
    this.#note(
      received,
      -1,
      changed.map(({ id, now, next }) => ({ note: id, before: now, after: next })),
    )
  }

  /** Returns the expected note, and the paths that others have changed since. */
  #takeBack(id: number, versions: readonly Version[]): { now: State; next: State; paths: Set<string> } {
    const now = this.notes.find((one) => one.id === id)?.state
    if (now === undefined) throw new Error('unknown')
    const paths = new Set<string>()
    let { values, deletion } = now
    for (const [at, { before, after }] of versions.entries()) {
      /** Whether the value is what it was before an earlier change: then it is back already. */
      const isBack = <T>(value: T, read: (state: State) => T) =>
        versions.slice(at + 1).some((one) => {
          if (one.before === undefined) return false
          const [from, to] = [read(one.before), read(one.after)]
          return Bun.deepEquals(value, from) && !Bun.deepEquals(from, to)
        })
      const isBackWhole = (path: Path) =>
        versions
          .slice(at + 1)
          .some((one) => one.before?.values[path] === values[path] && one.after.values.place === null)
      if (before === undefined) {
        if (deletion !== null) {
          values = now.values
          continue
        }
        for (const path of PATHS) if (!Bun.deepEquals(values[path], after.values[path])) paths.add(path)
        values = now.values
        deletion = now.deletion ?? this.#number
        continue
      }
      if (before.deletion !== after.deletion && deletion !== before.deletion) {
        const isGone = after.deletion === null && deletion !== null
        const isOther = deletion !== after.deletion
        const stays = isGone || (isOther && isBack(deletion, (state) => state.deletion))
        if (!stays && isOther) paths.add('deleted')
        if (!stays) deletion = before.deletion
      }
      // A place that was created is removed as a whole.
      const made = before.values.place === null && after.values.place !== null
      for (const path of PATHS) {
        const [from, to] = [before.values[path], after.values[path]]
        const counts = !Bun.deepEquals(from, to) || (made && path.startsWith('place.'))
        if (!counts || Bun.deepEquals(values[path], from)) continue
        if (!Bun.deepEquals(values[path], to)) {
          // If a place is removed as a whole, a value in it counts only if it was created with the place.
          const isInMade = made && path.startsWith('place.')
          if (isInMade ? isBackWhole(path) : isBack(values[path], (state) => state.values[path])) continue
          paths.add(path)
        }
        values = { ...values, [path]: from }
      }
    }
    return { now, next: { values, deletion }, paths }
  }

  async check(): Promise<void> {
    for (const { id, state } of this.notes) {
      const { data } = await this.#server.expect(200, 'GET', `/api/notes/?trashed=with&id=${id}`)
      expect([id, valuesOf(data[0]), data[0].deleted_at !== null]).toEqual([
        id,
        state.values,
        state.deletion !== null,
      ])
    }
  }
}

onEveryStore('random edits by several people, and undos of them', declared, (server) => {
  const users: { readonly id: number; readonly token: string }[] = []

  beforeAll(async () => {
    for (const email of ['ann@example.com', 'bob@example.com'])
      users.push(await server.user('users', { email }))
  })

  test('do what a plain model does: value by value, newest first', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(move, { minLength: 8, maxLength: 25 }), async (moves) => {
        // Changes of the run before must be older than this one.
        await Bun.sleep(3)
        const world = new World(server, users)
        for (const one of moves) {
          await world.perform(one)
          await world.check()
        }
      }),
      { numRuns: runs(60) },
    )
  }, 3_600_000)

  test('edit, edit, undo, undo works; and what another has changed stays', async () => {
    const { id } = await server.expect(201, 'POST', '/api/notes/', { title: 'one' })
    const path = `/api/notes/${id}/`
    const edit = async (body: object) =>
      (await server.call('PATCH', path, { body })).headers.get('Takeback-Operation') ?? ''
    const first = await edit({ title: 'two' })
    const second = await edit({ title: 'three' })
    const other = await edit({ count: 5 })
    const undo = (operation: string) => server.expect(200, 'POST', `/api/operations/${operation}/undo/`)
    await undo(second)
    await undo(first)
    expect(await server.expect(200, 'GET', path)).toMatchObject({ title: 'one', count: 5 })
    await undo(other)
    expect(await server.expect(200, 'GET', path)).toMatchObject({ title: 'one', count: 0 })
  })

  test('undone again, it stays as it is, however many changed the same value', async () => {
    const run = async (name: string, method: string, path: string, body: object) =>
      server.call(method, path, { body, headers: { 'Takeback-Run': name } })
    const { id } = await server.expect(201, 'POST', '/api/notes/', { title: 'one' })
    const { id: made } = (await run('twice', 'POST', '/api/notes/', { title: 'new' })).body
    for (const path of [`/api/notes/${id}/`, `/api/notes/${made}/`])
      for (const title of ['two', 'three']) await run('twice', 'PATCH', path, { title, tags: [title] })
    const undo = () => server.expect(200, 'POST', '/api/operations/undo/', { run: 'twice' })
    const versions = async () => {
      const { data } = await server.expect(200, 'GET', `/api/notes/?trashed=with&id=${made}`)
      return [(await server.expect(200, 'GET', `/api/notes/${id}/`)).version, data[0].version]
    }
    const { operation, total } = await undo()
    expect(total).toBe(2)
    const before = await versions()
    for (let times = 0; times < 2; times++)
      expect(await undo()).toMatchObject({ operation: null, undone: 5, total: 0, changes: [] })
    expect(await versions()).toEqual(before)
    await server.expect(200, 'POST', `/api/operations/${operation}/undo/`)
    for (const one of [id, made])
      expect(await server.expect(200, 'GET', `/api/notes/${one}/`)).toMatchObject({
        title: 'three',
        tags: ['three'],
      })
    // A late change is taken back with the rest.
    await undo()
    await run('twice', 'PATCH', `/api/notes/${id}/`, { title: 'late' })
    expect((await undo()).total).toBe(1)
    expect((await server.expect(200, 'GET', `/api/notes/${id}/`)).title).toBe('one')
  })

  test('what was undone one by one is no conflict for an undo of all', async () => {
    const { id } = await server.expect(201, 'POST', '/api/notes/', { title: 'one' })
    const path = `/api/notes/${id}/`
    const operations: string[] = []
    for (const title of ['two', 'three', 'four', 'five']) {
      const { headers } = await server.call('PATCH', path, { body: { title } })
      operations.push(headers.get('Takeback-Operation') ?? '')
    }
    for (const one of operations.slice(2).reverse())
      await server.expect(200, 'POST', `/api/operations/${one}/undo/`)
    expect((await server.expect(200, 'GET', path)).title).toBe('three')
    await server.expect(200, 'POST', '/api/operations/undo/', { operations })
    expect((await server.expect(200, 'GET', path)).title).toBe('one')
    // Another value is a conflict.
    await server.expect(200, 'PATCH', path, { title: 'mine' })
    const refused = await server.call('POST', '/api/operations/undo/', { body: { operations } })
    expect(refused.status).toBe(409)
  })

  test('an object that was made goes only as a whole', async () => {
    const { id } = await server.expect(201, 'POST', '/api/notes/', { title: 'one' })
    const path = `/api/notes/${id}/`
    const made = await server.call('PATCH', path, { body: { place: { city: 'X' } } })
    await server.expect(200, 'PATCH', path, { place: { zip: '1' } })
    const undo = `/api/operations/${made.headers.get('Takeback-Operation')}/undo/`
    const refused = await server.call('POST', undo)
    expect([refused.status, refused.body.errors]).toEqual([
      409,
      { [`notes/${id}`]: [expect.stringMatching(/^place\.zip was changed since, by admins\/1 at \S+Z$/)] },
    ])
    await server.expect(200, 'PATCH', path, { place: { zip: null } })
    await server.expect(200, 'POST', undo)
    expect((await server.expect(200, 'GET', path)).place).toBeNull()
  })
})
