import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { endpoints } from '../../src/api/endpoints.ts'
import { AgentCalls, declaration, stateOf } from '../agents.ts'
import { onEveryStore, runs } from '../harness.ts'

/** Enough runs that not all steps are refused. */
const RUNS = Math.max(runs(10), 4)

onEveryStore('what agents do', declaration, (server) => {
  const calls = new AgentCalls(server)
  const agent = (more?: object) => calls.agent(more)
  const room = (fields?: object) => calls.room(fields)
  const title = () => calls.title()
  const write = (...sent: Parameters<AgentCalls['write']>) => calls.write(...sent)

  test('whatever endpoint they call with its plan: it is refused, or an undo takes it back', async () => {
    const { id } = await room({ beds: 2 })
    const gone = await room()
    await server.expect(200, 'DELETE', `/api/rooms/${gone.id}/`)
    const patched = await server.call('PATCH', `/api/rooms/${id}/`, { body: { beds: 5 } })
    const one = `/api/rooms/${id}/`
    /** The requests to each endpoint that is not a GET, by its name. Endpoints without an entry must refuse. */
    const sent: Record<string, readonly (readonly [path: string, body?: unknown])[]> = {
      create: [
        ['/api/rooms/', { title: title() }],
        ['/api/rooms/', [{ title: title() }, { title: title() }]],
        ['/api/bookings/', { name: 'x', room: { id }, also: [{ id }] }],
      ],
      upsert: [
        ['/api/rooms/?match=title', { title: title() }],
        ['/api/rooms/?match=title', { title: (await room()).title, beds: 9 }],
      ],
      patchMany: [
        [`/api/rooms/?filter=${encodeURIComponent(`id == ${id}`)}`, { beds: { $add: 1 } }],
        ['/api/bookings/?filter=true', { name: 'y' }],
      ],
      deleteMany: [[`/api/rooms/?filter=${encodeURIComponent(`id == ${id}`)}`]],
      patch: [[one, { beds: { $add: 1 } }]],
      replace: [[one, { title: title() }]],
      delete: [[one], [`/api/rooms/${gone.id}/?restore=1`], [`/api/rooms/${gone.id}/?purge=1`]],
      revert: [[`${one}revert/`, { version: 1 }]],
      undo: [[`${one}undo/`]],
      redo: [[`${one}redo/`]],
      undoOperation: [[`/api/operations/${patched.headers.get('takeback-operation')}/undo/`]],
      undoOperations: [['/api/operations/undo/', { entity: `rooms/${id}`, since: '2020-01-01T00:00:00Z' }]],
      batch: [
        [
          '/api/batch/',
          [
            { method: 'POST', path: '/api/rooms/', body: { title: title() } },
            {
              method: 'POST',
              path: '/api/bookings/',
              body: { name: 'z', room: { id: '$0.id' }, also: [{ id: '$0.id' }] },
            },
            { method: 'DELETE', path: one },
          ],
        ],
      ],
    }
    let planned = 0
    const turnedDown: string[] = []
    const called = new Set<string>()
    for (const { name, method, path } of [...endpoints.server, ...endpoints.entity]) {
      if (method === 'GET') continue
      called.add(name)
      const plain = path.replace('{entity}', 'rooms').replace('{id}', String(id))
      for (const [to, body] of sent[name] ?? [[plain, {}]]) {
        const { key, id: number } = await agent()
        const before = await stateOf(server)
        const done = await write(key, method, to, body)
        const refused = done.status >= 400
        if (sent[name] === undefined && name !== 'may') expect([name, refused]).toEqual([name, true])
        if (sent[name] !== undefined && refused) turnedDown.push(`${name} ${done.status}`)
        const { headers } = done
        if (headers.get('takeback-operation') !== null) {
          planned++
          expect([name, to, (await stateOf(server)) === before]).toEqual([name, to, false])
          await server.expect(200, 'POST', '/api/operations/undo/', {
            actor: `keys/${number}`,
            since: '2020-01-01T00:00:00Z',
          })
        }
        const after = await stateOf(server)
        expect([name, to, done.status, after]).toEqual([name, to, done.status, before])
      }
    }
    expect(Object.keys(sent).filter((name) => !called.has(name))).toEqual([])
    expect(planned).toBeGreaterThan(14)
    // Only what cannot be taken back is refused.
    expect(turnedDown).toEqual(['delete 403'])
  })

  test('any number of planned writes is taken back by one undo', async () => {
    const kinds = fc.constantFrom(
      'create',
      'book',
      'patch',
      'delete',
      'restore',
      'many',
      'upsert',
      'batch',
      'undo',
      'revert',
    )
    const steps = fc.array(fc.tuple(kinds, fc.nat(5), fc.nat(5)), { minLength: 2, maxLength: 8 })
    let written = 0
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        const { key, id: number } = await agent()
        const rooms = [await room(), await room()]
        const before = await stateOf(server)
        const ids = rooms.map(({ id }: any) => id as number)
        const operations: string[] = []
        for (const [kind, first, second] of list) {
          const id = ids[first % ids.length]
          const one = `/api/rooms/${id}/`
          const sends: Record<typeof kind, readonly [string, string, unknown?]> = {
            create: ['POST', '/api/rooms/', { title: title() }],
            book: [
              'POST',
              '/api/bookings/',
              { name: 'n', room: { id }, also: [{ id: ids[second % ids.length] }] },
            ],
            patch: ['PATCH', one, { beds: second }],
            delete: ['DELETE', one],
            restore: ['DELETE', `${one}?restore=1`],
            many: [
              'PATCH',
              `/api/rooms/?filter=${encodeURIComponent(`id in [${ids}]`)}`,
              { beds: { $add: 1 } },
            ],
            upsert: ['PUT', '/api/rooms/?match=title', { title: `upsert ${first}`, beds: second }],
            batch: [
              'POST',
              '/api/batch/',
              [
                { method: 'POST', path: '/api/rooms/', body: { title: title() } },
                { method: 'POST', path: '/api/bookings/', body: { name: 'b', room: { id: '$0.id' } } },
              ],
            ],
            undo: [
              'POST',
              `/api/operations/${operations[second % Math.max(1, operations.length)] ?? 'none'}/undo/`,
            ],
            revert: ['POST', `${one}revert/`, { version: 1 }],
          }
          const [method, path, body] = sends[kind]
          const done = await write(key, method, path, body)
          expect(done.status).toBeLessThan(500)
          const operation = done.headers.get('takeback-operation')
          if (operation !== null) operations.push(operation)
          if (kind === 'create' && done.status === 201) ids.push(done.body.id)
        }
        written += operations.length
        await server.expect(200, 'POST', '/api/operations/undo/', {
          actor: `keys/${number}`,
          since: '2020-01-01T00:00:00Z',
        })
        expect(await stateOf(server)).toBe(before)
      }),
      { numRuns: RUNS },
    )
    // Some steps may be refused, but not all of them.
    expect(written).toBeGreaterThan(0)
  })
})
