import { describe, expect, test } from 'bun:test'
import { budget } from '../../src/budget.ts'
import { entity, integer, json, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { expectInvalid, onEveryStore } from '../harness.ts'

const declaration = withAdmins({
  notes: entity({
    fields: {
      body: text({ optional: true }),
      doc: json({ optional: true }),
      count: integer({ optional: true }),
    },
  }),
})

const MANY = 'x'.repeat(300_000)

/** A request within its limit must not grow beyond it in the server. */
onEveryStore('growth', declaration, (server) => {
  const batch = (parts: unknown) => server.call('POST', '/api/batch/', { body: parts })
  const post = (body: unknown) => ({ method: 'POST', path: '/api/notes/', body })
  const count = async () => (await server.expect(200, 'GET', '/api/notes/?count=1&limit=1')).total as number

  describe('a batch is held to the limit of a body with what its references bring along', () => {
    const hostile: Readonly<Record<string, unknown[]>> = {
      'many times in one part': [post({ body: MANY }), post({ doc: Array(6000).fill('$0.body') })],
      'once in many parts': [post({ body: MANY }), ...Array(20).fill(post({ doc: '$0.body' }))],
      'doubled with each part': [
        post({ doc: ['x'.repeat(1000)] }),
        ...Array.from({ length: 40 }, (_, at) => post({ doc: { a: `$${at}.doc`, b: `$${at}.doc` } })),
      ],
      'as whole objects': [
        post({ doc: { deep: { text: MANY } } }),
        post({ doc: Array(10).fill('$0.doc.deep') }),
      ],
      'in a path': [
        post({ body: MANY }),
        ...Array(9).fill({ method: 'DELETE', path: '/api/notes/$0.body/' }),
      ],
    }

    test.each(Object.keys(hostile))('%s', async (name) => {
      const before = await count()
      const { status, body, text: answer } = await batch(hostile[name])
      // A path with an invalid id is 404, before the limit is reached.
      const expected = name === 'in a path' ? [404, 'not_found'] : [413, 'too_large']
      expect([status, body.code]).toEqual(expected)
      expect(answer.length).toBeLessThan(10_000)
      expect(await count()).toBe(before)
    })

    test('and what fits is written', async () => {
      const { status, body } = await batch([post({ body: MANY }), post({ doc: ['$0.body', '$0.id'] })])
      expect([status, body.results?.[1].body.doc]).toEqual([200, [MANY, body.results[0].body.id]])
    })
  })

  test('the answers of a batch have a limit', async () => {
    const { id } = await server.expect(201, 'POST', '/api/notes/', { body: 'y'.repeat(1_000_000) })
    const change = (at: number) => ({ method: 'PATCH', path: `/api/notes/${id}/`, body: { count: at } })
    const parts = Array.from({ length: 200 }, (_, at) => change(at))
    const { status, body, text: answer } = await batch(parts)
    expect([status, body.code]).toEqual([422, 'invalid_data'])
    expect(Object.values(body.errors)).toEqual([
      [`makes the answer larger than ${budget.answerBytes} bytes: send fewer parts`],
    ])
    expect(answer.length).toBeLessThan(1000)
    expect((await server.expect(200, 'GET', `/api/notes/${id}/`)).version).toBe(1)
    expect((await batch(parts.slice(0, 5))).status).toBe(200)
  })

  test('a PATCH cannot make JSON larger than a body may be', async () => {
    const { id } = await server.expect(201, 'POST', '/api/notes/', { doc: {} })
    const patch = (key: string) =>
      server.call('PATCH', `/api/notes/${id}/`, { body: { doc: { [key]: 'z'.repeat(400_000) } } })
    expect((await patch('a')).status).toBe(200)
    expect((await patch('b')).status).toBe(200)
    expectInvalid(await patch('c'), { doc: [`would have more than ${budget.bodyBytes} bytes`] })
    const { doc, version } = await server.expect(200, 'GET', `/api/notes/${id}/`)
    expect([Object.keys(doc).sort(), version]).toEqual([['a', 'b'], 3])
    // A smaller value is no growth.
    await server.expect(200, 'PATCH', `/api/notes/${id}/`, { doc: { a: null } })
    expect((await patch('c')).status).toBe(200)
  })
})
