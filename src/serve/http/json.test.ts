import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { runs } from '../../../test/runs.ts'
import { Failure } from '../../errors.ts'
import { parseJson } from './json.ts'
import { inspectJson } from './json-inspect.ts'

const random = { numRuns: runs(5000) }
const bytesOf = (text: string) => new TextEncoder().encode(text)

function failureOf(bytes: Uint8Array): Failure {
  try {
    parseJson(bytes)
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
  throw new Error('was taken')
}

const parses = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Converts a line and a column to an offset. */
function offsetOf(text: string, fault: string): number {
  const [, line, column] = /at line (\d+), column (\d+)$/.exec(fault) ?? []
  const lines = text.split('\n')
  const before = lines.slice(0, Number(line) - 1).reduce((sum, one) => sum + one.length + 1, 0)
  const within = [...(lines[Number(line) - 1] ?? '')].slice(0, Number(column) - 1).join('')
  return before + within.length
}

/** Texts from the alphabet of JSON, and some that are nearly JSON. */
const nearly = fc
  .array(
    fc.constantFrom(
      ...'{}[],:"\\ \n\ttruefalsn01-+.eE',
      '"a"',
      '"é"',
      '\\u0041',
      '\u0001',
      '{"a":1}',
      '[1,2]',
      'null',
      'ü',
      '𝄞',
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''))

describe('where JSON is broken', () => {
  test('a fault is found exactly where JSON.parse refuses', () => {
    fc.assert(
      fc.property(nearly, (text) => {
        expect([text, inspectJson(text).fault === undefined]).toEqual([text, parses(text)])
      }),
      { numRuns: random.numRuns * 5 },
    )
  })

  test('a character that JSON has nowhere is found at its place', () => {
    const spaced = fc.tuple(fc.json(), fc.constantFrom(undefined, 1, 2))
    fc.assert(
      fc.property(spaced, fc.nat(), ([json, indent], seed) => {
        const text = JSON.stringify(JSON.parse(json), null, indent)
        const at = seed % (text.length + 1)
        const broken = `${text.slice(0, at)}\0${text.slice(at)}`
        expect([broken, offsetOf(broken, inspectJson(broken).fault ?? '')]).toEqual([broken, at])
      }),
      random,
    )
  })

  test('what is cut off ends too early, at its end', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), (json, seed) => {
        const cut = json.slice(0, seed % json.length)
        if (parses(cut)) return
        const { fault = '' } = inspectJson(cut)
        expect([cut, fault.startsWith('ends too early'), offsetOf(cut, fault)]).toEqual([
          cut,
          true,
          cut.length,
        ])
      }),
      random,
    )
  })

  test('a byte that is no UTF-8 is named', () => {
    for (const [at, bytes] of [
      [3, [0x22, 0x61, 0xff, 0x22]],
      [2, [0x22, 0xc3, 0x22]],
      [2, [0x22, 0xed, 0xa0, 0x80, 0x22]],
      [5, [0x22, 0xef, 0xbf, 0xbd, 0x80, 0x22]],
    ] as const) {
      const { code, errors } = failureOf(new Uint8Array(bytes))
      expect([code, errors?.get('')]).toEqual(['malformed_json', [`is not valid UTF-8 at byte ${at}`]])
    }
  })

  test('a large text takes no longer than its length', () => {
    for (const text of [`"${'x'.repeat(1_000_000)}`, `[${'1,'.repeat(500_000)}`, '\n'.repeat(1_000_000)])
      expect(inspectJson(text).fault).toStartWith('ends too early')
  })
})

describe('keys that are there twice', () => {
  /** JSON whose objects may have duplicate keys, also in another spelling. */
  const key = fc.constantFrom('a', 'b', '\\u0061', '__proto__', 'constructor', '', '1')
  const text = fc.letrec<{ value: string; object: string }>((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, fc.constantFrom('1', '"a:b"', 'null', '[]'), tie('object')),
    object: fc
      .array(fc.tuple(key, tie('value')), { maxLength: 4 })
      .map((members) => `{${members.map(([name, value]) => `"${name}": ${value}`).join(', ')}}`),
  })).object

  test('are refused, and nothing else is', () => {
    fc.assert(
      fc.property(text, (json) => {
        const { duplicates } = inspectJson(json)
        if (duplicates.length === 0) return void expect(parseJson(bytesOf(json))).toEqual(JSON.parse(json))
        const { code, errors } = failureOf(bytesOf(json))
        expect([code, [...(errors?.keys() ?? [])]]).toEqual(['invalid_data', [...new Set(duplicates)]])
      }),
      random,
    )
  })

  test('are found by their value, wherever they are', () => {
    const cases: [string, string][] = [
      ['{"a":1,"a":1}', 'a'],
      ['{"a":1,"\\u0061":2}', 'a'],
      ['{"x":{"a":1,"b":{},"a":2}}', 'x.a'],
      ['[{"a":1},{"a":1,"a":2}]', '1.a'],
      ['{"__proto__":1,"__proto__":2}', '__proto__'],
      ['{"list":[[{"":1,"":2}]]}', 'list.0.0.'],
    ]
    for (const [json, path] of cases)
      expect([json, failureOf(bytesOf(json)).errors]).toEqual([
        json,
        new Map([[path, ['is given more than once']]]),
      ])
  })

  test('do not make the answer larger than the body', () => {
    const long = 'k'.repeat(100_000)
    const json = `{"${long}":{${Array.from({ length: 50 }, (_, at) => `"${at}":1,"${at}":2`).join()}}}`
    expect(JSON.stringify([...(failureOf(bytesOf(json)).errors ?? [])]).length).toBeLessThan(10_000)
  })
})
