import { beforeAll, describe, expect, test } from 'bun:test'
import {
  app,
  entity,
  everyone,
  integer,
  json,
  list,
  object,
  ref,
  signedIn,
  text,
} from '../../src/takeback.ts'
import { onEveryStore } from '../harness.ts'

const own = 'owner.id == me.id'
const staff = 'me.type == "staff"'

/** What somebody with an account, and no more than that, tries to get at. */
const hostile = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    companies: entity({ fields: { name: text() }, access: { read: 'id == me.company.id' } }),
    users: entity({
      login: { userType: 'user' },
      fields: {
        company: ref('companies', { optional: true }),
        // Not even one's own: that of those whom one manages.
        rating: integer({ optional: true, read: 'manager.id == me.id' }),
        manager: ref('users', { optional: true }),
        phone: text({ optional: true, write: 'id == me.id' }),
      },
      access: { create: everyone, read: signedIn, update: signedIn },
    }),
    staff: entity({ login: { userType: 'staff' }, fields: { level: integer({ default: 1 }) } }),
    notes: entity({
      fields: {
        title: text(),
        code: text({ optional: true, unique: true }),
        owner: ref('users'),
        data: json({ optional: true }),
      },
      access: {
        create: signedIn,
        read: own,
        update: own,
        delete: own,
        restore: own,
        purge: own,
        history: own,
      },
    }),
    // Whoever may change it need not be whoever may read it.
    boards: entity({
      fields: { title: text(), owner: ref('users') },
      access: {
        create: own,
        read: own,
        update: signedIn,
        delete: signedIn,
        restore: signedIn,
        purge: signedIn,
      },
    }),
    // All to be read, but who wrote them, and for whom, only by those who did.
    letters: entity({
      fields: {
        title: text(),
        owner: ref('users'),
        to: ref('users', { optional: true, as: 'received', read: own }),
        copies: list(ref('users', { as: 'copied' }), { default: [], read: own }),
        grade: integer({ default: 0, read: own }),
      },
      access: { create: own, read: everyone, update: own, delete: own },
    }),
    // Seen by those who work for the same company as their owner: a rule that goes over references on both sides.
    papers: entity({
      fields: { title: text(), owner: ref('users'), holder: ref('users') },
      access: { read: 'owner.company.id == holder.company.id && !(owner.company.id == holder.rating)' },
    }),
    stamps: entity({
      fields: { paper: ref('papers'), holder: ref('users', { optional: true }) },
      access: { read: everyone },
    }),
    accounts: entity({
      fields: {
        title: text(),
        owner: ref('users'),
        plan: text({ default: 'free', write: 'owner.company.id == 1' }),
        billing: object(
          {
            vat: text({ optional: true }),
            credit: integer({ default: 0, write: staff }),
            limit: integer({ default: 10, write: 'owner.company.id == 1' }),
          },
          { optional: true },
        ),
        extras: object(
          { seats: integer({ default: 1, write: 'owner.company.id == 1' }) },
          { optional: true },
        ),
      },
      access: { create: signedIn, read: own, update: own },
    }),
    lockers: entity({
      fields: {
        title: text(),
        serial: text({ optional: true, unique: true, read: staff }),
        row: integer({ default: 0, read: staff, write: staff }),
        keeper: ref('keepers', { optional: true, read: staff, onDelete: 'cascade' }),
      },
      unique: [['title', 'row']],
      access: {
        create: signedIn,
        read: everyone,
        update: signedIn,
        delete: signedIn,
        restore: signedIn,
        history: signedIn,
      },
    }),
    keepers: entity({ fields: { name: text() } }),
  },
})

onEveryStore('hostile users', hostile, (server) => {
  let ann = { id: 0, token: '' }
  let eve = { id: 0, token: '' }
  const as = ({ token }: { token: string }) => ({ token })
  const find = async (path: string, query: Record<string, string>, user: typeof ann): Promise<number[]> => {
    const { data } = await server.expect(
      200,
      'GET',
      `/api/${path}/?${new URLSearchParams(query)}`,
      undefined,
      as(user),
    )
    return data.map(({ id }: { id: number }) => id)
  }

  beforeAll(async () => {
    await server.expect(201, 'POST', '/api/companies/', { name: 'Acme' })
    await server.expect(201, 'POST', '/api/companies/', { name: 'Other' })
    ann = await server.user('users', { email: 'ann@example.com', company: { id: 1 }, rating: 7 })
    eve = await server.user('users', { email: 'eve@example.com', company: { id: 2 }, rating: 3 })
  })

  describe('a reference that depends on the Entity', () => {
    beforeAll(async () => {
      await server.expect(201, 'POST', '/api/letters/', {
        title: 'a',
        owner: { id: ann.id },
        to: { id: ann.id },
        copies: [{ id: ann.id }],
        grade: 5,
      })
      await server.expect(201, 'POST', '/api/letters/', {
        title: 'e',
        owner: { id: eve.id },
        to: { id: eve.id },
        copies: [{ id: eve.id }],
        grade: 4,
      })
    })

    test('leads a filter nowhere', async () => {
      for (const filter of [
        'to.email == "ann@example.com"',
        'to.email.startsWith("ann")',
        'to.email in ["ann@example.com"]',
        '!(to.email == "eve@example.com")',
        `to.id == ${ann.id}`,
        `${ann.id} in copies`,
        `!(${eve.id} in copies)`,
        'copies.exists(one, one.email == "ann@example.com")',
        'copies.exists(one, one.id < 2)',
        'size(copies) == 1 && title == "a"',
        'grade == 5',
      ])
        expect([filter, await find('letters', { filter }, eve)]).toEqual([filter, []])
      expect(await find('letters', { filter: `to.id == ${eve.id}` }, eve)).toEqual([2])
      expect(await find('letters', { filter: 'to.email.startsWith("eve")' }, eve)).toEqual([2])
      expect(await find('letters', { filter: `${eve.id} in copies` }, eve)).toEqual([2])
    })

    test('is not found from its target either', async () => {
      const { data } = await server.expect(
        200,
        'GET',
        '/api/users/?expand=received,copied&sort=id',
        undefined,
        as(eve),
      )
      const titles = (page: { data: { title: string }[] }) => page.data.map(({ title }) => title)
      expect(data.map((one: any) => [titles(one.received), titles(one.copied)])).toEqual([
        [[], []],
        [['e'], ['e']],
      ])
    })

    test('does not cut short a list that is sorted by what is hidden', async () => {
      for (const sort of ['grade', '-grade', 'to.id', '-to.email']) {
        const seen: number[] = []
        let cursor: string | null = ''
        while (cursor !== null && seen.length < 5) {
          const query = new URLSearchParams({ sort, limit: '1', ...(cursor !== '' && { cursor }) })
          const page: any = await server.expect(200, 'GET', `/api/letters/?${query}`, undefined, as(eve))
          seen.push(...page.data.map(({ id }: any) => id))
          if (page.next !== null) expect(Buffer.from(page.next, 'base64url').toString()).not.toMatch(/5|ann/)
          cursor = page.next
        }
        expect([sort, seen]).toEqual([sort, sort.startsWith('-') ? [2, 1] : [1, 2]])
      }
    })
  })

  test('cannot ask of themselves what they may not see', async () => {
    expect(await find('users', { filter: 'me.rating == 3' }, eve)).toEqual([])
    expect(await find('users', { filter: 'me.rating != null' }, eve)).toEqual([])
    expect(await find('users', { filter: 'rating == 3' }, eve)).toEqual([])
  })

  test('are held to rules that go over references on both sides', async () => {
    await server.expect(201, 'POST', '/api/papers/', {
      title: 'apart',
      owner: { id: ann.id },
      holder: { id: eve.id },
    })
    await server.expect(201, 'POST', '/api/papers/', {
      title: 'together',
      owner: { id: ann.id },
      holder: { id: ann.id },
    })
    for (const paper of [1, 2])
      await server.expect(201, 'POST', '/api/stamps/', { paper: { id: paper }, holder: { id: eve.id } })
    expect(await find('papers', {}, eve)).toEqual([2])
    expect(await find('stamps', { filter: 'paper.title != ""' }, eve)).toEqual([2])
    expect(await find('stamps', { filter: '!(paper.title == "")' }, eve)).toEqual([2])
    expect(await find('stamps', { 'paper.title': 'apart' }, eve)).toEqual([])
    expect(await find('stamps', { sort: '-paper.title' }, eve)).toEqual([2, 1])
    const { data } = await server.expect(200, 'GET', '/api/stamps/?expand=paper', undefined, as(eve))
    expect(data.map(({ paper }: any) => paper.title)).toEqual([undefined, 'together'])
  })
})
