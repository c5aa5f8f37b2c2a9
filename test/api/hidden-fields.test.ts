import { beforeAll, describe, expect, test } from 'bun:test'
import type { EntityDeclaration, FieldDeclaration } from '../../src/declare/define.ts'
import { entity, everyone, integer, json, list, object, ref, signedIn, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore, sample, sampleStart, type TestResponse } from '../harness.ts'

type Json = Record<string, unknown>

const some = { optional: true } as const

/** Read rules: the field is hidden from the caller always, or in Entities of others. */
const hidings = { never: 'me.type == "staff"', elsewhere: 'owner.id == me.id' } as const

/** A field of every kind. */
const kinds = (rule: { read?: string; write?: string }) => ({
  word: text({ ...some, ...rule, search: true }),
  stock: integer({ default: 3, ...rule }),
  code: text(rule),
  keeper: ref('users', { ...some, ...rule }),
  friends: list(ref('users'), { default: [], ...rule }),
  tags: list(text(), { default: [], ...rule }),
  extra: json({ ...some, ...rule }),
  place: object({ city: text(some), floor: integer({ default: 1 }) }, { ...some, ...rule }),
})

const values = {
  ...{ word: 'w', stock: 7, code: 'c', keeper: { id: 1 }, friends: [{ id: 1 }], tags: ['t'] },
  ...{ extra: { a: { b: 1 } }, place: { city: 'Bern', floor: 2 } },
}
const others = {
  ...{ word: 'x', stock: 8, code: 'd', keeper: { id: 2 }, friends: [{ id: 2 }, { id: 1 }], tags: [] },
  ...{ extra: { a: null, c: 2 }, place: { city: 'Chur' } },
}

/** Where the hidden fields are: at the top, or in objects with visible fields. */
const places: Record<string, (rule: { read: string }) => Record<string, FieldDeclaration>> = {
  top: kinds,
  inObject: (rule) => ({ box: object({ seen: integer({ default: 0 }), ...kinds(rule) }) }),
  inOptional: (rule) => ({ box: object({ seen: integer({ default: 0 }), ...kinds(rule) }, some) }),
  inNested: (rule) => ({
    box: object(
      { seen: integer({ default: 0 }), inner: object({ too: text(some), ...kinds(rule) }, some) },
      some,
    ),
  }),
  whole: (rule) => ({ box: object({ seen: integer({ default: 0 }), ...kinds({}) }, { ...some, ...rule }) }),
}

/** Moves the values to that place. */
function placed(place: string, given: Json): Json {
  if (place === 'top') return given
  return { box: place === 'inNested' ? { seen: 5, inner: { too: 's', ...given } } : { seen: 5, ...given } }
}

const access = { read: everyone, create: signedIn, update: signedIn, history: everyone } as const

function typeOf(fields: Record<string, FieldDeclaration>): EntityDeclaration {
  return entity({ fields: { title: text(), owner: ref('users', some), ...fields }, access })
}

const types = Object.keys(places).flatMap((place) =>
  Object.keys(hidings).map((hiding) => ({ place, hiding, name: `${place}_${hiding}`.toLowerCase() })),
)

const hidden = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: {}, access: { read: everyone } }),
  staff: entity({ login: { userType: 'staff' }, fields: {} }),
  ...Object.fromEntries(
    types.map(({ place, hiding, name }) => [
      name,
      typeOf(places[place]?.({ read: hidings[hiding as keyof typeof hidings] }) ?? {}),
    ]),
  ),
  drops: typeOf({
    inbox: text({ ...some, read: hidings.elsewhere, write: signedIn }),
    box: object(
      { note: text({ ...some, read: hidings.elsewhere }), seen: text(some) },
      { ...some, write: signedIn },
    ),
  }),
})

/** Returns the part of an Entity that can be sent. */
function sendable({ id, version, created_at, updated_at, deleted_at, ...body }: Json): Json {
  return body
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the values that the caller does not see, by dot path. */
function unseen(whole: Json, seen: unknown, before = ''): [string, unknown][] {
  return Object.entries(whole).flatMap(([key, value]): [string, unknown][] => {
    const shown = isObject(seen) ? seen[key] : undefined
    if (value === null) return []
    if (isObject(value) && (isObject(shown) || !Object.hasOwn(value, 'a')))
      return unseen(value, shown, `${before}${key}.`)
    return shown === undefined || shown === null ? [[before + key, value]] : []
  })
}

function valuesAt(whole: unknown, paths: readonly string[]): [string, unknown][] {
  const at = (path: string) =>
    path.split('.').reduce((inner, name) => (isObject(inner) ? inner[name] : undefined), whole)
  return paths.map((path) => [path, at(path)])
}

/** Generates all bodies with a value missing, null or empty, at any depth. */
function* variants(body: Json): Generator<Json> {
  for (const key of Object.keys(body)) {
    const { [key]: value, ...rest } = body
    yield rest
    yield { ...body, [key]: null }
    if (!isObject(value)) continue
    yield { ...body, [key]: {} }
    for (const inner of variants(value)) yield { ...body, [key]: inner }
  }
}

onEveryStore('hidden fields', hidden, (server) => {
  let ann = { id: 0, token: '' }
  let bob = { id: 0, token: '' }

  beforeAll(async () => {
    ann = await server.user('users', { email: 'ann@example.com' })
    bob = await server.user('users', { email: 'bob@example.com' })
  })

  /** Sends a request as somebody who does not see everything, and checks that hidden values stay as they were. */
  async function send(path: string, call: () => Promise<TestResponse>): Promise<TestResponse> {
    const before = await server.expect(200, 'GET', path)
    const seen = await server.expect(200, 'GET', path, undefined, { token: ann.token })
    const hidden = unseen(before, seen)
    expect(hidden.length).toBeGreaterThan(7)
    const received = await call()
    const after = await server.expect(200, 'GET', path)
    if (received.status !== 200) expect([received.text, after]).toEqual([received.text, before])
    expect(
      valuesAt(
        after,
        hidden.map(([name]) => name),
      ),
    ).toEqual(hidden)
    expect(received.status).toBeLessThan(500)
    return received
  }

  describe.each(types)('$name', ({ place, name }) => {
    const list = `/api/${name}/`
    const full = placed(place, values)
    let path = ''
    const as = (token: string) => (method: string, body: unknown) =>
      server.call(method, path, { body, token })
    const read = async () => sendable(await server.expect(200, 'GET', path, undefined, { token: ann.token }))

    beforeAll(async () => {
      const body = { title: 'a', owner: { id: bob.id }, ...full }
      path = `${list}${(await server.expect(201, 'POST', list, body)).id}/`
    })

    test('are as they were after what was read is sent back, by PUT', async () => {
      const received = await send(path, async () => as(ann.token)('PUT', { ...(await read()), title: 'b' }))
      expect([received.status, received.body.title]).toEqual([200, 'b'])
    })

    test('are as they were after a PUT of the least', async () => {
      const received = await send(path, () =>
        as(ann.token)('PUT', { title: 'c', owner: { id: bob.id }, ...(place === 'inObject' && { box: {} }) }),
      )
      expect([received.status, received.body.title]).toEqual([200, 'c'])
    })

    test('are as they were after whatever is sent around them', async () => {
      const whole: Json = { title: 'd', owner: { id: bob.id }, ...placed(place, others) }
      let taken = 0
      const bodies = [...variants(await read()), ...variants(whole)]
      for (const body of sample(bodies, 2, sampleStart(server.store)))
        for (const method of ['PUT', 'PATCH']) {
          const { owner: _, ...left } = body
          const sent = { title: 'e', owner: { id: bob.id }, ...left }
          const { status } = await send(path, () => as(ann.token)(method, sent))
          if (status === 200) taken++
        }
      expect(taken).toBeGreaterThan(2)
    })

    test('are as they were after each of them alone is sent', async () => {
      for (const [key, value] of Object.entries(others))
        for (const given of [null, value]) {
          const inner =
            place === 'inNested' ? { box: { inner: { [key]: given } } } : { box: { [key]: given } }
          const body = place === 'top' ? { [key]: given } : inner
          expect((await send(path, () => as(ann.token)('PATCH', body))).status).toBe(422)
        }
    })

    test('are as they were after a batch', async () => {
      const body = { title: 'f', owner: { id: bob.id }, ...(place === 'inObject' && { box: {} }) }
      const received = await send(path, () =>
        server.call('POST', '/api/batch/', { body: [{ method: 'PUT', path, body }], token: ann.token }),
      )
      expect(received.status).toBe(200)
    })

    test('are as they were after a revert', async () => {
      await server.expect(200, 'PATCH', path, placed(place, others))
      await send(path, () =>
        server.call('POST', `${path}revert/`, { body: { version: 1 }, token: ann.token }),
      )
      await server.expect(200, 'PATCH', path, placed(place, values))
    })

    test('cannot be set by a request that first makes the caller the owner', async () => {
      const body = { title: 'g', owner: { id: ann.id }, ...(place === 'inObject' && { box: {} }) }
      expect((await send(path, () => as(ann.token)('PUT', body))).status).toBe(200)
      await server.expect(200, 'PATCH', path, { owner: { id: bob.id } })
    })

    test('can be set by whoever makes the Entity', async () => {
      const body = { title: 'h', owner: { id: bob.id }, ...full }
      const made = await server.expect(201, 'POST', list, body, { token: ann.token })
      expect(await server.expect(200, 'GET', `${list}${made.id}/`)).toMatchObject(body)
    })
  })

  test.each(types.filter(({ hiding }) => hiding === 'elsewhere'))(
    '$name are replaced by those who see them',
    async ({ place, name }) => {
      const body = { title: 'a', owner: { id: bob.id }, ...placed(place, values) }
      const path = `/api/${name}/${(await server.expect(201, 'POST', `/api/${name}/`, body)).id}/`
      const as = { token: bob.token }
      const code = place === 'top' ? 'code' : 'box.code'
      const least = { title: 'b', owner: { id: bob.id } }
      if (place === 'top' || place === 'inObject') {
        const sent = place === 'top' ? least : { ...least, box: {} }
        const refused = await server.call('PUT', path, { body: sent, ...as })
        expect([refused.status, refused.body.errors]).toEqual([422, { [code]: ['is required'] }])
        const nothing = place === 'top' ? { ...least, code: null } : { ...least, box: { code: null } }
        const denied = await server.call('PUT', path, { body: nothing, ...as })
        expect([denied.status, denied.body.errors]).toEqual([422, { [code]: ['must not be null'] }])
        const kept = place === 'top' ? { ...least, code: 'k' } : { ...least, box: { code: 'k' } }
        const put = await server.expect(200, 'PUT', path, kept, as)
        const reset = {
          word: null,
          stock: 3,
          code: 'k',
          keeper: null,
          friends: [],
          tags: [],
          extra: null,
          place: null,
        }
        expect(place === 'top' ? put : put.box).toMatchObject(reset)
      } else expect((await server.expect(200, 'PUT', path, least, as)).box).toBeNull()
      await server.expect(200, 'PATCH', path, placed(place, values), as)
      expect(await server.expect(200, 'GET', path)).toMatchObject(placed(place, values))
    },
  )

  test('are replaced by a PUT only if its caller owned the Entity at that time', async () => {
    const list = '/api/whole_elsewhere/'
    const box = { code: 'c', word: 'w' }
    const { id } = await server.expect(201, 'POST', list, { title: 'a', owner: { id: bob.id }, box })
    const path = `${list}${id}/`
    await Promise.all(
      Array.from({ length: 30 }, (_, at) => [
        server.call('PATCH', path, { body: { owner: { id: at % 2 ? ann.id : bob.id }, box } }),
        server.call('PUT', path, {
          body: { title: `p${at}`, owner: { id: at % 3 ? bob.id : ann.id } },
          token: ann.token,
        }),
      ]).flat(),
    )
    const { data } = await server.expect(200, 'GET', `${path}history/?limit=200`)
    const puts = { kept: 0, emptied: 0 }
    let owner: unknown = null
    let word: unknown = null
    for (const { actor, changed } of data.toReversed()) {
      const after = changed['box.word'] === undefined ? word : changed['box.word'].to
      if (actor === `users/${ann.id}`) {
        puts[after === null ? 'emptied' : 'kept']++
        expect(after).toBe(owner === ann.id ? null : word)
      }
      word = after
      if (changed['owner.id'] !== undefined) owner = changed['owner.id'].to
    }
    expect(puts.kept + puts.emptied).toBeGreaterThan(0)
  })

  test('that have a rule for writing are set under that rule alone', async () => {
    const made = await server.expect(201, 'POST', '/api/drops/', {
      ...{ title: 'a', owner: { id: bob.id }, inbox: 'i' },
      box: { note: 'n', seen: 's' },
    })
    const path = `/api/drops/${made.id}/`
    const as = { token: ann.token }
    await server.expect(200, 'PATCH', path, { inbox: 'j' }, as)
    expect((await server.expect(200, 'GET', path)).inbox).toBe('j')
    await server.expect(200, 'PATCH', path, { inbox: null }, as)
    expect((await server.expect(200, 'GET', path)).inbox).toBeNull()
    // The rule of the object was written for its visible fields, and does not apply to hidden fields inside it.
    await server.expect(422, 'PATCH', path, { box: { note: 'm' } }, as)
    await server.expect(422, 'PATCH', path, { box: null }, as)
    await server.expect(200, 'PATCH', path, { box: { seen: 't' } }, as)
    expect(await server.expect(200, 'GET', path)).toMatchObject({ box: { note: 'n', seen: 't' } })
  })
})
