import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { budget } from '../../src/budget.ts'
import { entity, integer, json, list, object, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore, runs } from '../harness.ts'

const declaration = withAdmins({
  notes: entity({
    fields: {
      title: text({ max: 10, unique: true }),
      count: integer({ optional: true }),
      doc: json({ optional: true }),
      numbers: list(integer(), { optional: true }),
      lines: list(object({ price: integer() }), { optional: true }),
      other: ref('notes', { optional: true }),
      others: list(ref('notes'), { optional: true }),
    },
  }),
})

/** The largest answer with errors: each error has its path and its sentences, some have two paths. */
const BYTES = budget.failures * (budget.pathCharacters + budget.sentenceCharacters) * 4

/** A number that no database holds, as a text because JSON.stringify cannot write it. */
const infinite = '1e999'

onEveryStore('failures', declaration, (server) => {
  const post = (raw: string, path = '/api/notes/') =>
    server.call('POST', path, { raw, headers: { 'Content-Type': 'application/json' } })

  /** Bodies with very many errors, or with very long paths, each within the size limit. */
  const hostile: Readonly<Record<string, string>> = {
    'long keys around many values': (() => {
      const depth = 40
      const key = 'k'.repeat(10_000)
      return `{"title":"a","doc":${`{"${key}":`.repeat(depth)}[${Array(20_000).fill(infinite).join()}]${'}'.repeat(depth)}}`
    })(),
    'many values': `{"title":"a","doc":[${Array(100_000).fill(infinite).join()}]}`,
    'many items': `{"title":"a","numbers":[${Array(100_000).fill('"x"').join()}]}`,
    'many objects': `{"title":"a","lines":[${Array(50_000).fill('{"x":1}').join()}]}`,
    'many references': `{"title":"a","others":[${Array(100_000).fill('{}').join()}]}`,
    'unknown keys': `{${Array.from({ length: 40_000 }, (_, at) => `"key${at}":1`).join()}}`,
    'one long key': `{"title":"a","${'x'.repeat(900_000)}":1}`,
    'one long key of pairs': `{"title":"a","${'😀'.repeat(100_000)}":1}`,
    'many Entities': `[${Array(1000)
      .fill(`{"doc":[${Array(50).fill(infinite).join()}]}`)
      .join()}]`,
    'many Entities without anything': `[${Array(1000).fill('{}').join()}]`,
    'many Entities of one title': `[${Array(1000).fill('{"title":"a"}').join()}]`,
  }

  describe('are named up to a limit, the rest is counted', () => {
    test.each(Object.keys(hostile))('%s', async (name) => {
      const { status, body, text: answer } = await post(hostile[name] ?? '')
      expect([status, body.code]).toEqual([422, 'invalid_data'])
      expect(answer.length).toBeLessThan(BYTES)
      const named = Object.entries(body.errors as Record<string, string[]>)
      expect(named.length).toBeGreaterThan(0)
      expect(named.length).toBeLessThanOrEqual(budget.failures + 1)
      for (const [path] of named) expect(path.length).toBeLessThanOrEqual(budget.pathCharacters)
      if (named.length > 10) expect(body.errors['']).toEqual([expect.stringMatching(/^and [1-9]\d* more$/)])
    })

    test('in the parts of a batch too', async () => {
      const parts = Array(1000).fill(`{"method":"POST","path":"/api/notes/","body":{"doc":${infinite}}}`)
      const wrong = Array(1000).fill('{"method":"X","path":"y","z":1}')
      for (const sent of [parts, wrong]) {
        const { status, text: answer } = await post(`[${sent.join()}]`, '/api/batch/')
        expect(status).toBe(422)
        expect(answer.length).toBeLessThan(BYTES)
      }
    })

    test('and so are those of a query', async () => {
      const names = Array.from({ length: 700 }, (_, at) => `f${at}`)
      for (const query of [`fields=${names.join()}`, names.map((name) => `${name}=1`).join('&')]) {
        const { status, body, text: answer } = await server.call('GET', `/api/notes/?${query}`)
        expect(status).toBe(422)
        expect(answer.length).toBeLessThan(BYTES)
        expect(body.errors['']).toEqual(['and 600 more'])
      }
    })
  })

  test('that are few are all named, each where it is', async () => {
    const { body } = await post(`{"title":"${'x'.repeat(11)}","count":"1","doc":{"a":[${infinite}]},"no":1}`)
    expect(body.errors).toEqual({
      title: ['must have at most 10 characters'],
      count: ['must be an integer'],
      'doc.a.0': ['must be a number'],
      no: ['is not a field of notes'],
    })
  })

  test('of any kind and number never lead to a 5xx', async () => {
    const value = fc.oneof(
      fc.constantFrom(
        '"x"',
        '1e999',
        '{}',
        '[]',
        'null',
        '-1',
        '{"id":99}',
        '"'.concat('y'.repeat(300), '"'),
      ),
      fc.nat(300).map((count) => `[${Array(count).fill('{"price":"x"}').join()}]`),
      fc.nat(300).map((count) => `[${Array(count).fill('{"id":0}').join()}]`),
    )
    const names = ['title', 'count', 'doc', 'numbers', 'lines', 'other', 'others', 'nothing']
    const body = fc
      .array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 8 })
      .map((pairs) => `{${[...new Map(pairs)].map(([name, one]) => `"${name}":${one}`).join()}}`)
    await fc.assert(
      fc.asyncProperty(fc.array(body, { minLength: 1, maxLength: 3 }), async (bodies) => {
        const { status, text: answer } = await post(`[${bodies.join()}]`)
        expect([status, [201, 422].includes(status)]).toEqual([status, true])
        if (status === 422) expect(answer.length).toBeLessThan(BYTES)
      }),
      { numRuns: runs(150) },
    )
  })
})
