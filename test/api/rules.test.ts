import { beforeAll, describe, expect, test } from 'bun:test'
import { expectInvalid, onEveryStore } from '../harness.ts'
import { rules } from '../rules.ts'

onEveryStore('rules', rules, (server) => {
  let ann = { id: 0, token: '' }
  let bob = { id: 0, token: '' }
  let sue = { id: 0, token: '' }
  const as = ({ token }: { token: string }) => ({ token })

  beforeAll(async () => {
    await server.expect(201, 'POST', '/api/companies/', { name: 'Acme' })
    await server.expect(201, 'POST', '/api/companies/', { name: 'Open', open: true })
    ann = await server.user('users', {
      email: 'ann@example.com',
      company: { id: 1 },
      phone: '1',
      name: 'Ann',
    })
    bob = await server.user('users', { email: 'bob@example.com', company: { id: 2 }, phone: '2' })
    sue = await server.user('staff', { email: 'sue@example.com' })
  })

  describe('own rows only', () => {
    let note = { id: 0 }

    test('are created for oneself, and not for others', async () => {
      note = await server.expect(
        201,
        'POST',
        '/api/notes/',
        { title: 'mine', owner: { id: ann.id } },
        as(ann),
      )
      await server.expect(403, 'POST', '/api/notes/', { title: 'his', owner: { id: bob.id } }, as(ann))
      await server.expect(403, 'POST', '/api/notes/', { title: 'nobody’s' }, as(ann))
      await server.expect(403, 'POST', '/api/notes/', { title: 'x', owner: { id: ann.id } }, as(sue))
      await server.expect(401, 'POST', '/api/notes/', { title: 'x', owner: { id: ann.id } }, { token: null })
      expect(await server.rows('notes')).toBe(1)
    })

    test('are read, listed and counted by their owner', async () => {
      await server.expect(201, 'POST', '/api/notes/', { title: 'ownerless' })
      await server.expect(200, 'GET', `/api/notes/${note.id}/`, undefined, as(ann))
      await server.expect(404, 'GET', `/api/notes/${note.id}/`, undefined, as(bob))
      await server.expect(404, 'GET', '/api/notes/2/', undefined, as(bob))
      await server.expect(401, 'GET', `/api/notes/${note.id}/`, undefined, { token: null })
      const mine = await server.expect(200, 'GET', '/api/notes/?count=1', undefined, as(ann))
      expect([mine.data.length, mine.total]).toEqual([1, 1])
      const his = await server.expect(200, 'GET', '/api/notes/?count=1&filter=id>0', undefined, as(bob))
      expect([his.data.length, his.total]).toEqual([0, 0])
      expect((await server.expect(200, 'GET', '/api/notes/?count=1')).total).toBe(2)
    })

    test('are changed and given away by nobody else', async () => {
      const path = `/api/notes/${note.id}/`
      await server.expect(404, 'PATCH', path, { title: 'x' }, as(bob))
      await server.expect(404, 'PATCH', path, {}, as(bob))
      await server.expect(200, 'PATCH', path, { title: 'changed' }, as(ann))
      await server.expect(200, 'PATCH', path, {}, as(ann))
      await server.expect(404, 'PUT', path, { title: 'x', owner: { id: bob.id } }, as(bob))
      await server.expect(404, 'DELETE', path, undefined, as(bob))
      await server.expect(404, 'GET', `${path}history/`, undefined, as(bob))
      await server.expect(404, 'POST', `${path}revert/`, { version: 1 }, as(bob))
      expect((await server.expect(200, 'GET', `${path}history/`, undefined, as(ann))).data).toHaveLength(2)
      const back = await server.expect(200, 'POST', `${path}revert/`, { version: 1 }, as(ann))
      expect(back.title).toBe('mine')
    })

    test('are deleted, restored and purged by their owner', async () => {
      const path = `/api/notes/${note.id}/`
      await server.expect(200, 'DELETE', path, undefined, as(ann))
      await server.expect(404, 'DELETE', `${path}?restore=1`, undefined, as(bob))
      await server.expect(404, 'DELETE', `${path}?purge=1`, undefined, as(bob))
      const trash = (user: typeof ann) =>
        server.expect(200, 'GET', '/api/notes/?trashed=only', undefined, as(user))
      expect([(await trash(ann)).data.length, (await trash(bob)).data.length]).toEqual([1, 0])
      await server.expect(200, 'DELETE', `${path}?restore=1`, undefined, as(ann))
      const received = await server.call('DELETE', path, as(ann))
      const operation = received.headers.get('takeback-operation')
      await server.expect(404, 'POST', `/api/operations/${operation}/undo/`, undefined, as(bob))
      await server.expect(200, 'POST', `/api/operations/${operation}/undo/`, undefined, as(ann))
      await server.expect(200, 'GET', path, undefined, as(ann))
      await server.expect(200, 'DELETE', path, undefined, as(ann))
      await server.expect(204, 'DELETE', `${path}?purge=1`, undefined, as(ann))
    })

    test('are seen as they were by their owner', async () => {
      const one = await server.expect(
        201,
        'POST',
        '/api/notes/',
        { title: 'past', owner: { id: ann.id } },
        as(ann),
      )
      const at = encodeURIComponent(new Date(Date.now() + 500).toISOString())
      await server.expect(200, 'GET', `/api/notes/${one.id}/?at=${at}`, undefined, as(ann))
      await server.expect(404, 'GET', `/api/notes/${one.id}/?at=${at}`, undefined, as(bob))
      const list = (user: typeof ann) =>
        server.expect(200, 'GET', `/api/notes/?at=${at}`, undefined, as(user))
      expect([(await list(ann)).data.length, (await list(bob)).data.length]).toEqual([1, 0])
    })
  })

  describe('a team', () => {
    test('sees what its members see, through references', async () => {
      const names = async (user: typeof ann) =>
        (await server.expect(200, 'GET', '/api/companies/', undefined, as(user))).data.map(
          ({ name }: any) => name,
        )
      expect([await names(ann), await names(bob), await names(sue)]).toEqual([
        ['Acme', 'Open'],
        ['Open'],
        ['Open'],
      ])
      const cat = await server.user('users', { email: 'cat@example.com', company: { id: 1 } })
      const seen = await server.expect(200, 'GET', '/api/users/', undefined, as(cat))
      expect(seen.data.map(({ id }: any) => id)).toEqual([ann.id, cat.id])
    })

    test('is listed page by page, each member once, whichever side of the rule shows it', async () => {
      for (let at = 0; at < 9; at++)
        await server.expect(201, 'POST', '/api/users/', {
          email: `member${at}@example.com`,
          password: 'correct horse battery',
          name: at % 3 === 0 ? null : `n${at % 4}`,
          company: { id: 1 + (at % 2) },
        })
      for (const sort of ['id', '-id', 'name', '-name,email', 'company.name,-id']) {
        const whole = await server.expect(
          200,
          'GET',
          `/api/users/?limit=200&sort=${sort}`,
          undefined,
          as(ann),
        )
        const seen: unknown[] = []
        for (let next: string | null = ''; next !== null; ) {
          const cursor: string = next === '' ? '' : `&cursor=${next}`
          const page = await server.expect(
            200,
            'GET',
            `/api/users/?limit=2&sort=${sort}${cursor}`,
            undefined,
            as(ann),
          )
          seen.push(...page.data)
          next = page.next
        }
        expect([sort, seen]).toEqual([sort, whole.data])
        expect(seen.length).toBeGreaterThan(5)
      }
      for (const { id } of (await server.expect(200, 'GET', '/api/users/?filter=email.startsWith("member")'))
        .data)
        await server.expect(200, 'DELETE', `/api/users/${id}/`)
    })

    test('is followed at once when a member moves', async () => {
      const dan = await server.user('users', { email: 'dan@example.com' })
      const count = async () =>
        (await server.expect(200, 'GET', '/api/companies/?count=1', undefined, as(dan))).total
      expect(await count()).toBe(1)
      await server.expect(200, 'PATCH', `/api/users/${dan.id}/`, { company: { id: 1 } }, as(dan))
      expect(await count()).toBe(2)
    })

    test('does not show more in expansions, filters or sorts', async () => {
      await server.expect(201, 'POST', '/api/tasks/', { title: 't', owner: { id: ann.id } })
      const list = (query: string, user: typeof ann) =>
        server.expect(200, 'GET', `/api/tasks/?${query}`, undefined, as(user))
      const expanded = (await list('expand=owner.company', ann)).data[0].owner
      expect([expanded.email, expanded.phone, expanded.company.name]).toEqual([
        'ann@example.com',
        '1',
        'Acme',
      ])
      expect((await list('expand=owner.company', bob)).data[0].owner).toEqual({ id: ann.id })
      const find = async (filter: string, user: typeof ann) =>
        (await list(`filter=${encodeURIComponent(filter)}`, user)).data.length
      expect(await find('owner.email == "ann@example.com"', ann)).toBe(1)
      expect(await find('owner.email == "ann@example.com"', bob)).toBe(0)
      expect(await find('owner.email != "ann@example.com"', bob)).toBe(0)
      expect(await find('!(owner.email == "ann@example.com")', bob)).toBe(0)
      expect(await find('owner.email == null', bob)).toBe(1)
    })
  })

  describe('a field', () => {
    let task = { id: 0 }

    test('that is hidden is not there, for whatever is asked', async () => {
      const made = await server.expect(201, 'POST', '/api/tasks/', {
        title: 'hidden',
        price: 7,
        secretly: { hint: 'h', deep: 'd' },
        owner: { id: ann.id },
      })
      task = made
      expect(made).toMatchObject({ price: 7, secretly: { hint: 'h' } })
      const path = `/api/tasks/${made.id}/`
      const seen = await server.expect(200, 'GET', path, undefined, as(ann))
      expect(Object.keys(seen)).toEqual([
        'id',
        'title',
        'status',
        'owner',
        'version',
        'created_at',
        'updated_at',
        'deleted_at',
      ])
      expect((await server.expect(200, 'GET', path, undefined, as(sue))).price).toBe(7)
      for (const [asked, other] of [
        ['filter=price==7', 'filter=prize==7'],
        ['price=7', 'prize=7'],
        ['sort=price', 'sort=prize'],
        ['fields=price', 'fields=prize'],
        ['fields=secretly.hint', 'fields=secretli.hint'],
        ['filter=secretly.hint=="h"', 'filter=secretli.hint=="h"'],
        ['expand=price', 'expand=prize'],
      ]) {
        const [hidden, unknown] = await Promise.all(
          [asked, other].map((query) => server.call('GET', `/api/tasks/?${query}`, as(ann))),
        )
        expect(hidden?.text.replaceAll('price', 'prize').replaceAll('secretly', 'secretli')).toBe(
          unknown?.text ?? '',
        )
        expect(hidden?.status).toBe(422)
      }
      const history = await server.expect(200, 'GET', `${path}history/`, undefined, as(ann))
      expect(JSON.stringify(history)).not.toMatch(/price|secretly/)
      const patched = await server.expect(200, 'PATCH', path, { title: 'hidden again' }, as(ann))
      expect(JSON.stringify(patched)).not.toMatch(/price|secretly/)
    })

    test('that is not theirs to set is refused, and kept by a PUT', async () => {
      const path = `/api/users/${ann.id}/`
      expectInvalid(await server.call('PATCH', path, { body: { score: 5 }, ...as(ann) }), {
        score: ['is not yours to set'],
      })
      expectInvalid(
        await server.call('POST', '/api/users/', {
          body: { email: 'eve@example.com', password: 'correct horse battery', score: 9 },
          token: null,
        }),
        { score: ['is not yours to set'] },
      )
      expectInvalid(
        await server.call('POST', '/api/tasks/', {
          body: { title: 'x', price: 3, secretly: {} },
          ...as(ann),
        }),
        {
          price: ['is not a field of tasks'],
        },
      )
      await server.expect(200, 'PATCH', path, { score: 5 })
      const { email } = await server.expect(200, 'GET', path, undefined, as(ann))
      const put = await server.expect(200, 'PUT', path, { email, company: { id: 1 }, phone: '1' }, as(ann))
      expect([put.score, put.name]).toEqual([5, null])
    })

    test('that depends on the Entity is empty elsewhere', async () => {
      const { data } = await server.expect(200, 'GET', '/api/users/?sort=email', undefined, as(ann))
      expect(data.map(({ email, phone }: any) => [email, phone])).toEqual([
        ['ann@example.com', '1'],
        ['cat@example.com', null],
        ['dan@example.com', null],
      ])
      const { user } = await server.expect(
        200,
        'POST',
        '/api/auth/login',
        { email: 'ann@example.com', password: 'correct horse battery' },
        { token: null },
      )
      expect(user.phone).toBe('1')
      expect((await server.expect(200, 'GET', '/api/auth/me', undefined, as(ann))).phone).toBe('1')
    })

    test('cannot be brought back by whoever may not set it', async () => {
      await server.expect(200, 'PATCH', `/api/users/${ann.id}/`, { score: 6 })
      expect(task.id).toBeGreaterThan(0)
    })
  })

  describe('a state machine', () => {
    test('goes only where next lets it', async () => {
      const { id } = await server.expect(
        201,
        'POST',
        '/api/tasks/',
        { title: 'm', owner: { id: ann.id } },
        as(bob),
      )
      const path = `/api/tasks/${id}/`
      await server.expect(403, 'PATCH', path, { status: 'held' }, as(bob))
      await server.expect(403, 'PATCH', path, { status: 'done' }, as(ann))
      await server.expect(200, 'PATCH', path, { status: 'held' }, as(ann))
      await server.expect(403, 'PATCH', path, { status: 'open' }, as(ann))
      await server.expect(200, 'PATCH', path, { title: 'same state' }, as(ann))
      await server.expect(200, 'PATCH', path, { status: 'done' }, as(sue))
      await server.expect(401, 'PATCH', path, { title: 'x' }, { token: null })
      expectInvalid(await server.call('PATCH', path, { body: { owner: { id: 999 } }, ...as(sue) }), {
        owner: ['refers to nothing'],
        'owner.id': ['refers to nothing'],
      })
      await server.expect(403, 'POST', '/api/tasks/', { title: 'x', status: 'held' }, as(ann))
      await server.expect(401, 'POST', '/api/tasks/', { title: 'x' }, { token: null })
    })

    test('holds for undo and revert too', async () => {
      const { id } = await server.expect(
        201,
        'POST',
        '/api/tasks/',
        { title: 'u', owner: { id: ann.id } },
        as(ann),
      )
      const path = `/api/tasks/${id}/`
      const held = await server.call('PATCH', path, { body: { status: 'held' }, ...as(ann) })
      const operation = held.headers.get('takeback-operation')
      await server.expect(403, 'POST', `/api/operations/${operation}/undo/`, undefined, as(ann))
      await server.expect(403, 'POST', `${path}revert/`, { version: 1 }, as(ann))
      await server.expect(200, 'POST', `/api/operations/${operation}/undo/`)
      expect((await server.expect(200, 'GET', path)).status).toBe('open')
      await server.expect(200, 'DELETE', path, undefined, as(ann))
      await server.expect(403, 'DELETE', `${path}?restore=1`, undefined, as(ann))
      await server.expect(200, 'DELETE', `${path}?restore=1`)
    })
  })

  test('mistakes in a body reveal no more than the rule allows', async () => {
    await server.expect(201, 'POST', '/api/slots/', { name: 'a', owner: { id: bob.id }, size: 1 })
    const send = (body: object, user: typeof ann) => server.call('POST', '/api/slots/', { body, ...as(user) })
    const his = { name: 'a', owner: { id: bob.id } }
    expect((await send({ ...his, size: 1 }, ann)).status).toBe(403)
    const size = { size: ['must be at most 9'] }
    expectInvalid(await send({ ...his, size: 99 }, ann), size)
    expectInvalid(await send({ name: 'a', owner: { id: 999 }, size: 99 }, ann), size)
    const taken = ['is taken by slots/1, together with the other value']
    expectInvalid(await send({ ...his, size: 99 }, bob), { ...size, name: taken, 'owner.id': taken })
    const { id } = (await send({ name: 'b', owner: { id: ann.id }, size: 1 }, ann)).body
    const patched = await server.call('PATCH', `/api/slots/${id}/`, {
      body: { ...his, size: 99 },
      ...as(ann),
    })
    expectInvalid(patched, size)
  })

  test('a refusal never names its rule', async () => {
    const received = await server.call('POST', '/api/notes/', { body: { title: 'x' }, ...as(ann) })
    expect(received.body).toEqual({ message: 'You may not do this.', code: 'forbidden' })
  })
})
