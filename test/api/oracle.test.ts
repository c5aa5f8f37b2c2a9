import { beforeAll, describe, expect, test } from 'bun:test'
import { no } from '../../src/declare/cel/expression.ts'
import { type Field, walk } from '../../src/declare/model.ts'
import type { View } from '../../src/plan/view/view.ts'
import type { Actor } from '../../src/plan/viewer/actor.ts'
import {
  boolean,
  choice,
  date,
  datetime,
  decimal,
  email,
  entity,
  everyone,
  integer,
  json,
  list,
  number,
  object,
  ref,
  secret,
  signedIn,
  text,
  url,
} from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore, type Received, type TestServer } from '../harness.ts'

/*
 * A field that the caller may not read is as if it were not there: whatever is asked about it is answered, byte for
 * byte, as it would be for a name that nobody has declared. Nothing here is chosen by hand but the declaration: the
 * hidden paths come from the Model, and each of them meets everything that can be asked.
 */

const staff = 'me.type == "staff"'
const hidden = { read: staff, write: staff } as const
const own = { read: 'owner.id == me.id' } as const
const some = { optional: true } as const

const all = {
  create: signedIn,
  read: everyone,
  update: signedIn,
  delete: signedIn,
  restore: signedIn,
  purge: signedIn,
  history: signedIn,
} as const

const oracle = withAdmins({
  staff: entity({ login: { userType: 'staff' }, fields: {} }),
  users: entity({
    login: { userType: 'user' },
    fields: {
      name: text(some),
      zq_rank: integer({ ...some, ...hidden }),
      zq_boss: ref('users', { ...some, ...hidden, as: 'zq_team' }),
      own_phone: text({ ...some, read: 'id == me.id' }),
    },
    access: { read: everyone, update: 'id == me.id' },
  }),
  vaults: entity({
    fields: {
      zq_code: text({ unique: true }),
      zq_thing: ref('things', { ...some, as: 'zq_safes', onDelete: 'clear' }),
    },
    access: { read: staff, create: staff },
  }),
  targets: entity({
    fields: { name: text(), vault: ref('vaults', { ...some, as: 'zq_aims' }) },
    access: all,
  }),
  things: entity({
    fields: {
      title: text({ search: true }),
      amount: integer(some),
      tags: list(text(), { default: [] }),
      lines: list(object({ price: integer() }), { default: [] }),
      place: object({ city: text(some), zq_zip: text({ ...some, ...hidden }) }, some),
      owner: ref('users', some),
      target: ref('targets', { ...some, as: 'things', onDelete: 'clear' }),
      vault: ref('vaults', some),
      vaults: list(ref('vaults'), { default: [] }),
      zq_text: text({ ...some, ...hidden, search: true, unique: true }),
      zq_email: email({ ...some, ...hidden }),
      zq_url: url({ ...some, ...hidden }),
      zq_choice: choice(['CANARYc1', 'CANARYc2'], { ...some, ...hidden }),
      zq_integer: integer({ ...some, ...hidden }),
      zq_number: number({ ...some, ...hidden }),
      zq_decimal: decimal({ ...some, ...hidden, scale: 2 }),
      zq_boolean: boolean({ ...some, ...hidden }),
      zq_date: date({ ...some, ...hidden }),
      zq_datetime: datetime({ ...some, ...hidden }),
      zq_json: json({ ...some, ...hidden }),
      zq_secret: secret({ ...some, ...hidden }),
      zq_list: list(text(), { default: [], ...hidden }),
      zq_lines: list(object({ price: integer() }), { default: [], ...hidden }),
      zq_links: list(ref('targets', { as: 'zq_linked', onDelete: 'clear' }), { default: [], ...hidden }),
      zq_ref: ref('targets', { ...some, ...hidden, as: 'zq_referred', onDelete: 'clear' }),
      zq_object: object(
        { inner: text(some), deep: object({ number: integer(some) }, some), to: ref('targets', some) },
        { ...some, ...hidden },
      ),
      zq_always: object({ inner: integer({ default: 0 }) }, { read: staff }),
      zq_shell: object({ only: text({ ...some, ...hidden }) }, some),
      own_text: text({ ...some, ...own, search: true }),
      own_choice: choice(['CANARYo1', 'CANARYo2'], { ...some, ...own }),
      own_integer: integer({ default: 0, ...own }),
      own_number: number({ ...some, ...own }),
      own_decimal: decimal({ ...some, ...own, scale: 2 }),
      own_boolean: boolean({ ...some, ...own }),
      own_date: date({ ...some, ...own }),
      own_datetime: datetime({ ...some, ...own }),
      own_json: json({ ...some, ...own }),
      own_list: list(text(), { default: [], ...own }),
      own_lines: list(object({ price: integer() }), { default: [], ...own }),
      own_links: list(ref('targets', { as: 'own_linked', onDelete: 'clear' }), { default: [], ...own }),
      own_ref: ref('targets', { ...some, ...own, as: 'own_referred', onDelete: 'clear' }),
      own_object: object({ inner: text(some), number: integer(some) }, { ...some, ...own }),
    },
    unique: [['title', 'zq_integer']],
    access: all,
  }),
})

/** What is put into what they must not see: each of it is found in no answer to them. */
const canaries = {
  zq_text: 'CANARYtext',
  zq_email: 'canarye@example.com',
  zq_url: 'https://example.com/CANARYurl',
  zq_choice: 'CANARYc1',
  zq_integer: 910_001,
  zq_number: 910_002.5,
  zq_decimal: '910003.25',
  zq_boolean: true,
  zq_date: '2091-01-01',
  zq_datetime: '2091-01-02T00:00:00.000Z',
  zq_json: { a: 'CANARYjson', b: [910_004] },
  zq_secret: 'CANARYsecret',
  zq_list: ['CANARYlist'],
  zq_lines: [{ price: 910_005 }],
  zq_object: { inner: 'CANARYinner', deep: { number: 910_006 }, to: { id: 2 } },
  zq_always: { inner: 910_007 },
  zq_shell: { only: 'CANARYshell' },
}
const ownCanaries = {
  own_text: 'CANARYown',
  own_choice: 'CANARYo1',
  own_integer: 910_011,
  own_number: 910_012.5,
  own_decimal: '910013.25',
  own_boolean: true,
  own_date: '2091-01-11',
  own_datetime: '2091-01-12T00:00:00.000Z',
  own_json: { a: 'CANARYownjson' },
  own_list: ['CANARYownlist'],
  own_lines: [{ price: 910_014 }],
  own_object: { inner: 'CANARYowninner', number: 910_015 },
}
const CANARY = /canary|9100\d\d|2091-/i

/** Conditions over a path, of whatever type it may be. */
const conditions: readonly ((path: string) => string)[] = [
  (p) => p,
  (p) => `!${p}`,
  (p) => `has(${p})`,
  ...['==', '!=', '<', '<=', '>', '>='].flatMap((how) => [
    ...['null', '"CANARYtext"', '910001', '2.5', 'true', 'now', 'timestamp("2091-01-02T00:00:00Z")'].map(
      (value) => (p: string) => `${p} ${how} ${value}`,
    ),
    (p: string) => `title ${how} ${p}`,
    (p: string) => `${p} ${how} amount`,
    (p: string) => `${p}.id ${how} 3`,
    (p: string) => `me.${p} ${how} 3`,
    (p: string) => `size(${p}) ${how} 1`,
    (p: string) => `now - ${p} ${how} duration("1h")`,
    (p: string) => `${p} + duration("1h") ${how} now`,
  ]),
  (p) => `${p} in ["a", "b"]`,
  (p) => `${p} in [1, 2]`,
  (p) => `"a" in ${p}`,
  (p) => `3 in ${p}`,
  (p) => `amount in [1, ${p}]`,
  (p) => `${p}.size() > 0`,
  ...['startsWith', 'endsWith', 'contains', 'matches'].flatMap((name) => [
    (p: string) => `${p}.${name}("CANARY")`,
    (p: string) => `title.${name}(${p})`,
  ]),
  (p) => `matches(${p}, "C")`,
  (p) => `${p}.lowerAscii() == "canarytext"`,
  (p) => `${p}.exists(i, i == "a")`,
  (p) => `${p}.exists(i, i.price > 3)`,
  (p) => `${p}.all(i, i.id == 3)`,
  (p) => `tags.exists(i, i == ${p})`,
  (p) => `lines.exists(i, i.${p} == 3)`,
  (p) => `${p} ? true : false`,
  (p) => `amount == 1 ? ${p} == 3 : false`,
  (p) => `true || ${p} == 3`,
  (p) => `false && ${p} == 3`,
  (p) => `${p}.unheard == 3`,
  (p) => `${p}.unheard()`,
]

/** Some that hold for what is there. */
const yields: readonly ((path: string) => string)[] = [
  (p) => `${p} == "CANARYown"`,
  (p) => `${p} == "910013.25"`,
  (p) => `${p} == "2091-01-11"`,
  (p) => `${p} == 910011`,
  (p) => `!(${p} == 910012)`,
  (p) => `!(${p} == "x")`,
  (p) => `"CANARYownlist" in ${p}`,
  (p) => `2 in ${p}`,
  (p) => `!(1 in ${p})`,
  (p) => `${p}.exists(i, i.price == 910014)`,
  (p) => `${p}.exists(i, i.name == "two")`,
  (p) => `${p}.all(i, i.name == "two")`,
  (p) => `!${p}.exists(i, i.name == "one")`,
  (p) => `${p}.name == "two"`,
  (p) => `${p} in ["CANARYown", "two", "CANARYo1"]`,
  (p) => `${p}.startsWith("CANARY") || ${p}.startsWith("t")`,
  (p) => `(${p} == null ? 1 : 2) == 2`,
  (p) => `(has(${p}) ? title : "x") == title`,
]

const parameters: readonly ((path: string) => Record<string, string>)[] = [
  ...['', 'null', 'true', '3', '2.5', 'CANARYtext', '2091-01-01'].map((value) => (p: string) => ({
    [p]: value,
  })),
  (p) => ({ [`${p}.id`]: '3' }),
  (p) => ({ sort: p }),
  (p) => ({ sort: `-${p}` }),
  (p) => ({ sort: `title,${p}` }),
  (p) => ({ sort: `${p}.id` }),
  (p) => ({ sort: p, cursor: 'dGhpbmdz' }),
  (p) => ({ sort: p, trashed: 'with', count: '1' }),
  (p) => ({ fields: p }),
  (p) => ({ fields: `id,${p}` }),
  (p) => ({ fields: `${p}.id` }),
  (p) => ({ expand: p }),
  (p) => ({ expand: `target,${p}` }),
  (p) => ({ expand: `target.${p}` }),
  (p) => ({ expand: `${p}.vault` }),
  (p) => ({ [p]: '3', filter: `${p} == 3`, sort: p, fields: p, expand: p, count: '1' }),
]

const figures: readonly ((path: string) => Record<string, string>)[] = [
  ...['group', 'sum', 'avg', 'min', 'max'].flatMap((name) => [
    (p: string) => ({ [name]: p }),
    (p: string) => ({ [name]: `amount,${p}` }),
    (p: string) => ({ [name]: `${p}.id` }),
  ]),
  (p) => ({ filter: `${p} == 3` }),
  (p) => ({ [p]: '3' }),
]

/** What they do not see of a type: dot paths, what stands behind references, the names of those that refer to it. */
function hiddenPaths(server: TestServer, name: string, actor: Actor): string[] {
  const { plans, model } = server.context
  const viewOf = (type: string) => plans.get(type)?.view(actor) as View
  const plan = plans.get(name)
  if (plan === undefined) throw new Error(name)
  const unseen = (type: string): string[] => {
    const { viewer } = viewOf(type)
    const entity = plans.get(type)?.type
    if (entity === undefined) return []
    const seen = new Set([...walk(viewer.seen(entity))].map(({ path }) => path))
    const reads = viewer.visibility.reaches(entity)
    return [...walk(entity.fields)].filter(({ path }) => !reads || !seen.has(path)).map(({ path }) => path)
  }
  const behind = (field: Field): string[] =>
    field.kind === 'reference' ? unseen(field.target).map((path) => `${field.path}.${path}`) : []
  const away = new Set(unseen(name))
  const backs = [...model.entities.values()].flatMap((from) =>
    [...walk(from.fields)].flatMap((field) => {
      if ((field.kind !== 'reference' && field.kind !== 'links') || field.target !== name) return []
      return field.as !== undefined && unseen(from.name).includes(field.path) ? [field.as] : []
    }),
  )
  const seen = [...walk(plan.type.fields)].filter(({ path }) => !away.has(path))
  return [...away, ...seen.flatMap(behind), ...backs]
}

/** The same path with a name in it that nobody has: in the place of the first that is hidden. */
function unknownFor(path: string, isHidden: (path: string) => boolean): string {
  const names = path.split('.')
  const at = names.findIndex((_, place) => isHidden(names.slice(0, place + 1).join('.')))
  const name = names[at] ?? ''
  return names.with(at, name.replace('zq', 'xk').replace('own', 'xkk')).join('.')
}

onEveryStore('the oracle', oracle, (server) => {
  let ann = { id: 0, token: '' }
  let eve = { id: 0, token: '' }
  let sue = { id: 0, token: '' }
  const calls: (readonly [string, Received])[] = []

  const callers = (): [string, Actor, string | null][] => [
    ['a user', { kind: 'user', entity: 'users', id: eve.id, admin: false }, eve.token],
    ['nobody', { kind: 'nobody' }, null],
  ]

  beforeAll(async () => {
    ann = await server.user('users', { email: 'ann@example.com', zq_rank: 910_021, own_phone: 'CANARYphone' })
    eve = await server.user('users', { email: 'eve@example.com', zq_rank: 910_022 })
    sue = await server.user('staff', { email: 'sue@example.com' })
    await server.expect(200, 'PATCH', `/api/users/${ann.id}/`, { zq_boss: { id: eve.id } })
    await server.expect(201, 'POST', '/api/vaults/', { zq_code: 'CANARYvault' })
    for (const name of ['one', 'two'])
      await server.expect(201, 'POST', '/api/targets/', { name, vault: { id: 1 } })
    const to = { zq_ref: { id: 2 }, zq_links: [{ id: 2 }], own_ref: { id: 2 }, own_links: [{ id: 2 }] }
    const shown = { vault: { id: 1 }, vaults: [{ id: 1 }], target: { id: 1 }, tags: ['a'] }
    await server.expect(201, 'POST', '/api/things/', {
      ...{ title: 'hers', amount: 1, owner: { id: ann.id }, place: { city: 'Bern', zq_zip: 'CANARYzip' } },
      ...{ ...shown, ...to, ...canaries, ...ownCanaries },
    })
    await server.expect(201, 'POST', '/api/things/', {
      title: 'hers',
      zq_always: {},
      amount: 1,
      tags: ['a'],
      owner: { id: ann.id },
    })
    await server.expect(201, 'POST', '/api/things/', {
      ...{
        title: 'mine',
        zq_always: {},
        amount: 3,
        owner: { id: eve.id },
        own_text: 'seen',
        own_integer: 7,
        place: { zq_zip: 'CANARYzip' },
      },
    })
    await server.expect(200, 'PATCH', '/api/vaults/1/', { zq_thing: { id: 1 } })
  })

  const get = (path: string, query: Record<string, string>, token: string | null) =>
    server.call('GET', `${path}?${new URLSearchParams(query)}`, { token })

  /** Asks twice, and compares; as many at once as a server takes without a word. */
  async function compare(
    pairs: readonly { readonly said: string; readonly ask: (path: string) => Promise<Received> }[],
    path: string,
    unknown: string,
  ): Promise<void> {
    const [word, other] = firstDifference(path, unknown)
    for (let at = 0; at < pairs.length; at += 50)
      await Promise.all(
        pairs.slice(at, at + 50).map(async ({ said, ask }) => {
          const [one, two] = await Promise.all([ask(path), ask(unknown)])
          const told = (received: Received) => [said, path, received.status, etcOf(received), received.text]
          const swapped = told(one).map((part) =>
            typeof part === 'string' ? part.replaceAll(word, other) : part,
          )
          expect(swapped).toEqual(told(two).map((part) => (part === path ? unknown : part)))
          expect(one.status).toBeOneOf([401, 403, 404, 422])
          expect(one.text).not.toMatch(CANARY_UNSENT)
        }),
      )
  }

  describe('of a hidden field', () => {
    for (const type of ['things', 'users', 'targets'])
      test(`of ${type} answers as of one that is not there, to whatever is asked`, async () => {
        for (const [who, actor, token] of callers()) {
          const paths = hiddenPaths(server, type, actor)
          expect([who, paths.length]).toEqual([who, expect.any(Number)])
          expect(paths.length).toBeGreaterThan(2)
          for (const path of paths) {
            const unknown = unknownFor(path, (one) => paths.includes(one))
            expect(unknown).not.toBe(path)
            const list = `/api/${type}/`
            await compare(
              [
                ...conditions.map((condition, at) => ({
                  said: `filter ${at}`,
                  ask: (p: string) => get(list, { filter: condition(p) }, token),
                })),
                ...parameters.map((query, at) => ({
                  said: `list ${at}`,
                  ask: (p: string) => get(list, query(p), token),
                })),
                ...figures.map((query, at) => ({
                  said: `summary ${at}`,
                  ask: (p: string) => get(`${list}summary/`, query(p), token),
                })),
                ...['fields', 'expand'].map((name) => ({
                  said: `read by ${name}`,
                  ask: (p: string) => get(`${list}1/`, { [name]: p }, token),
                })),
                ...[{ fields: true }, { sort: true }, { filter: true }].map((name) => ({
                  said: 'the past',
                  ask: (p: string) =>
                    get(list, { [Object.keys(name)[0] ?? '']: p, at: new Date().toISOString() }, token),
                })),
              ],
              path,
              unknown,
            )
          }
        }
      }, 120_000)

    test('is refused in a body as one that is not there', async () => {
      for (const [, actor, token] of callers()) {
        const plan = server.context.plans.get('things')
        if (plan === undefined) throw new Error('things')
        const { type } = plan
        const { viewer } = plan.view(actor)
        const isHidden = (path: string) => viewer.mayField(type, path, 'read') === no
        const isSet = (path: string) => viewer.mayField(type, path, 'write') !== no
        const paths = [...walk(type.fields)]
          .map(({ path }) => path)
          .filter((path) => /zq_/.test(path) && isHidden(path) && !isSet(path))
        expect(paths.length).toBeGreaterThan(20)
        for (const path of paths) {
          const unknown = unknownFor(path, (one) => paths.includes(one))
          const values = [null, 'CANARYtext', 910_001, true, [], {}, { id: 2 }, '2091-01-01']
          const bodies = values.map((value) => (p: string) => ({ ...bodyOf(p, value), amount: 'wrong' }))
          const body = (make: (p: string) => object, method: string, to: string) => ({
            said: `${method} ${to}`,
            ask: (p: string) => server.call(method, to, { token, body: make(p) }),
          })
          await compare(
            bodies.flatMap((make) => [
              body((p) => ({ title: 'x', ...make(p) }), 'POST', '/api/things/'),
              body((p) => [{ title: 'x', ...make(p) }], 'POST', '/api/things/'),
              body(make, 'PATCH', '/api/things/1/'),
              body((p) => ({ title: 'x', ...make(p) }), 'PUT', '/api/things/1/'),
              body(
                (p) => [{ method: 'PATCH', path: '/api/things/1/', body: make(p) }],
                'POST',
                '/api/batch/',
              ),
            ]),
            path,
            unknown,
          )
        }
      }
    }, 120_000)

    test('is never what was probably meant', async () => {
      for (const [, actor, token] of callers())
        for (const path of hiddenPaths(server, 'things', actor)) {
          for (const typo of [`${path}s`, path.slice(0, -1), path.replace('zq', 'zp')]) {
            const { text: said } = await get('/api/things/', { filter: `${typo} == 3` }, token)
            expect(said.match(/did you mean \\"(.*?)\\"/)?.[1] ?? '').not.toMatch(/zq/)
          }
        }
    })
  })

  /** Every call that somebody can make, with what comes back kept. */
  async function roam(token: string | null, path: string, sent: Parameters<TestServer['call']>[2] = {}) {
    const { method = 'GET', ...rest } = sent as { method?: string } & typeof sent
    const received = await server.call(method, path, { token, ...rest })
    calls.push([`${method} ${path}`, received])
    return received
  }

  describe('in everything that can be called', () => {
    const put = async (token: string | null, method: string, path: string, body?: unknown, headers = {}) =>
      roam(token, path, { method, headers, ...(body !== undefined && { body }) } as never)

    async function pages(token: string | null, path: string): Promise<void> {
      let cursor: string | null = ''
      for (let page = 0; cursor !== null && page < 10; page++) {
        const { body } = await roam(token, `${path}&limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`)
        cursor = body?.next ?? null
      }
    }

    test('reads show nothing of it', async () => {
      const visible = ['id', 'title', 'amount', 'owner.id', 'target.name', 'vault.id', 'created_at']
      const mine = Object.keys(ownCanaries).filter((name) => !/json|list|lines|object/.test(name))
      for (const [, , token] of callers()) {
        for (const type of ['things', 'users', 'targets', 'vaults']) {
          for (const id of [1, 2, 3]) {
            const path = `/api/${type}/${id}/`
            await roam(token, path)
            await roam(token, `${path}?at=${new Date().toISOString()}`)
            await roam(token, `${path}history/`)
          }
          for (const query of [
            '',
            '?trashed=with',
            '?trashed=only',
            '?count=1',
            `?at=${new Date().toISOString()}`,
          ])
            await roam(token, `/api/${type}/${query}`)
        }
        for (const key of [...visible, ...mine])
          for (const sort of [key, `-${key}`]) await pages(token, `/api/things/?sort=${sort}`)
        for (const key of [...visible, ...mine]) await pages(token, `/api/things/summary/?group=${key}`)
        for (const key of mine)
          for (const figure of ['sum', 'avg', 'min', 'max'])
            await roam(token, `/api/things/summary/?${figure}=${key}`)
        for (const expand of [
          'owner,target,target.things,target.own_referred,target.own_linked,own_ref,own_links',
          'owner.things',
          'own_ref.own_referred.own_links',
        ])
          await roam(token, `/api/things/?expand=${expand}`)
        for (const type of ['targets', 'users'])
          await roam(token, `/api/${type}/?expand=things,own_referred,own_linked`)
        for (const words of ['CANARYtext', 'CANARYown', 'canary', 'hers'])
          await roam(token, `/api/things/?search=${words}`)
        for (const path of ['auth/me', 'operations/']) await roam(token, `/api/${path}`)
      }
      await put(null, 'POST', '/api/auth/login', {
        email: 'eve@example.com',
        password: 'correct horse battery',
      })
    })

    test('what depends on the Entity does not tell two of others apart', async () => {
      const paths = [
        ...[...walk(server.context.model.entities.get('things')?.fields ?? [])].map(({ path }) => path),
        ...['own_ref.name', 'own_ref.vault.id', 'own_ref.id', 'own_links.id', 'own_object.inner.id'],
      ].filter((path) => path.startsWith('own_'))
      const told: Record<string, number> = { ann: 0, eve: 0 }
      // The first two are alike but for that.
      const among = ({ status, body }: Received) =>
        status === 200 ? body.data.map((one: { id: number }) => one.id).filter((id: number) => id < 3) : []
      for (const [who, token] of [
        ['ann', ann.token],
        ['eve', eve.token],
      ] as const)
        for (const path of paths)
          for (const at of ['', new Date().toISOString()]) {
            const past = at === '' ? {} : { at }
            const ask = async (query: Record<string, string>, to = '/api/things/') => {
              const received = await get(to, { ...query, ...past }, token)
              expect([path, query, [200, 422].includes(received.status)]).toEqual([path, query, true])
              return received
            }
            const filters = [...conditions, ...yields].map((condition) => ({ filter: condition(path) }))
            const equal = ['null', 'true', '910011', '910012.5', '910013.25', 'CANARYown', 'two', '2']
            const found = await Promise.all(
              [...filters, ...equal.map((value) => ({ [path]: value }))].map(async (query) => ({
                query,
                ids: among(await ask(query)),
              })),
            )
            for (const { query, ids } of found) {
              if (ids.length === 1) told[who] = (told[who] ?? 0) + 1
              if (who === 'eve') expect([query, past, ids.length !== 1]).toEqual([query, past, true])
            }
            if (who !== 'eve') continue
            const up = among(await ask({ sort: path }))
            const down = among(await ask({ sort: `-${path}` }))
            expect([path, `${up} ${down}`.replace('1,2 2,1', ' ')]).toEqual([path, ' '])
            const groups = await ask({ filter: 'id < 3', group: path }, '/api/things/summary/')
            if (groups.status === 200) expect([path, groups.body.data.length]).toEqual([path, 1])
            for (const name of ['sum', 'avg', 'min', 'max']) {
              const { status, body } = await ask({ filter: 'id < 3', [name]: path }, '/api/things/summary/')
              if (status === 200) expect(body.data).toEqual([{ [name]: { [path]: null } }])
            }
          }
      const expand = { expand: 'own_referred,own_linked,things' }
      const { body } = await get('/api/targets/', expand, eve.token)
      const theirs = body.data.map((one: any) => [one.own_referred.data, one.own_linked.data])
      expect(theirs).toEqual(body.data.map(() => [[], []]))
      // What is nobody's can never be read by nobody.
      expect((await get('/api/targets/', expand, null)).status).toBe(422)
      expect(told.ann).toBeGreaterThan(100)
      expect(told.eve).toBe(0)
    }, 60_000)

    test('a search does not look into it', async () => {
      for (const [, , token] of callers())
        for (const words of ['CANARYtext', 'CANARYown', 'canary', 'seen']) {
          const { body } = await roam(token, `/api/things/?search=${words}&count=1`)
          expect([words, body.total]).toEqual([words, 0])
        }
      expect(
        (await server.call('GET', '/api/things/?search=canary', { token: sue.token })).body.data,
      ).toHaveLength(1)
    })

    test('writes, their past and their taking back show nothing of it', async () => {
      const { token } = eve
      const key = { 'Idempotency-Key': 'again' }
      const body = { title: 'made', zq_always: { inner: 1 }, owner: { id: eve.id } }
      const made = await put(token, 'POST', '/api/things/', body, key)
      expect(made.status).toBe(201)
      await put(token, 'POST', '/api/things/', body, key)
      await put(token, 'POST', '/api/things/', [
        { ...body, title: 'a' },
        { ...body, title: 'b' },
      ])
      // Hers, as far as it goes: what is hidden of it stays, whatever she does.
      const path = '/api/things/1/'
      const operations: string[] = []
      const act = async (method: string, to: string, sent?: unknown) => {
        const received = await put(token, method, to, sent)
        expect([method, to, received.status]).toEqual([method, to, 200])
        operations.push(received.headers.get('takeback-operation') ?? '')
        return received
      }
      await act('PATCH', path, { amount: 5 })
      await act('PUT', path, { title: 'hers', amount: 6, owner: { id: ann.id }, place: { city: 'Basel' } })
      const [kept] = await server.query(
        'SELECT "zq_text", "zq_integer", "place.zq_zip" FROM "things" WHERE "id" = 1',
      )
      expect(kept).toEqual({ zq_text: 'CANARYtext', zq_integer: 910_001, 'place.zq_zip': 'CANARYzip' })
      await act('POST', `${path}revert/`, { version: 1 })
      await act('DELETE', path)
      await act('DELETE', `${path}?restore=1`)
      await act('POST', '/api/batch/', [
        { method: 'PATCH', path, body: { amount: 8 } },
        { method: 'POST', path: '/api/things/', body: { title: 'in a batch', zq_always: {} } },
      ])
      for (const operation of operations) {
        await roam(token, `/api/operations/${operation}/`)
        for (const query of ['?dry_run=1', '?dry_run=1&skip_conflicts=1'])
          await put(token, 'POST', `/api/operations/${operation}/undo/${query}`)
      }
      // What changes of it meanwhile stands in nobody's way, and is told to nobody.
      await server.expect(200, 'PATCH', path, { zq_text: 'CANARYnew', own_text: 'CANARYnewer' })
      await put(token, 'POST', `/api/operations/${operations.at(-1)}/undo/`)
      await put(token, 'POST', `/api/operations/${operations.at(-1)}/undo/?skip_conflicts=1`)
      await roam(token, `${path}history/`)
      // Taken, held, deleted: what stands in the way.
      await put(token, 'POST', '/api/things/', { title: 'hers', zq_always: {} })
      await put(token, 'DELETE', '/api/targets/2/')
      await put(token, 'DELETE', '/api/targets/2/?restore=1')
      await put(token, 'DELETE', '/api/vaults/1/')
      await put(token, 'DELETE', '/api/users/1/')
      const gone = await put(token, 'DELETE', '/api/things/1/')
      await server.call('POST', '/api/things/', {
        body: { title: 'other', zq_always: {}, zq_text: 'CANARYnew' },
      })
      await put(token, 'DELETE', '/api/things/1/?restore=1')
      await put(token, 'POST', `/api/operations/${gone.headers.get('takeback-operation')}/undo/`)
      await roam(token, '/api/things/?trashed=only')
      await put(token, 'DELETE', '/api/things/1/?purge=1')
      await roam(token, '/api/operations/')
    })

    test('no answer has any of it, nor a cursor', () => {
      expect(calls.length).toBeGreaterThan(300)
      for (const [call, { status, text: body, headers }] of calls) {
        expect([call, status]).toEqual([call, expect.any(Number)])
        expect([call, status >= 500]).toEqual([call, false])
        const opened = [...body.matchAll(/"next":"(~?)([^"]+)"/g)].map(([, mark, cursor = '']) =>
          Buffer.from(cursor, mark === '~' ? 'hex' : 'base64url').toString(),
        )
        const whole = [body, ...opened, JSON.stringify([...headers])].join('\n')
        expect([call, whole.match(CANARY)?.[0]]).toEqual([call, undefined])
        expect([call, body.replaceAll(/"(errors|message)":.*/g, '').match(/zq_\w+/)?.[0]]).toEqual([
          call,
          undefined,
        ])
      }
    })
  })
})

/** Of an answer to what has canaries in it, those that were not sent. */
const CANARY_UNSENT = /CANARY(inner|json|list|shell|zip|vault|c1|own)|91000[2-9]|91001\d/

function firstDifference(path: string, unknown: string): [string, string] {
  const [names, others] = [path.split('.'), unknown.split('.')]
  const at = names.findIndex((name, place) => name !== others[place])
  return [names[at] ?? '', others[at] ?? '']
}

/** What is told besides the body. */
function etcOf({ headers }: Received): string {
  return JSON.stringify([...headers].filter(([name]) => !['date', 'request-id'].includes(name)))
}

function bodyOf(path: string, value: unknown): object {
  return path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object
}
