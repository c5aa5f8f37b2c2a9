import { beforeAll, describe, expect, test } from 'bun:test'
import {
  datetime,
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
import { onEveryStore } from '../harness.ts'

const some = { optional: true } as const
const staff = { read: 'me.type == "staff"', write: 'me.type == "staff"' } as const

const declared = withAdmins({
  members: entity({
    login: { userType: 'member' },
    fields: { nickname: text(some) },
    access: { read: everyone },
  }),
  staff: entity({ login: { userType: 'staff' }, fields: {} }),
  rooms: entity({ fields: { title: text(), owner: ref('members', some) }, access: { read: everyone } }),
  tasks: entity({
    fields: {
      title: text(some),
      priority: integer(some),
      ratio: number(some),
      starts_at: datetime(some),
      assignee: ref('members', { ...some, as: 'assignments' }),
      room: ref('rooms', some),
      address: object({ street: text(some), zip: text(some) }, some),
      labels: list(text(), { default: [] }),
      extra: json(some),
      salary: integer({ ...some, ...staff }),
      manager: ref('members', { ...some, ...staff }),
      vault: object({ combination: text(some) }, { ...some, ...staff }),
    },
    access: { read: everyone, create: everyone, update: everyone },
  }),
})

const unknown = (what: string) => `"${what}" is not a value of tasks that can be sorted by`

/** Queries, the key under which each is refused, and the message. */
const asked: readonly (readonly [query: string, key: string, said: string])[] = [
  ['sort=titel', 'sort', `${unknown('titel')}; did you mean "title"?`],
  ['sort=-adress.street', 'sort', `${unknown('adress.street')}; did you mean "address.street"?`],
  ['sort=address.stret', 'sort', `${unknown('address.stret')}; did you mean "address.street"?`],
  ['sort=room.titel', 'sort', `${unknown('room.titel')}; did you mean "room.title"?`],
  ['sort=room', 'sort', `${unknown('room')}: it is a reference, so write room.id`],
  ['sort=address', 'sort', `${unknown('address')}: it is an object, so name a value in it`],
  ['sort=labels', 'sort', `${unknown('labels')}: it is a list, so use filter with in, exists or all`],
  ['sort=title desc', 'sort', `${unknown('title desc')}: write -title`],
  ['sort=title:ASC', 'sort', `${unknown('title:ASC')}: write title`],
  ['sort=%2Btitle', 'sort', `${unknown('+title')}: write title`],
  ['sort=nothing_like_it', 'sort', unknown('nothing_like_it')],
  ['fields=titel', 'fields', '"titel" is not a field of tasks; did you mean "title"?'],
  [
    'fields=address.stret',
    'fields',
    '"address.stret" is not a field of tasks; did you mean "address.street"?',
  ],
  ['expand=asignee', 'expand', '"asignee" is not a reference of tasks; did you mean "assignee"?'],
  ['expand=room.ownr', 'expand', '"room.ownr" is not a reference of rooms; did you mean "owner"?'],
  [
    'assignee=3',
    'assignee',
    'is not a parameter, nor a value of tasks: it is a reference, so write assignee.id',
  ],
  [
    'room.owner=3',
    'room.owner',
    'is not a parameter, nor a value of tasks: it is a reference, so write room.owner.id',
  ],
  ['titel=x', 'titel', 'is not a parameter, nor a value of tasks; did you mean "title"?'],
  ['limt=5', 'limt', 'is not a parameter, nor a value of tasks; did you mean "limit"?'],
  [
    'page=2',
    'page',
    'is not a parameter, nor a value of tasks; for the next page, send next of this one as cursor',
  ],
  ['order=title', 'order', 'is not a parameter, nor a value of tasks; use sort for the order'],
  [
    'search=word',
    'search',
    'is not a parameter, nor a value of tasks; none of its fields is searched: declare one with search: true',
  ],
  [
    'filter=starts_at > now - duration("7d")',
    'filter',
    'needs a duration, such as duration("1h30m") or duration("90s"), with days in hours: duration("168h"), at column 19',
  ],
  ['filter=titel == "x"', 'filter', 'unknown field "titel" at column 1; did you mean "title"?'],
]

onEveryStore('hints', declared, (server) => {
  let ann = { id: 0, token: '' }

  beforeAll(async () => {
    ann = await server.user('members', { email: 'ann@example.com' })
    await server.expect(201, 'POST', '/api/tasks/', { title: 'a', assignee: { id: ann.id } })
  })

  test.each(asked)('%s', async (query, key, said) => {
    const path = `/api/tasks/?${query.replaceAll(' ', '%20').replaceAll('"', '%22')}`
    const { status, body } = await server.call('GET', path)
    expect([status, body.errors]).toEqual([422, { [key]: [said] }])
  })

  test('of a summary, of the parameters of other calls, of bodies and of actors', async () => {
    const said = async (method: string, path: string, body?: unknown) =>
      (await server.call(method, path, body === undefined ? {} : { body })).body.errors
    expect(await said('GET', '/api/tasks/summary/?sum=priorty')).toEqual({
      sum: ['"priorty" is not a number of tasks; did you mean "priority"?'],
    })
    expect(await said('GET', '/api/tasks/1/?feilds=id')).toEqual({
      feilds: ['is not a parameter here; did you mean "fields"?'],
    })
    expect(
      await said('PATCH', '/api/tasks/1/', { titel: 'x', address: { stret: 'x' }, far_away: 1 }),
    ).toEqual({
      titel: ['is not a field of tasks; did you mean "title"?'],
      'address.stret': ['is not a field here; did you mean "street"?'],
      far_away: ['is not a field of tasks'],
    })
    expect(await said('GET', '/api/operations/?actor=member/3')).toEqual({
      actor: ['"member" is not a login type; did you mean "members"?'],
    })
    for (const actor of ['rooms/1', 'nobodys/3'])
      expect(await said('POST', '/api/operations/undo/', { actor })).toEqual({
        actor: [`"${actor.split('/')[0]}" is not a login type`],
      })
    await server.expect(200, 'GET', '/api/operations/?actor=members/3')
    await server.expect(200, 'GET', '/api/operations/?actor=system')
  })

  test('never name what the caller may not know', async () => {
    const typos = ['salry', 'manger', 'vualt', 'vault.combinaton', 'vault.x', 'salary', 'manager', 'vault']
    for (const typo of typos)
      for (const token of [ann.token, null]) {
        const paths = ['sort', 'fields', 'expand', 'sum', 'group'].map((name) =>
          ['sum', 'group'].includes(name) ? `summary/?${name}=${typo}` : `?${name}=${typo}`,
        )
        for (const path of [...paths, `?${typo}=1`, `?filter=${typo}==1`]) {
          const { status, text } = await server.call('GET', `/api/tasks/${path}`, { token })
          expect([path, status]).toEqual([path, 422])
          const echoed = typo.split('.').reduce((left, name) => left.replaceAll(name, ''), text)
          expect(echoed).not.toMatch(/salary|manager|vault|combination/)
        }
        const { text } = await server.call('POST', '/api/tasks/', {
          body: { [typo.split('.')[0] ?? '']: 1 },
          token,
        })
        expect(text.replaceAll(typo, '')).not.toMatch(/did you mean/)
      }
  })

  test('cost no more the more is wrong', async () => {
    const keys = Array.from({ length: 20_000 }, (_, at) => [`titl${at}${'e'.repeat(30)}`, 1])
    const { status, body } = await server.call('POST', '/api/tasks/', { body: Object.fromEntries(keys) })
    expect([status, Object.keys(body.errors).length]).toEqual([422, 101])
  })

  describe('values', () => {
    test('are in no empty list, whatever they are', async () => {
      const find = async (filter: string) =>
        (await server.expect(200, 'GET', `/api/tasks/?filter=${encodeURIComponent(filter)}`)).data.length
      for (const value of ['title', 'priority', 'assignee.id', 'room.title', '"a"', '3', 'me.id']) {
        expect(await find(`${value} in []`)).toBe(0)
        expect(await find(`!(${value} in [])`)).toBe(1)
      }
    })

    test('beyond what a number can be are refused by what can be sent', async () => {
      for (const ratio of [1e300, -1e300, 2 ** 53]) {
        const { status, body } = await server.call('POST', '/api/tasks/', { body: { ratio } })
        expect([status, body.errors]).toEqual([
          422,
          { ratio: ['must be a number from -9007199254740991 to 9007199254740991'] },
        ])
      }
      await server.expect(201, 'POST', '/api/tasks/', { ratio: 9007199254740991 })
    })

    test('that are whole are added up exactly', async () => {
      const sums = [
        [[9007199254740991], 9007199254740991],
        [[9007199254740991, 1], '9007199254740992'],
        [[9007199254740991, 9007199254740991, 3], '18014398509481985'],
        [[-9007199254740991, -5], '-9007199254740996'],
        [[9007199254740991, 9, -9], 9007199254740991],
      ] as const
      for (const [at, [values, sum]] of sums.entries()) {
        const title = `sum ${at}`
        for (const priority of values) await server.expect(201, 'POST', '/api/tasks/', { title, priority })
        const { data } = await server.expect(
          200,
          'GET',
          `/api/tasks/summary/?sum=priority&title=${encodeURIComponent(title)}`,
        )
        expect(data).toEqual([{ sum: { priority: sum } }])
      }
    })
  })

  test('ids of a list of new users are used once', async () => {
    const people = (from: number) =>
      Array.from({ length: 3 }, (_, at) => ({
        email: `p${from + at}@example.com`,
        password: 'correct horse battery',
      }))
    const ids = async (from: number) =>
      (await server.expect(201, 'POST', '/api/members/', people(from))).data.map(
        ({ id }: { id: number }) => id,
      )
    const first = await ids(0)
    expect([...first, ...(await ids(3))]).toEqual([0, 1, 2, 3, 4, 5].map((at) => first[0] + at))
  })
})
