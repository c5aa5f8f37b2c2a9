import { beforeAll, describe, expect, test } from 'bun:test'
import { expectInvalid, onEveryStore } from '../harness.ts'
import { hostile } from '../hostile.ts'

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

  describe('an Entity of somebody else', () => {
    beforeAll(async () => {
      await server.expect(201, 'POST', '/api/notes/', {
        title: 'hers',
        code: 'XYZ',
        owner: { id: ann.id },
        data: { a: 1 },
      })
      await server.expect(201, 'POST', '/api/boards/', { title: 'hers', owner: { id: ann.id } })
    })

    test('is not there, whatever is sent along', async () => {
      const bodies: [string, unknown][] = [
        ['PATCH', { title: 'x' }],
        ['PATCH', {}],
        ['PATCH', { data: { b: 2 } }],
        ['PATCH', { code: 'XYZ', nothing: 1 }],
        ['PATCH', { owner: { id: 999 } }],
        ['PUT', { title: 'x', owner: { id: eve.id } }],
        ['PUT', {}],
        ['DELETE', undefined],
      ]
      for (const [method, body] of bodies)
        for (const headers of [{}, { 'If-Match': '"1"' }, { 'If-Match': '"9"' }, { 'If-Match': '*' }]) {
          const sent = { ...as(eve), headers, ...(body !== undefined && { body }) }
          const [hers, nothing] = await Promise.all([
            server.call(method, '/api/notes/1/', sent),
            server.call(method, '/api/notes/99/', sent),
          ])
          expect([method, body, headers, hers.status, hers.text]).toEqual([
            method,
            body,
            headers,
            404,
            nothing.text,
          ])
        }
      for (const path of ['', '?restore=1', '?purge=1', 'history/', 'revert/']) {
        const method = path === 'revert/' ? 'POST' : path === 'history/' ? 'GET' : 'DELETE'
        const sent = { ...as(eve), ...(path === 'revert/' && { body: { version: 1 } }) }
        const [hers, nothing] = await Promise.all([
          server.call(method, `/api/notes/1/${path}`, sent),
          server.call(method, `/api/notes/99/${path}`, sent),
        ])
        expect([hers.status, hers.text]).toEqual([404, nothing.text])
      }
      for (const headers of [{ 'If-None-Match': '"1"' }, { 'If-None-Match': '*' }])
        expect((await server.call('GET', '/api/notes/1/', { ...as(eve), headers })).status).toBe(404)
    })

    test('that could be changed, if only it could be read, is not there', async () => {
      const sent = { ...as(eve), body: { title: 'x' } }
      expect((await server.call('PATCH', '/api/boards/1/', sent)).status).toBe(404)
      expect((await server.call('DELETE', '/api/boards/1/', as(eve))).status).toBe(404)
      await server.expect(200, 'DELETE', '/api/boards/1/', undefined, as(ann))
      expect((await server.call('DELETE', '/api/boards/1/?restore=1', as(eve))).status).toBe(404)
      expect((await server.call('DELETE', '/api/boards/1/?purge=1', as(eve))).status).toBe(404)
      expect((await server.call('DELETE', '/api/boards/1/', as(eve))).status).toBe(404)
      await server.expect(200, 'DELETE', '/api/boards/1/?restore=1', undefined, as(ann))
      expect((await server.expect(200, 'GET', '/api/boards/1/')).version).toBe(3)
    })

    test('is not reached through the parts of a batch', async () => {
      const mine = { method: 'POST', path: '/api/notes/', body: { title: 'm', owner: { id: eve.id } } }
      for (const [path, data] of [
        ['/api/notes/$0.title/', '1'],
        ['/api/notes/1/', 'x'],
      ]) {
        const received = await server.call('POST', '/api/batch/', {
          ...as(eve),
          body: [
            { ...mine, body: { ...mine.body, title: data } },
            { method: 'PATCH', path, body: { title: 'taken' } },
          ],
        })
        expect(received.status).toBe(404)
      }
      expect((await server.expect(200, 'GET', '/api/notes/1/')).title).toBe('hers')
    })

    test('is not revealed by the Idempotency-Key of its request', async () => {
      const sent = (user: typeof ann) => ({
        ...as(user),
        headers: { 'Idempotency-Key': 'hers' },
        body: { title: 'once', owner: { id: ann.id } },
      })
      const first = await server.call('POST', '/api/notes/', sent(ann))
      const second = await server.call('POST', '/api/notes/', sent(eve))
      expect([first.status, second.status]).toEqual([201, 201])
      expect(second.headers.get('idempotent-replay')).toBeNull()
      expect(second.body.id).not.toBe(first.body.id)
    })
  })

  test('what was given away is out of reach, its past too', async () => {
    const { id } = await server.expect(
      201,
      'POST',
      '/api/notes/',
      { title: 'mine', owner: { id: eve.id } },
      as(eve),
    )
    const path = `/api/notes/${id}/`
    const given = await server.call('PATCH', path, { ...as(eve), body: { owner: { id: ann.id } } })
    const operation = given.headers.get('takeback-operation')
    await server.expect(404, 'POST', `${path}revert/`, { version: 1 }, as(eve))
    await server.expect(404, 'GET', `${path}history/`, undefined, as(eve))
    await server.expect(403, 'POST', `/api/operations/${operation}/undo/`, undefined, as(eve))
    await server.expect(403, 'POST', `/api/operations/${operation}/undo/?dry_run=1`, undefined, as(eve))
    const { data } = await server.expect(200, 'GET', `/api/operations/${operation}/`, undefined, as(eve))
    expect(data[0].changed).toBeNull()
    await server.expect(200, 'PATCH', path, { title: 'changed by ann' }, as(ann))
    const conflict = await server.call('POST', `/api/operations/${operation}/undo/`, as(eve))
    expect([conflict.status, conflict.body.errors]).toEqual([
      403,
      { [`notes/${id}`]: ['is not yours to change'] },
    ])
  })

  describe('a field that is not theirs to set', () => {
    const path = '/api/accounts/1/'
    const start = { vat: 'CH1', credit: 5, limit: 20 }

    beforeAll(async () => {
      await server.expect(201, 'POST', '/api/accounts/', {
        title: 'a',
        owner: { id: eve.id },
        plan: 'big',
        billing: start,
        extras: { seats: 3 },
      })
    })

    test('is not taken away with the object that it is in', async () => {
      for (const body of [{ billing: null }, { title: 'b', billing: null }])
        expectInvalid(await server.call('PATCH', path, { ...as(eve), body }), {
          billing: ['has something in it that is not yours to set'],
        })
      expectInvalid(
        await server.call('PUT', path, {
          ...as(eve),
          body: { title: 'b', owner: { id: eve.id }, billing: null },
        }),
        { billing: ['has something in it that is not yours to set'] },
      )
      expectInvalid(await server.call('PATCH', path, { ...as(eve), body: { extras: null } }), {
        'extras.seats': ['is not yours to set'],
      })
      const found = await server.expect(200, 'GET', path)
      expect([found.billing, found.extras]).toEqual([start, { seats: 3 }])
    })

    test('is not reset by a PUT that leaves it out', async () => {
      const put = (body: object) =>
        server.expect(200, 'PUT', path, { title: 'b', owner: { id: eve.id }, ...body }, as(eve))
      expect((await put({})).billing).toEqual(start)
      expect((await put({ billing: { vat: 'CH2' } })).billing).toEqual({ ...start, vat: 'CH2' })
      expect((await put({ billing: {} })).billing).toEqual({ ...start, vat: null })
      expect((await put({})).plan).toBe('big')
    })

    test('can be set where its rule holds, of what is made too', async () => {
      expectInvalid(await server.call('PATCH', path, { ...as(eve), body: { billing: { limit: 99 } } }), {
        'billing.limit': ['is not yours to set'],
      })
      const body = { title: 'a', owner: { id: ann.id }, plan: 'big', billing: { limit: 99 }, extras: {} }
      const { id } = await server.expect(201, 'POST', '/api/accounts/', body, as(ann))
      await server.expect(200, 'PATCH', `/api/accounts/${id}/`, { extras: null }, as(ann))
      expectInvalid(
        await server.call('POST', '/api/accounts/', { ...as(eve), body: { ...body, owner: { id: eve.id } } }),
        { plan: ['is not yours to set'], 'billing.limit': ['is not yours to set'] },
      )
    })

    test('whose rule uses the id can be set by nobody before there is an id', async () => {
      const body = { email: 'new@example.com', password: 'correct horse battery', phone: '1' }
      expectInvalid(await server.call('POST', '/api/users/', { body, token: null }), {
        phone: ['is not yours to set'],
      })
      await server.expect(200, 'PATCH', `/api/users/${eve.id}/`, { phone: '2' }, as(eve))
      expectInvalid(
        await server.call('PATCH', `/api/users/${ann.id}/`, { ...as(eve), body: { phone: '3' } }),
        {
          phone: ['is not yours to set'],
        },
      )
    })
  })

  describe('a conflict', () => {
    const locker = (body: object) => server.call('POST', '/api/lockers/', { ...as(eve), body })

    test('does not tell who has a value that they do not see', async () => {
      await server.expect(201, 'POST', '/api/lockers/', { title: 'one', serial: 'S1', row: 0 })
      expectInvalid(await locker({ title: 'two', serial: 'S1' }), { serial: ['is taken'] })
      expectInvalid(await locker({ title: 'one' }), { title: ['is taken, together with the other value'] })
      expectInvalid(await server.call('POST', '/api/lockers/', { body: { title: 'x', serial: 'S1' } }), {
        serial: ['is taken by lockers/1'],
      })
    })

    test('does not tell it when something comes back either', async () => {
      const { id } = await server.expect(201, 'POST', '/api/lockers/', { title: 'three', serial: 'S3' })
      const path = `/api/lockers/${id}/`
      const deleted = await server.call('DELETE', path, as(eve))
      await server.expect(201, 'POST', '/api/lockers/', { title: 'four', serial: 'S3' })
      expectInvalid(await server.call('DELETE', `${path}?restore=1`, as(eve)), {
        serial: ['is taken'],
      })
      const operation = deleted.headers.get('takeback-operation')
      const undone = await server.call('POST', `/api/operations/${operation}/undo/`, as(eve))
      expect([undone.status, undone.body.errors]).toEqual([
        409,
        { [`lockers/${id}`]: ['has a value in serial that is taken by something'] },
      ])
    })

    test('does not tell what a reference that they do not see refers to', async () => {
      const keeper = await server.expect(201, 'POST', '/api/keepers/', { name: 'k' })
      const { id } = await server.expect(201, 'POST', '/api/lockers/', {
        title: 'five',
        keeper: { id: keeper.id },
      })
      const path = `/api/lockers/${id}/`
      const deleted = await server.call('DELETE', path, as(eve))
      await server.expect(200, 'DELETE', `/api/keepers/${keeper.id}/`)
      const restored = await server.call('DELETE', `${path}?restore=1`, as(eve))
      expect([restored.status, restored.body.errors]).toEqual([
        409,
        { '': ['refers to something that is deleted'] },
      ])
      const operation = deleted.headers.get('takeback-operation')
      const undone = await server.call('POST', `/api/operations/${operation}/undo/`, as(eve))
      expect([undone.status, undone.body.errors]).toEqual([
        409,
        { [`lockers/${id}`]: ['refers to something in keeper.id, which is deleted'] },
      ])
    })
  })
})
