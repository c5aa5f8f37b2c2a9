import { expect, test } from 'bun:test'
import { entity, integer, list, object, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore } from '../harness.ts'

const declared = (after: boolean) => {
  const given = (value: unknown) => (after ? { default: value } : { optional: true }) as { optional: true }
  return withAdmins({
    things: entity({
      fields: {
        n: integer(given(7)),
        t: text(given('x')),
        l: list(text(), given(['a'])),
        r: list(ref('things', { onDelete: 'clear' }), given([])),
        o: object({ a: integer(), ...(after && { b: integer({ default: 5 }) }) }, { optional: true }),
        ...(after && { later: integer({ default: 9 }) }),
      },
    }),
  })
}

onEveryStore('the history from before a migration', declared(false), (server) => {
  test('says what people did: values that the migration filled in were not theirs', async () => {
    const { id } = await server.expect(201, 'POST', '/api/things/', {})
    const bodies = [
      { n: 1, t: 'a', l: ['b'], r: [{ id }], o: { a: 1 } },
      { n: null, t: null, l: null, r: null, o: null },
      { n: 2, o: { a: 2 } },
      { t: 'b', l: [] },
    ]
    for (const body of bodies) await server.expect(200, 'PATCH', `/api/things/${id}/`, body)
    const told = async () => {
      const { data } = await server.expect(200, 'GET', `/api/things/${id}/history/`)
      const people = data.filter(({ kind }: { kind: string }) => kind !== 'migrate')
      const inFull = people.map(({ operation }: { operation: string }) =>
        server.expect(200, 'GET', `/api/operations/${operation}/`),
      )
      return [people, (await Promise.all(inFull)).map((one) => one.data)]
    }
    const before = await told()
    await server.restart(declared(true))
    expect(await told()).toEqual(before)
    const { data } = await server.expect(200, 'GET', `/api/things/${id}/history/?limit=1`)
    expect(data[0].changed).toEqual({
      r: { from: null, to: [] },
      'o.b': { from: null, to: 5 },
      later: { from: null, to: 9 },
    })
  })
})
