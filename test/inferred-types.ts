import type { Api } from '../src/declare/api-types.ts'
import type { AnyUser, EntityChanges, NewEntity, SeenEntity, WholeEntity } from '../src/declare/infer.ts'
import {
  app,
  boolean,
  choice,
  date,
  datetime,
  decimal,
  entity,
  integer,
  invalid,
  json,
  list,
  me,
  now,
  object,
  ref,
  secret,
  signedIn,
  text,
} from '../src/takeback.ts'

/** The types that TypeScript infers from declarations. Nothing here runs: the type check is the test. */

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(_: Same<A, B>) => {}

const orders = entity({
  fields: {
    number: integer(),
    status: choice(['open', 'paid'], { default: 'open' }),
    total: decimal({ optional: true }),
    customer: ref('users'),
    tags: list(ref('tags'), { default: [] }),
    lines: list(object({ sku: text({ max: 9 }), count: integer({ default: 1 }) })),
    address: object({ city: text(), since: date({ optional: true }) }, { optional: true }),
    size: object({ width: integer(), depth: integer({ optional: true }) }),
    note: text({ optional: true, read: 'me.type == "admin"' }),
    code: secret({ optional: true }),
    extra: json({ optional: true }),
    flag: boolean({ default: false }),
  },
  access: { read: 'customer.id == me.id' },
  before: {
    async create(order, { me, api, signal }) {
      same<typeof order.status, 'open' | 'paid' | null | undefined>(true)
      same<typeof order.lines, readonly { sku: string; count?: number }[] | undefined>(true)
      // @ts-expect-error: there is no such field.
      order.nmber
      if (me === null || signal.aborted) throw invalid({ 'lines.2.sku': 'is sold out' })
      const { data } = await api.system.orders.list({ sort: '-number', limit: 1 })
      return { ...order, number: (data[0]?.number ?? 0) + me.id }
    },
    update(changes, { before }) {
      same<typeof before.size, { width: number; depth: number | null }>(true)
      same<typeof before.address, { city: string; since: string | null } | null>(true)
      // @ts-expect-error: the fields of an object are known too.
      changes.size?.height
    },
    delete(order) {
      same<typeof order.note, string | null>(true)
      // @ts-expect-error: a secret never comes back.
      order.code
    },
  },
})
const users = entity({ login: { userType: 'user' }, fields: { name: text() } })
const types = { orders, users, tags: entity({ fields: { word: text() } }) }

same<NewEntity<typeof users>, { email: string; password: string; name: string }>(true)
same<EntityChanges<typeof types.tags>, { word?: string }>(true)
same<
  AnyUser<typeof types>,
  {
    type: 'user'
    id: number
    version: number
    created_at: string
    updated_at: string
    deleted_at: string | null
    email: string
    name: string
  }
>(true)
same<SeenEntity<typeof orders>['note'], string | null | undefined>(true)
same<WholeEntity<typeof orders>['tags'], { id: number }[]>(true)

export async function useApi(api: Api<typeof types>): Promise<void> {
  const order = await api.orders.create({
    number: 1,
    customer: { id: 5 },
    lines: [{ sku: 'x' }],
    size: { width: 3 },
  })
  same<typeof order.total, string | null>(true)
  // @ts-expect-error: a required field is missing.
  await api.tags.create({})
  // @ts-expect-error: a reference has an id.
  await api.orders.update(1, { customer: 5 })
  // @ts-expect-error: not one of the values.
  await api.orders.update(1, { status: 'closed' })
  await api.orders.update(1, { status: null, size: { depth: null } }, { version: 3 })
  await api.orders.update(1, { number: { $add: 1 }, total: { $add: '0.50' }, tags: { $remove: [{ id: 3 }] } })
  // @ts-expect-error: a text has no operators.
  await api.orders.update(1, { note: { $add: 'x' } })
  // @ts-expect-error: no such type.
  api.rooms
  const [first] = await api.tags.create([{ word: 'a' }, { word: 'b' }])
  same<typeof first, SeenEntity<typeof types.tags> | undefined>(true)
  await api.batch([
    { create: 'users', body: { email: 'a@b.de', password: 'x', name: 'A' } },
    { update: 'orders', id: 3, body: { customer: { id: '$0.id' } } },
    { delete: 'tags', id: 3 },
  ])
  // @ts-expect-error: no such field in that type.
  await api.batch([{ create: 'tags', body: { wrd: 'x' } }])
  const whole = await api.system.orders.get(1)
  same<typeof whole.note, string | null>(true)
}

app({
  entities: types,
  admins: 'users',
  routes: {
    'POST /api/checkout/': {
      access: signedIn,
      body: object({
        order: ref('orders'),
        tip: decimal({ optional: true }),
        times: integer({ default: 1 }),
      }),
      async run({ me, body, api }) {
        same<typeof body, { order: { id: number }; tip: string | null; times: number }>(true)
        same<typeof me, AnyUser<typeof types> | null>(true)
        const order = await api.orders.get(body.order.id)
        // @ts-expect-error: no such type.
        api.rooms
        return { paid: order.total, by: me?.name }
      },
    },
    'GET /api/tags/:word/orders/:id/': {
      query: ['since'],
      run({ params, query, body }) {
        same<typeof params, Readonly<Record<'word' | 'id', string>>>(true)
        same<typeof body, undefined>(true)
        return query.since
      },
    },
  },
})

app({
  entities: types,
  reactions: {
    async 'orders.update'({ before, after, operation, kind, api }) {
      same<typeof before, WholeEntity<typeof orders>>(true)
      same<typeof kind, 'update'>(true)
      await api.tags.create({ word: `${after.status} ${operation.actor}` })
      // @ts-expect-error: no such type.
      api.rooms
    },
    'tags.*'({ after, kind }) {
      same<typeof after, WholeEntity<typeof types.tags> | null>(true)
      if (kind === 'purge') throw new Error()
    },
    'tags.create'({ before }) {
      same<typeof before, null>(true)
    },
    // @ts-expect-error: no such kind of change.
    'orders.updated'() {},
  },
  jobs: {
    nightly: {
      every: '0 3 * * *',
      async run({ api }) {
        const { data } = await api.orders.list({ where: { 'customer.id': 5 } })
        same<(typeof data)[number], WholeEntity<typeof orders>>(true)
        // @ts-expect-error: no such type.
        api.rooms
      },
    },
  },
})

// @ts-expect-error: a misspelt option.
entity({ fields: { name: text() }, acces: {} })
// @ts-expect-error: a hook that does not exist.
entity({ fields: { name: text() }, before: { creat() {} } })

// Fields that the server sets cannot be sent, and computed fields only come back.
const audits = entity({
  fields: {
    by: ref('users', { default: me }),
    count: integer(),
    at: datetime(),
    edit: object({ by: ref('users'), note: text() }),
  },
  set: { create: { at: now, 'edit.by': me }, update: { at: now } },
  computed: { twice: 'count * 2' },
  before: {
    create(audit) {
      // @ts-expect-error: it is set by the server.
      audit.at
    },
    update(_, { before }) {
      same<typeof before.twice, string | number | boolean | null>(true)
    },
  },
})
same<NewEntity<typeof audits>, { count: number; edit: { note: string }; by?: { id: number } }>(true)
same<SeenEntity<typeof audits>['twice'], string | number | boolean | null | undefined>(true)
same<WholeEntity<typeof audits>['at'], string>(true)
