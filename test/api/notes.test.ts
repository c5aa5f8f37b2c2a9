import { expect, test } from 'bun:test'
import { entity, everyone, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import {
  ADMIN,
  expectInvalid,
  onEveryStore,
  operationOf,
  type TestRequest,
  type TestResponse,
} from '../harness.ts'
import { clearOut } from '../work.ts'

const DAY = 86_400_000
const all = { create: everyone, read: everyone, update: everyone, delete: everyone, restore: everyone }

const declaration = withAdmins(
  {
    rooms: entity({ fields: { title: text({ unique: true }) }, access: all }),
    beds: entity({ fields: { label: text(), room: ref('rooms', { onDelete: 'cascade' }) }, access: all }),
  },
  { journal: { keep: '90d' } },
)

onEveryStore('what a caller says about a write', declaration, (server) => {
  const reason = 'because … 100 % of “them” asked\n(twice)'
  const noted = (run: string, why = reason): TestRequest => ({
    headers: { 'Takeback-Run': run, 'Takeback-Reason': encodeURIComponent(why) },
  })
  const rows = () => server.rows('takeback_notes')
  const made = async (title: string) =>
    (await server.expect(201, 'POST', '/api/rooms/', { title })).id as number

  /** Every kind of write, each on its own room. */
  const writes: Record<string, (run: string) => Promise<TestResponse>> = {
    create: (run) => server.call('POST', '/api/rooms/', { body: { title: run }, ...noted(run) }),
    'create of a list': (run) =>
      server.call('POST', '/api/rooms/', {
        body: Array.from({ length: 30 }, (_, at) => ({ title: `${run} ${at}` })),
        ...noted(run),
      }),
    PATCH: async (run) => {
      const id = await made(run)
      return server.call('PATCH', `/api/rooms/${id}/`, { body: { title: `${run}!` }, ...noted(run) })
    },
    PUT: async (run) => {
      const id = await made(run)
      return server.call('PUT', `/api/rooms/${id}/`, { body: { title: `${run}!` }, ...noted(run) })
    },
    delete: async (run) => {
      const id = await made(run)
      await server.expect(201, 'POST', '/api/beds/', { label: run, room: { id } })
      return server.call('DELETE', `/api/rooms/${id}/`, noted(run))
    },
    restore: async (run) => {
      const id = await made(run)
      await server.expect(200, 'DELETE', `/api/rooms/${id}/`)
      return server.call('DELETE', `/api/rooms/${id}/?restore=1`, noted(run))
    },
    purge: async (run) => {
      const id = await made(run)
      await server.expect(200, 'DELETE', `/api/rooms/${id}/`)
      return server.call('DELETE', `/api/rooms/${id}/?purge=1`, noted(run))
    },
    batch: async (run) => {
      const id = await made(run)
      const body = [
        { method: 'PATCH', path: `/api/rooms/${id}/`, body: {} },
        { method: 'PATCH', path: `/api/rooms/${id}/`, body: { title: `${run}!` } },
        { method: 'POST', path: '/api/beds/', body: { label: 'x', room: { id: '$0.id' } } },
        { method: 'DELETE', path: `/api/rooms/${id}/` },
      ]
      return server.call('POST', '/api/batch/', { body, ...noted(run) })
    },
    revert: async (run) => {
      const id = await made(run)
      await server.expect(200, 'PATCH', `/api/rooms/${id}/`, { title: `${run}!` })
      return server.call('POST', `/api/rooms/${id}/revert/`, { body: { version: 1 }, ...noted(run) })
    },
    undo: async (run) => {
      const operation = operationOf(await server.call('POST', '/api/rooms/', { body: { title: run } }))
      return server.call('POST', `/api/operations/${operation}/undo/`, noted(run))
    },
    'undo of many': async (run) => {
      const { body } = await server.call('POST', '/api/rooms/', { body: { title: run } })
      return server.call('POST', '/api/operations/undo/', {
        body: { since: body.created_at, entity: 'rooms' },
        ...noted(run),
      })
    },
    'a change of password': async (run) => {
      const email = `${run}@example.com`
      const { token } = await server.user('admins', { email })
      const body = { password: ADMIN.password, new_password: `${ADMIN.password}!` }
      return server.call('POST', '/api/auth/password', { body, token, ...noted(run) })
    },
  }

  test('is kept for every kind of write, once, and told by operations and history', async () => {
    for (const [name, write] of Object.entries(writes)) {
      const run = `run-${crypto.randomUUID()}`
      const before = await rows()
      const answer = await write(run)
      expect([name, answer.status < 300]).toEqual([name, true])
      expect([name, await rows()]).toEqual([name, before + 1])
      const found = await server.expect(200, 'GET', `/api/operations/?run=${run}`)
      const operation = operationOf(answer)
      expect([name, found.data]).toMatchObject([name, [{ id: operation, run, reason }]])
      const one = await server.expect(200, 'GET', `/api/operations/${operation}/`)
      expect([name, one]).toMatchObject([name, { run, reason, summary: found.data[0].summary }])
      const { entity, id } = one.data[0]
      const { data } = await server.expect(200, 'GET', `/api/${entity}/${id}/history/`)
      const change = data.find((one: { operation: string }) => one.operation === operation)
      expect([name, change]).toMatchObject([name, { run, reason }])
    }
  })

  test('is not kept for what writes nothing, and costs others nothing', async () => {
    const id = await made('quiet')
    const before = await rows()
    await server.expect(200, 'PATCH', `/api/rooms/${id}/`, {}, noted('nothing'))
    await server.expect(200, 'DELETE', `/api/rooms/${id}/?restore=1`, undefined, noted('nothing'))
    await server.expect(422, 'POST', '/api/rooms/', { title: 'quiet' }, noted('nothing'))
    await server.expect(422, 'POST', '/api/rooms/', [{ title: 'new' }, { title: 'quiet' }], noted('nothing'))
    await server.expect(404, 'PATCH', '/api/rooms/999999/', { title: 'x' }, noted('nothing'))
    const operation = operationOf(
      await server.call('PATCH', `/api/rooms/${id}/`, { body: { title: 'loud' } }),
    )
    await server.expect(
      200,
      'POST',
      `/api/operations/${operation}/undo/?dry_run=1`,
      undefined,
      noted('nothing'),
    )
    expect(await rows()).toBe(before)
    const { data } = await server.expect(200, 'GET', `/api/operations/?limit=1`)
    expect(Object.keys(data[0]).sort()).toEqual(['actor', 'at', 'changes', 'id', 'summary'])
  })

  test('with a key, it is kept together with the answer', async () => {
    const headers = { ...noted('keyed').headers, 'Idempotency-Key': 'keyed' }
    const body = { title: 'keyed' }
    const before = await rows()
    const [first, second] = [
      await server.call('POST', '/api/rooms/', { body, headers }),
      await server.call('POST', '/api/rooms/', { body, headers }),
    ]
    expect(operationOf(second)).toBe(operationOf(first))
    expect(await rows()).toBe(before + 1)
  })

  test('must be well-formed, or nothing is written', async () => {
    const visible = ['must have 1 to 200 visible ASCII characters']
    const encoded = ['must be 1 to 1000 characters, as percent-encoded UTF-8']
    const before = await server.rows('takeback_journal')
    const wrong: [Record<string, string>, Record<string, string[]>][] = [
      ...['', 'a b', 'x'.repeat(201), 'ä', 'a, b'].map(
        (run) =>
          [{ 'Takeback-Run': run }, { 'Takeback-Run': visible }] as [
            Record<string, string>,
            Record<string, string[]>,
          ],
      ),
      ...[
        '',
        '%',
        '%zz',
        '%ff',
        '%00',
        '%1b[2J',
        '%c2%9b',
        'ä',
        'x'.repeat(1001),
        '%f0%9f%98%80'.repeat(1001),
      ].map(
        (why) =>
          [{ 'Takeback-Reason': why }, { 'Takeback-Reason': encoded }] as [
            Record<string, string>,
            Record<string, string[]>,
          ],
      ),
    ]
    for (const [headers, errors] of wrong)
      for (const body of [{ title: 'wrong' }, [{ title: 'wrong' }]])
        expectInvalid(await server.call('POST', '/api/rooms/', { body, headers }), errors)
    expect(await server.rows('takeback_journal')).toBe(before)
    expectInvalid(await server.call('GET', '/api/operations/?run=a%20b'), { run: visible })
    for (const [run, why] of [
      ['~'.repeat(200), '😀'.repeat(1000)],
      ['!', 'plain words, with spaces'],
    ] as const) {
      const headers = {
        'Takeback-Run': run,
        'Takeback-Reason': why.startsWith('p') ? why : encodeURIComponent(why),
      }
      await server.expect(201, 'POST', '/api/rooms/', { title: `long ${run.length}` }, { headers })
      const { data } = await server.expect(200, 'GET', `/api/operations/?run=${encodeURIComponent(run)}`)
      expect(data[0].reason).toBe(why)
    }
  })

  test('of one run is told to those who made it, and to admins', async () => {
    const mine = await server.call('POST', '/api/rooms/', {
      body: { title: 'by nobody' },
      token: null,
      ...noted('shared'),
    })
    expect(mine.status).toBe(201)
    await server.expect(201, 'POST', '/api/rooms/', { title: 'by the admin' }, noted('shared'))
    expect((await server.expect(200, 'GET', '/api/operations/?run=shared')).data).toHaveLength(2)
    expect((await server.expect(200, 'GET', '/api/operations/?run=shared&actor=admins/1')).data).toHaveLength(
      1,
    )
    expect((await server.call('GET', '/api/operations/?run=shared', { token: null })).status).toBe(401)
  })

  test('goes with a purge, as far as it may tell of what was purged', async () => {
    const canary = `canary${crypto.randomUUID()}`
    const stays = await made('stays')
    const { id } = await server.expect(201, 'POST', '/api/rooms/', { title: 'goes' }, noted('r1', canary))
    await server.expect(
      200,
      'POST',
      '/api/batch/',
      [stays, id].map((one) => ({
        method: 'PATCH',
        path: `/api/rooms/${one}/`,
        body: { title: `both ${one}` },
      })),
      noted('r2', canary),
    )
    await server.expect(200, 'PATCH', `/api/rooms/${stays}/`, { title: 'only stays' }, noted('r3', 'kept'))
    await server.expect(200, 'DELETE', `/api/rooms/${id}/`, undefined, noted('r4', canary))
    await server.expect(204, 'DELETE', `/api/rooms/${id}/?purge=1`, undefined, noted('r5', 'asked for'))
    expect(JSON.stringify(await server.query('SELECT * FROM takeback_notes'))).not.toContain(canary)
    const reasons = await Promise.all(
      ['r1', 'r2', 'r3', 'r4', 'r5'].map(
        async (run) => (await server.expect(200, 'GET', `/api/operations/?run=${run}`)).data[0].reason,
      ),
    )
    expect(reasons).toEqual([undefined, undefined, 'kept', undefined, 'asked for'])
  })

  test('goes when the journal has nothing of the operation any more', async () => {
    const [a, b] = [await made('first'), await made('second')]
    const parts = [a, b].map((id) => ({
      method: 'PATCH',
      path: `/api/rooms/${id}/`,
      body: { title: `old ${id}` },
    }))
    await server.expect(200, 'POST', '/api/batch/', parts, noted('cut'))
    const notes = async () => (await server.query("SELECT run FROM takeback_notes WHERE run = 'cut'")).length
    const pass = () => clearOut(server.context, Date.now() + 91 * DAY)
    await server.expect(200, 'PATCH', `/api/rooms/${a}/`, { title: 'new a' })
    await pass()
    expect(await notes()).toBe(1)
    await server.expect(200, 'PATCH', `/api/rooms/${b}/`, { title: 'new b' })
    await pass()
    expect(await notes()).toBe(0)
  })

  const told = async (operation: string) => {
    const { undoes, undone_by } = await server.expect(200, 'GET', `/api/operations/${operation}/`)
    return { undoes, undone_by }
  }

  test('a run is undone as a run, whoever else worked meanwhile', async () => {
    const [a, b] = [await made('run a'), await made('run b')]
    const put = (id: number, title: string, sent: TestRequest = {}) =>
      server.call('PATCH', `/api/rooms/${id}/`, { body: { title }, ...sent })
    const first = await put(a, 'run a by the agent', noted('agent-1'))
    await put(b, 'run b by somebody')
    const second = await server.call('POST', '/api/rooms/', {
      body: { title: 'by the agent' },
      ...noted('agent-1'),
    })
    const other = await server.call('POST', '/api/rooms/', {
      body: { title: 'by another' },
      ...noted('agent-2'),
    })
    const undone = await server.call('POST', '/api/operations/undo/', { body: { run: 'agent-1' } })
    expect([undone.status, undone.body.undone, undone.body.total]).toEqual([200, 2, 2])
    const titles = await Promise.all(
      [a, b].map(async (id) => (await server.expect(200, 'GET', `/api/rooms/${id}/`)).title),
    )
    expect(titles).toEqual(['run a', 'run b by somebody'])
    expect((await server.call('GET', `/api/rooms/${other.body.id}/`)).status).toBe(200)
    expect((await server.call('GET', `/api/rooms/${second.body.id}/`)).status).toBe(404)
    const by = operationOf(undone)
    expect((await told(by)).undoes?.sort()).toEqual([operationOf(first), operationOf(second)].sort())
    for (const one of [first, second]) expect((await told(operationOf(one))).undone_by).toEqual([by])
    expectInvalid(await server.call('POST', '/api/operations/undo/', { body: { run: 'a b' } }), {
      run: ['must have 1 to 200 visible ASCII characters'],
    })
  })

  test('what takes back what is told on both sides, of undos, redos and reverts', async () => {
    const id = await made('v1')
    const edit = async (title: string) =>
      operationOf(await server.call('PATCH', `/api/rooms/${id}/`, { body: { title } }))
    const [two, three] = [await edit('v2'), await edit('v3')]
    const undo = async (operation: string) =>
      operationOf(await server.call('POST', `/api/operations/${operation}/undo/`))
    const undone = await undo(three)
    const redone = await undo(undone)
    const reverted = operationOf(
      await server.call('POST', `/api/rooms/${id}/revert/`, { body: { version: 2 } }),
    )
    expect(await told(three)).toEqual({ undoes: undefined, undone_by: [undone, reverted].sort() })
    expect(await told(undone)).toEqual({ undoes: [three], undone_by: [redone, reverted].sort() })
    expect((await told(reverted)).undoes).toEqual([three, undone, redone].sort())
    expect(await told(two)).toEqual({ undoes: undefined, undone_by: undefined })
    const { data } = await server.expect(200, 'GET', '/api/operations/?limit=50')
    expect(data.find((one: { id: string }) => one.id === undone).undoes).toEqual([three])
    // An Entity that is skipped because of a conflict is not reported as taken back.
    const [left, taken] = [await made('left'), await made('taken')]
    const [a, b] = [
      operationOf(
        await server.call('PATCH', `/api/rooms/${left}/`, { body: { title: 'left 2' }, ...noted('partly') }),
      ),
      operationOf(
        await server.call('PATCH', `/api/rooms/${taken}/`, {
          body: { title: 'taken 2' },
          ...noted('partly'),
        }),
      ),
    ]
    await server.expect(200, 'PATCH', `/api/rooms/${left}/`, { title: 'left 3' })
    const some = await server.call('POST', '/api/operations/undo/?skip_conflicts=1', {
      body: { run: 'partly' },
    })
    expect([await told(a), await told(b)]).toEqual([
      { undoes: undefined, undone_by: undefined },
      { undoes: undefined, undone_by: [operationOf(some)] },
    ])
    const dry = await server.call('POST', `/api/operations/${b}/undo/?dry_run=1`)
    expect(dry.status).toBe(200)
    expect((await told(b)).undone_by).toEqual([operationOf(some)])
  })
})
