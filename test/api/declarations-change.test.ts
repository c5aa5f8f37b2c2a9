import { expect, test } from 'bun:test'
import { dropAside, findAside } from '../../src/store/migration/drop.ts'
import {
  choice,
  datetime,
  decimal,
  email,
  entity,
  integer,
  list,
  number,
  object,
  ref,
  text,
} from '../../src/takeback.ts'
import { changing } from '../changing.ts'
import { things, withAdmins } from '../declarations.ts'
import { onEveryStoreByHand } from '../harness.ts'

onEveryStoreByHand('a declaration that changes', (store) => {
  const { started, entityAt, refusal, planOf } = changing(store)

  test('tighter limits are refused where rows do not fit, with their number, their names and why', async () => {
    const wide = {
      t: text(),
      n: integer(),
      d: decimal(),
      c: choice(['red', 'green']),
      l: list(integer()),
    }
    const body = { t: 'abc', n: 5, d: '10.00', c: 'red', l: [1, 2] }
    const server = await started(things(wide), body, { ...body, n: 50, c: 'green' }, { ...body, n: 60 })
    await server.expect(200, 'DELETE', '/api/things/3/')
    for (const [field, sentence] of [
      [
        { n: integer({ max: 10 }) },
        'things.n has limits that are violated by 2 things (things/2, things/3): the first must be at most 10',
      ],
      [
        { t: text({ max: 2 }) },
        'things.t has limits that are violated by 3 things (things/1, things/2, things/3)',
      ],
      [{ t: text({ pattern: '^x' }) }, 'the first must match the pattern ^x'],
      [{ t: email() }, 'the first must be an e-mail address'],
      [
        { c: choice(['red']) },
        'things.c has limits that are violated by 1 thing (things/2): the first must be one of red',
      ],
      [{ d: decimal({ max: '9.99' }) }, 'the first must be at most 9.99'],
      [{ l: list(integer(), { max: 1 }) }, 'the first must have at most 1 items'],
      [{ l: list(integer({ min: 2 })) }, 'the first must be at least 2'],
    ] as const)
      expect(await refusal(server, things({ ...wide, ...field }))).toContain(sentence)
    const fitting = {
      t: text({ min: 3, max: 3, pattern: '^abc$' }),
      n: integer({ min: 5, max: 60 }),
      d: decimal({ min: '10' }),
      c: choice(['green', 'red', 'blue']),
      l: list(integer({ max: 2 })),
    }
    expect((await planOf(server, things(fitting))).map(({ path, what }) => `${path} ${what}`)).toEqual([
      'things.t has other limits, which all rows meet',
      'things.n has other limits, which all rows meet',
      'things.d has other limits, which all rows meet',
      'things.c has wider limits',
      'things.l has other limits, which all rows meet',
    ])
    await server.restart(things(fitting))
    expect((await server.call('POST', '/api/things/', { body: { ...body, n: 61 } })).status).toBe(422)
  })

  test('text becomes a choice where all rows fit, and a choice text', async () => {
    const server = await started(things({ s: text() }), { s: 'open' }, { s: 'paid' })
    expect(await refusal(server, things({ s: choice(['open']) }))).toContain('things/2')
    await server.restart(things({ s: choice(['open', 'paid']) }))
    await server.restart(things({ s: text() }))
    expect((await entityAt(server, 'things/2')).s).toBe('paid')
  })

  test('safe changes of type keep every value, and their indexes', async () => {
    const before = {
      a: integer({ unique: true, default: 7 }),
      b: integer(),
      c: integer(),
      d: decimal({ optional: true }),
      e: decimal({ scale: 3 }),
      f: datetime(),
    }
    const values = { b: 9007199254740991, c: -3, d: '-10.50', e: '0.125', f: '2026-01-02T03:04:05.006Z' }
    const server = await started(things(before), { a: 1, ...values }, { a: 2, ...values, b: 0, d: null })
    await server.restart(
      things({
        a: text({ unique: true }),
        b: number(),
        c: decimal({ scale: 1 }),
        d: decimal({ scale: 4, optional: true }),
        e: text(),
        f: text(),
      }),
    )
    expect(await entityAt(server, 'things/1')).toMatchObject({
      a: '1',
      b: 9007199254740991,
      c: '-3.0',
      d: '-10.5000',
      e: '0.125',
      f: '2026-01-02T03:04:05.006Z',
    })
    expect(await entityAt(server, 'things/2')).toMatchObject({ a: '2', b: 0, d: null })
    const taken = { a: '1', b: 0.5, c: '1.0', e: 'x', f: 'y' }
    expect((await server.call('POST', '/api/things/', { body: taken })).body.errors).toEqual({
      a: ['is taken by things/1'],
    })
    expect(await refusal(server, things({ b: integer() }))).toContain(
      'things.b holds values of the type number and cannot become values of the type integer: declare it as it was',
    )
  })

  test('what would not fit its new type is refused', async () => {
    const server = await started(things({ n: integer() }), { n: 9007199254740991 })
    expect(await refusal(server, things({ n: decimal({ scale: 9 }) }))).toContain(
      'things.n has limits that are violated by',
    )
  })

  test('a renamed field keeps its values, its indexes and its past', async () => {
    const before = things({
      title: text({ unique: true }),
      place: object({ town: text(), owner: ref('admins', { optional: true }) }, { optional: true }),
    })
    const after = things({
      name: text({ unique: true, was: 'title' }),
      address: object(
        { city: text({ was: 'town' }), owner: ref('admins', { optional: true }) },
        { optional: true, was: 'place' },
      ),
    })
    const server = await started(
      before,
      { title: 'x', place: { town: 'Bonn', owner: { id: 1 } } },
      { title: 'y' },
    )
    await server.expect(200, 'PATCH', '/api/things/1/', { title: 'z' })
    await server.restart(after)
    expect(await entityAt(server, 'things/1')).toMatchObject({
      name: 'z',
      address: { city: 'Bonn', owner: { id: 1 } },
    })
    expect(await entityAt(server, 'things/2')).toMatchObject({ name: 'y', address: null })
    expect((await server.call('POST', '/api/things/', { body: { name: 'z' } })).status).toBe(422)
    const past = await server.query("SELECT data FROM takeback_journal WHERE entity = 'things' ORDER BY seq")
    expect(past.map(({ data }) => JSON.parse(String(data)))).toMatchObject([
      { name: 'x', address: { city: 'Bonn', owner: { id: 1 } } },
      { name: 'y', address: null },
      { name: 'z', address: { city: 'Bonn', owner: { id: 1 } } },
    ])
    expect(past.map(({ data }) => String(data)).join()).not.toContain('title')
    // Declared again, it changes nothing, and neither does leaving it out.
    expect(await planOf(server, after)).toEqual([])
  })

  test('a field cannot be renamed to one that is there', async () => {
    const server = await started(things({ a: text({ optional: true }), b: text({ optional: true }) }), {
      a: 'x',
    })
    await server.restart(things({ b: text({ optional: true }) }))
    expect(await refusal(server, things({ b: text({ optional: true, was: 'a' }) }))).toContain(
      'things.b was a, but both exist',
    )
  })

  test('a renamed type keeps its Entities, their past, what refers to them, and its logins', async () => {
    const users = (more = {}) =>
      entity({ login: { userType: 'user' }, fields: { n: integer({ default: 1 }) }, ...more })
    const server = await started(
      withAdmins({ users: users(), notes: entity({ fields: { by: ref('users') } }) }),
    )
    const { id, token } = await server.user('users', { email: 'u@example.com' })
    await server.expect(201, 'POST', '/api/notes/', { by: { id } })
    await server.expect(200, 'PATCH', `/api/users/${id}/`, { n: 2 })
    await server.restart(
      withAdmins({ people: users({ was: 'users' }), notes: entity({ fields: { by: ref('people') } }) }),
    )
    expect((await entityAt(server, `people/${id}`)).n).toBe(2)
    expect((await server.call('DELETE', `/api/people/${id}/`)).body.errors).toEqual({
      'notes.by': ['1 note refers to it'],
    })
    expect((await server.call('GET', '/api/auth/me', { token })).body.email).toBe('u@example.com')
    const next = await server.user('people', { email: 'v@example.com' })
    expect(next.id).toBeGreaterThan(id)
    const entities = await server.query('SELECT DISTINCT entity FROM takeback_journal ORDER BY entity')
    expect(entities.map(({ entity }) => entity)).toEqual(['admins', 'notes', 'people'])
  })

  test('what is kept aside is dropped for good when asked, and nothing else is', async () => {
    const both = withAdmins({
      things: entity({
        fields: { a: text(), gone: text({ optional: true }), to: ref('others', { optional: true }) },
      }),
      others: entity({ fields: { a: text() } }),
    })
    const server = await started(both)
    await server.expect(201, 'POST', '/api/others/', { a: 'o' })
    await server.expect(201, 'POST', '/api/things/', { a: 'x', gone: 'secret words', to: { id: 1 } })
    const without = things({ a: text() })
    await server.restart(without)
    await server.stop()
    const opened = await server.openStore()
    const dropped = async (...paths: string[]) =>
      dropAside(opened.structure, await findAside(opened.structure, paths)).then(
        () => 'dropped',
        (error: Error) => error.message,
      )
    const tried = (...paths: string[]) => dropped(...paths).catch((error: Error) => error.message)
    expect(await planOf(server, without)).toEqual([
      { effect: 'aside', path: 'things.gone', what: 'is kept aside' },
      { effect: 'aside', path: 'things.to', what: 'is kept aside' },
      { effect: 'aside', path: 'others', what: 'is kept aside' },
    ])
    expect(await tried('things.a')).toContain('things.a is declared')
    expect(await tried('nothing')).toContain('There is no nothing')
    expect(await tried('others')).toContain('others cannot be dropped: things still refers to it')
    expect(await tried('things.gone', 'things.to', 'others')).toBe('dropped')
    expect(await planOf(server, without)).toEqual([])
    await opened.close()
    const data = await server.query('SELECT data FROM takeback_journal')
    expect(JSON.stringify(data)).not.toContain('secret words')
    await server.restart(both)
    expect(await entityAt(server, 'things/1')).toMatchObject({ a: 'x', gone: null, to: null })
  })

  test('a default that comes with another type is of that type, and an old unique does not stand in its way', async () => {
    const server = await started(
      things({
        a: integer({ optional: true }),
        b: decimal({ optional: true }),
        c: integer({ optional: true }),
        d: text({ optional: true, unique: true }),
        e: integer({ optional: true, unique: true }),
      }),
      { a: 3, b: '2.50', c: 4, d: 'x', e: 1 },
      {},
      {},
    )
    expect(await refusal(server, things({ e: integer({ default: 5, unique: true }) }))).toContain(
      'things.e must be unique, but is missing in 2 things, which would all get the same default',
    )
    expect(await refusal(server, things({ f: integer({ default: 5, unique: true }) }))).toContain(
      'things.f must be unique, but is missing in 3 things',
    )
    await server.restart(
      things({
        a: decimal({ default: '1.5' }),
        b: decimal({ scale: 4, default: '1.1234' }),
        c: text({ default: 'none' }),
        d: text({ default: 'same' }),
      }),
    )
    expect(await entityAt(server, 'things/1')).toMatchObject({ a: '3.00', b: '2.5000', c: '4', d: 'x' })
    expect(await entityAt(server, 'things/3')).toMatchObject({ a: '1.50', b: '1.1234', c: 'none', d: 'same' })
  })

  test('what was dropped may be declared anew, and nothing of it comes back', async () => {
    const both = withAdmins({
      things: entity({ fields: { a: text({ unique: true }), to: ref('others', { optional: true }) } }),
      others: entity({ fields: { a: text() } }),
    })
    const server = await started(both)
    await server.expect(201, 'POST', '/api/others/', { a: 'o' })
    for (const a of ['x', 'y']) await server.expect(201, 'POST', '/api/things/', { a, to: { id: 1 } })
    await server.restart(withAdmins({ others: entity({ fields: { a: text() } }) }))
    await server.stop()
    const opened = await server.openStore()
    await dropAside(opened.structure, await findAside(opened.structure, ['things']))
    await opened.close()
    await server.restart(both)
    // An id is not given again, either.
    expect((await server.expect(201, 'POST', '/api/things/', { a: 'x' })).id).toBe(3)
    await server.restart(withAdmins({}))
    await server.stop()
    const again = await server.openStore()
    await dropAside(again.structure, await findAside(again.structure, ['things.a']))
    await dropAside(again.structure, await findAside(again.structure, ['things']))
    await again.close()
    await server.restart(withAdmins({ things: entity({ was: 'others', fields: { a: text() } }) }))
    expect((await entityAt(server, 'things/1')).a).toBe('o')
  })

  test('a restore takes back what its deletion did, whatever is declared since', async () => {
    const declaredAs = (onDelete: 'cascade' | 'restrict', other: 'clear' | 'restrict') =>
      withAdmins({
        things: entity({ fields: { a: text() } }),
        children: entity({ fields: { of: ref('things', { optional: true, onDelete }) } }),
        notes: entity({ fields: { on: ref('things', { optional: true, onDelete: other }) } }),
      })
    const server = await started(declaredAs('cascade', 'clear'), { a: 'x' })
    await server.expect(201, 'POST', '/api/children/', { of: { id: 1 } })
    await server.expect(201, 'POST', '/api/notes/', { on: { id: 1 } })
    await server.expect(200, 'DELETE', '/api/things/1/')
    await server.restart(declaredAs('restrict', 'restrict'))
    await server.expect(200, 'DELETE', '/api/things/1/?restore=1')
    expect((await entityAt(server, 'children/1')).of).toEqual({ id: 1 })
    expect((await entityAt(server, 'notes/1')).on).toEqual({ id: 1 })
  })

  test('a text that must be unique is not longer than every index takes', async () => {
    const server = await started(
      things(
        {
          a: text({ optional: true, unique: true }),
          b: text({ optional: true }),
          c: text({ optional: true }),
        },
        { unique: [['b', 'c']] },
      ),
    )
    const random = Array.from({ length: 2600 }, () => String.fromCharCode(33 + Math.random() * 90)).join('')
    await server.expect(201, 'POST', '/api/things/', {
      a: random,
      b: random.slice(0, 1300),
      c: random.slice(0, 1300),
    })
    expect(
      (await server.call('POST', '/api/things/', { body: { a: `${random}x`, b: 'é'.repeat(651) } })).body
        .errors,
    ).toEqual({
      a: ['must have at most 2600 bytes, since it is unique'],
      b: ['must have at most 1300 bytes, since it is unique'],
    })
  })

  test('names that differ in capitals only are refused', async () => {
    const server = await started(things({ title: text({ optional: true }) }), {})
    expect(await refusal(server, things({ Title: text({ optional: true }) }))).toContain(
      "things.Title differs only in case from title, which is kept aside: write was: 'title'",
    )
  })
})
