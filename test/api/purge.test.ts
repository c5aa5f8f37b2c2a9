import { expect, test } from 'bun:test'
import { perform } from '../../src/api/perform.ts'
import { Query } from '../../src/api/query.ts'
import { remove } from '../../src/api/write/remove.ts'
import { budget } from '../../src/budget.ts'
import { system } from '../../src/plan/viewer/actor.ts'
import type { Act } from '../../src/store/act.ts'
import { entity, everyone, json, list, object, ref, secret, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { dumpOf, filesOf } from '../dump.ts'
import { isDeep, onEveryStore, onEveryStoreByHand, TestServer } from '../harness.ts'
import { clearOut } from '../work.ts'

const all = { create: everyone, read: everyone, update: everyone, delete: everyone, restore: everyone }

/** The reason for changes of other Entities, and for the purge itself: it stays. */
const OTHER = 'a%20reason%20that%20stays'

const declaration = withAdmins({
  people: entity({
    login: { userType: 'person' },
    fields: {
      name: text({ search: true }),
      nick: text({ optional: true, unique: true }),
      card: secret({ optional: true }),
      about: json({ optional: true }),
      home: object({ street: text({ search: true }) }, { optional: true }),
    },
    access: all,
  }),
  parts: entity({
    fields: { label: text({ search: true }), of: ref('people', { onDelete: 'cascade' }) },
    access: all,
  }),
  groups: entity({
    fields: {
      title: text(),
      head: ref('people', { optional: true, onDelete: 'clear', as: 'heads' }),
      members: list(ref('people', { onDelete: 'clear' }), { optional: true }),
    },
    access: all,
  }),
})

onEveryStoreByHand('after a purge', (store) => {
  const server = new TestServer(store, declaration)
  const canaries: string[] = []
  let made = 0
  /** Returns a unique word. */
  const canary = () => {
    const word = `canary${(++made).toString(36)}${crypto.randomUUID().replaceAll('-', '').slice(0, 12)}`
    canaries.push(word)
    return word
  }
  /** Headers that make a request repeatable, with a reason. */
  const key = (reason: string) => ({
    'Idempotency-Key': crypto.randomUUID(),
    'Takeback-Run': 'a-run',
    'Takeback-Reason': reason,
    'Content-Type': 'application/json',
  })
  const send = async (method: string, path: string, body?: unknown, reason = canary()) => {
    const answer = await server.call(method, path, {
      ...(body !== undefined && { body }),
      headers: key(reason),
    })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer
  }
  const person = () => ({
    email: `${canary()}@example.com`,
    password: canary(),
    name: canary(),
    nick: canary(),
    card: canary(),
    about: { note: canary() },
    home: { street: canary() },
  })

  /** All ways in which an answer contains values of the Entity `id`. Each has a key, so that the answer is kept. */
  const ways: Record<string, (id: number) => Promise<unknown>> = {
    'a PATCH': (id) => send('PATCH', `/api/people/${id}/`, { name: canary() }),
    'a PATCH of nothing': (id) => send('PATCH', `/api/people/${id}/`, {}),
    'a PATCH of a document': (id) => send('PATCH', `/api/people/${id}/`, { about: { more: canary() } }),
    'a PUT': (id) => send('PUT', `/api/people/${id}/`, person()),
    'a batch of nothing': (id) =>
      send('POST', '/api/batch/', [{ method: 'PATCH', path: `/api/people/${id}/`, body: {} }]),
    'a batch of nothing beside something': (id) =>
      send(
        'POST',
        '/api/batch/',
        [
          { method: 'PATCH', path: `/api/people/${id}/`, body: {} },
          { method: 'POST', path: '/api/groups/', body: { title: 'stays', head: { id } } },
        ],
        OTHER,
      ),
    'a delete and a restore': async (id) => {
      await send('DELETE', `/api/people/${id}/`)
      await send('DELETE', `/api/people/${id}/`)
      await send('DELETE', `/api/people/${id}/?restore=1`)
      await send('DELETE', `/api/people/${id}/?restore=1`)
    },
    'a revert': async (id) => {
      const { body } = await send('PATCH', `/api/people/${id}/`, { name: canary() })
      await send('POST', `/api/people/${id}/revert/`, { version: body.version - 1 })
      await send('POST', `/api/people/${id}/revert/`, { version: body.version - 1 })
    },
    'an undo and its undo': async (id) => {
      const { headers } = await send('PATCH', `/api/people/${id}/`, { name: canary() })
      const undone = await send('POST', `/api/operations/${headers.get('takeback-operation')}/undo/`)
      await send('POST', `/api/operations/${undone.headers.get('takeback-operation')}/undo/?dry_run=1`)
      await send('POST', `/api/operations/${undone.headers.get('takeback-operation')}/undo/`)
    },
    'an undo of a deletion': async (id) => {
      const { headers } = await send('DELETE', `/api/people/${id}/`)
      await send('POST', `/api/operations/${headers.get('takeback-operation')}/undo/`)
    },
    'steps back and forward': async (id) => {
      await send('PATCH', `/api/people/${id}/`, { name: canary(), card: canary() })
      for (const way of ['undo', 'redo', 'undo']) await send('POST', `/api/people/${id}/${way}/`)
      await send('DELETE', `/api/people/${id}/`)
      await send('POST', `/api/people/${id}/undo/`)
    },
    'an undo of many': async (id) => {
      const { body } = await send('PATCH', `/api/people/${id}/`, { name: canary(), nick: canary() })
      await send('POST', '/api/operations/undo/', { since: body.updated_at, entity: 'people' })
    },
    'a new password': (id) =>
      send('POST', '/api/batch/', [
        { method: 'PATCH', path: `/api/people/${id}/`, body: { password: canary(), card: canary() } },
      ]),
    'a batch of all': (id) =>
      send('POST', '/api/batch/', [
        { method: 'PATCH', path: `/api/people/${id}/`, body: { name: canary() } },
        { method: 'PUT', path: `/api/people/${id}/`, body: person() },
        { method: 'DELETE', path: `/api/people/${id}/` },
        { method: 'DELETE', path: `/api/people/${id}/` },
        { method: 'DELETE', path: `/api/people/${id}/?restore=1` },
        { method: 'POST', path: '/api/parts/', body: { label: canary(), of: { id } } },
        { method: 'PATCH', path: '/api/parts/$5.id/', body: {} },
      ]),
    'what hangs from it': async (id) => {
      const { body } = await send('POST', '/api/parts/', [{ label: canary(), of: { id } }])
      await send('PATCH', `/api/parts/${body.data[0].id}/`, { label: canary() })
    },
    'references to it': async (id) => {
      await send('POST', '/api/groups/', { title: 'stays', head: { id }, members: [{ id }] }, OTHER)
    },
  }

  test('of an Entity, none of its values is left, however an answer came to have them', async () => {
    await server.start()
    try {
      const names = Object.keys(ways)
      const stays = await send(
        'POST',
        '/api/people/',
        {
          ...person(),
          name: `stays${canaries.splice(-7).join('')}`,
        },
        OTHER,
      )
      for (const name of [...names, 'all of them']) {
        const { body } = await send('POST', '/api/people/', person())
        for (const one of name === 'all of them' ? names : [name]) await ways[one]?.(body.id)
        const before = await dumpOf(server, store)
        const hashed = /^canary/
        expect(canaries.filter((word) => hashed.test(word) && before.includes(word)).length).toBeGreaterThan(
          4,
        )
        await send('DELETE', `/api/people/${body.id}/`)
        expect((await send('DELETE', `/api/people/${body.id}/?purge=1`, undefined, OTHER)).status).toBe(204)
        const after = await dumpOf(server, store)
        expect([name, canaries.filter((word) => after.includes(word))]).toEqual([name, []])
        // Data about others is still there, and still shown.
        expect(after).toContain('a reason that stays')
        expect(after).toContain(stays.body.name)
        if (store === 'sqlite') {
          const bytes = filesOf(server)
          expect([name, canaries.filter((word) => bytes.includes(word))]).toEqual([name, []])
        }
        canaries.length = 0
      }
    } finally {
      await server.remove()
    }
  })
})

const tree = withAdmins({
  nodes: entity({
    fields: {
      label: text({ search: true }),
      parent: ref('nodes', { optional: true, onDelete: 'cascade' }),
      near: list(ref('nodes', { onDelete: 'cascade' }), { optional: true }),
    },
    access: all,
  }),
  leaves: entity({
    fields: { label: text(), of: ref('nodes', { onDelete: 'cascade' }) },
    access: all,
  }),
})

class Cut extends Error {}

/** Stops an act before its nth statement, as if the server had died. */
function* cutOff<T>(act: Act<T>, asks: number): Act<T> {
  let next = act.next()
  for (let asked = 0; !next.done; asked++) {
    if (asked === asks) throw new Cut()
    next = act.next(yield next.value)
  }
  return next.value
}

onEveryStore('a purge in steps', tree, (server) => {
  const nodes = '/api/nodes/'
  const post = async (path: string, body: unknown) => await server.expect(201, 'POST', path, body)
  /** Creates a root, nodes below it that refer to each other in circles, and leaves. All are purged with it. */
  const planted = async () => {
    const root = (await post(nodes, { label: 'root' })).id as number
    const [a, b] = (
      await post(nodes, [
        { label: 'a', parent: { id: root } },
        { label: 'b', parent: { id: root } },
      ])
    ).data.map(({ id }: { id: number }) => ({ id })) as { id: number }[]
    await server.expect(200, 'PATCH', `${nodes}${root}/`, { near: [a, b] })
    await server.expect(200, 'PATCH', `${nodes}${a?.id}/`, { near: [b] })
    await server.expect(200, 'PATCH', `${nodes}${b?.id}/`, { near: [a, { id: root }], label: 'bee' })
    await post('/api/leaves/', [
      { label: 'leaf', of: a },
      { label: 'leaf', of: b },
    ])
    return root
  }
  const purging = (id: number) => {
    const plan = server.context.plans.get('nodes')
    if (plan === undefined) throw new Error('no plan')
    const query = new Query([['purge', '1']], ['purge'])
    return remove(server.context, plan, system, { id, query, when: { ifMatch: null } })
  }
  const rows = async () => (await server.rows('nodes')) + (await server.rows('leaves'))

  test('that is cut off anywhere is finished by the next one, and nothing comes back to life', async () => {
    let whole = false
    for (let asks = 0; !whole && asks < 60; asks++) {
      const before = await rows()
      const root = await planted()
      const { headers } = await server.call('DELETE', `${nodes}${root}/`)
      const deletion = headers.get('takeback-operation')
      try {
        await perform(server.context.store, cutOff(purging(root), asks))
        whole = true
      } catch (error) {
        if (!(error instanceof Cut)) throw error
      }
      const marked = (await server.rows('takeback_purges')) > 0
      if (marked) {
        // Nothing of it is live, or comes back.
        const back = await server.call('DELETE', `${nodes}${root}/?restore=1`)
        expect([asks, back.status]).toEqual([asks, 404])
        expect((await server.call('POST', `/api/operations/${deletion}/undo/`)).status).toBe(409)
        const { data } = await server.expect(200, 'GET', '/api/leaves/?limit=200')
        expect(data).toEqual([])
        expect((await server.expect(200, 'GET', `${nodes}?limit=200`)).data).toEqual([])
      }
      if (!whole) {
        const again = asks % 2 === 0 && marked ? await finished() : await purged(root)
        expect([asks, again]).toEqual([asks, true])
      }
      expect([asks, await rows(), await server.rows('takeback_purges')]).toEqual([asks, before, 0])
      const [left] = await server.query(
        'SELECT count(*) AS n FROM takeback_journal WHERE data IS NOT NULL AND entity <> $1',
        'admins',
      )
      expect([asks, Number(left?.n)]).toEqual([asks, 0])
    }
    expect(whole).toBe(true)
  })

  const purged = async (id: number) => {
    const { status } = await server.call('DELETE', `${nodes}${id}/?purge=1`)
    return (
      status === 204 ||
      (status === 404 && ((await server.rows('takeback_purges')) === 0 || (await finished())))
    )
  }
  /** Lets the server itself finish, after its time. */
  const finished = async () => {
    await clearOut(server.context, Date.now() + 120_000)
    return (await server.rows('takeback_purges')) === 0
  }

  test('takes only what is its own, within a batch too', async () => {
    const [x, y, z] = (await post(nodes, [{ label: 'x' }, { label: 'y' }, { label: 'z' }])).data as {
      id: number
    }[]
    const part = (id = 0, query = '') => ({ method: 'DELETE', path: `${nodes}${id}/${query}` })
    await server.expect(200, 'POST', '/api/batch/', [
      part(x?.id),
      part(y?.id),
      part(z?.id),
      part(x?.id, '?purge=1'),
      part(z?.id, '?purge=1'),
    ])
    expect((await server.expect(200, 'DELETE', `${nodes}${y?.id}/?restore=1`)).label).toBe('y')
    for (const one of [x, z]) expect((await server.call('GET', `${nodes}${one?.id}/`)).status).toBe(404)
    await server.expect(200, 'DELETE', `${nodes}${y?.id}/`)
    await server.expect(204, 'DELETE', `${nodes}${y?.id}/?purge=1`)
  })

  test('of more than one step takes has as many versions, Entities and types as there are', async () => {
    const before = await rows()
    const root = (await post(nodes, { label: 'root' })).id as number
    const some = Array.from({ length: budget.batchParts }, (_, at) => ({ label: `${at}`, of: { id: root } }))
    await post('/api/leaves/', some)
    await post('/api/leaves/', some.slice(0, 200))
    const busy = (await post('/api/leaves/', { label: 'busy', of: { id: root } })).id as number
    const patches = Array.from({ length: budget.batchParts }, (_, at) => ({
      method: 'PATCH',
      path: `/api/leaves/${busy}/`,
      body: { label: `busy ${at}` },
    }))
    await server.expect(200, 'POST', '/api/batch/', patches)
    for (let more = 1; more < 6; more++) await repeatVersions(busy, more * patches.length)
    await server.expect(200, 'DELETE', `${nodes}${root}/`)
    await server.expect(204, 'DELETE', `${nodes}${root}/?purge=1`)
    expect([await rows(), await server.rows('takeback_purges')]).toEqual([before, 0])
    const [left] = await server.query("SELECT count(*) AS n FROM takeback_journal WHERE data LIKE '%busy%'")
    expect(Number(left?.n)).toBe(0)
  })

  /** Copies the versions of a leaf in the journal: as requests, they would take seconds. */
  const repeatVersions = async (leaf: number, later: number) => {
    await server.query(
      `INSERT INTO takeback_journal (operation, at, entity, entity_id, version, kind, data)
      SELECT operation, at, entity, entity_id, version + ${later}, kind, data FROM takeback_journal
      WHERE entity = 'leaves' AND entity_id = ${leaf} AND version BETWEEN 2 AND ${budget.batchParts + 1}`,
    )
    await server.query(`UPDATE leaves SET version = version + ${budget.batchParts} WHERE id = ${leaf}`)
  }

  test('and an answer that is being kept do not miss each other', async () => {
    for (let round = 0; round < (isDeep ? 15 : 6); round++) {
      const word = `canary${crypto.randomUUID()}`
      const { id } = await post(nodes, { label: word })
      const others = (
        await post(
          nodes,
          Array.from({ length: 20 }, () => ({ label: 'stays' })),
        )
      ).data as {
        id: number
      }[]
      const batch = [{ id }, ...others].map((one) => ({
        method: 'PATCH',
        path: `${nodes}${one.id}/`,
        body: {},
      }))
      await Promise.all([
        server.call('POST', '/api/batch/', { body: batch, headers: { 'Idempotency-Key': word } }),
        (async () => {
          await server.expect(200, 'DELETE', `${nodes}${id}/`)
          await server.expect(204, 'DELETE', `${nodes}${id}/?purge=1`)
        })(),
      ])
      const kept = await server.query('SELECT body FROM takeback_answers WHERE body LIKE $1', `%${word}%`)
      expect([round, kept.length]).toEqual([round, 0])
    }
  })

  test('finds the answers that show an Entity by an index, without statistics of the tables', async () => {
    const steps = server.context.plans.get('nodes')?.erase.drop ?? []
    const erases = steps.find(({ statement }) => statement.text.startsWith('UPDATE "takeback_answers"'))
    const text = erases?.statement.text ?? ''
    const isSqlite = text.includes('json_each')
    const [explain, found] = isSqlite
      ? ['EXPLAIN QUERY PLAN', /SEARCH takeback_answers USING \S* ?INDEX \S+ \(key=\?\)/]
      : ['EXPLAIN', /takeback_answers_pkey.*\n\s+Index Cond: \(key = ANY/]
    const rows = await server.query(`${explain} ${text}`, '[1]')
    expect(rows.map((row) => Object.values(row).join(' ')).join('\n')).toMatch(found)
  })
})
