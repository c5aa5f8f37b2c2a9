import { expect, test } from 'bun:test'
import Ajv from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { everything } from '../../test/declarations.ts'
import type { Errors } from '../errors.ts'
import { INEXACT } from './fields/number.ts'
import { isEmail } from './fields/text.ts'
import { isDate, parseInstant } from './fields/time.ts'
import { resolve } from './resolve.ts'
import { type Mode, objectCheck, objectSchema } from './values.ts'

const things = resolve(everything).entities.get('things')?.fields ?? []

/** An independent validator of the schemas in the OpenAPI document. */
const ajv = new Ajv({ strict: false })
ajv.addFormat('email', isEmail)
ajv.addFormat('uri', (value) => /^https?:\/\/\S+$/i.test(value) && URL.canParse(value))
ajv.addFormat('date', isDate)
ajv.addFormat('date-time', (value) => parseInstant(value) !== undefined)
ajv.addFormat('password', true)

const scalar = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    'ab',
    'red',
    'x@example.com',
    'https://example.com',
    '2026-01-01',
    '2026-01-01T00:00:00Z',
    '1.5',
    '-3',
    '1.234',
    '12345678901234567890',
  ),
  fc.constantFrom(0, 1, -5, 6, 0.5, 2 ** 53, -(2 ** 60), 1e300),
  fc.boolean(),
  fc.constant(null),
  fc.string({ maxLength: 6 }),
)
const value = fc.oneof(
  { weight: 4, arbitrary: scalar },
  fc.array(fc.oneof(scalar, fc.record({ price: scalar, note: scalar }, { requiredKeys: [] })), {
    maxLength: 4,
  }),
  fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.record({ id: fc.nat({ max: 5 }) }, { noNullPrototype: true }) },
      scalar,
    ),
    {
      maxLength: 4,
    },
  ),
  fc.record({ id: scalar }, { requiredKeys: [] }),
  fc.record(
    { deep: fc.record({ word: scalar, other: scalar }, { requiredKeys: [] }), flag: scalar },
    { requiredKeys: [] },
  ),
)
const names = [...things.map(({ name }) => name), 'unknown', 'id']
const body = fc
  .array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 4 })
  .map((entries) => ({ name: 'n', ...Object.fromEntries(entries) }))
  .filter((one) => !JSON.stringify(one).includes('\\u0000'))

for (const mode of ['whole', 'replace', 'partial'] as const satisfies readonly Mode[])
  test(`the compiled check and the JSON Schema agree (${mode})`, () => {
    const check = objectCheck(things, mode, () => 'is unknown')
    const judge = ajv.compile(objectSchema(things, mode, 'in'))
    const seen = { right: 0, wrong: 0 }
    fc.assert(
      fc.property(body, (one) => {
        const errors: Errors = new Map()
        check(one, '', errors)
        // Limits that JSON Schema cannot express: of a decimal, and of whole numbers inside any JSON.
        for (const [path, sentences] of errors) {
          if (
            /^(price|lines\.\d+\.price)$/.test(path) &&
            sentences.every((sentence) => /^must be at (least|most)/.test(sentence))
          )
            return
          if (path.startsWith('anything') || sentences.includes(INEXACT)) return
        }
        seen[errors.size === 0 ? 'right' : 'wrong']++
        expect([judge(one), [...errors]]).toEqual([errors.size === 0, [...errors]])
      }),
      { numRuns: 3000 },
    )
    expect(Math.min(seen.right, seen.wrong)).toBeGreaterThan(200)
  })

const two = (number: number) => String(number).padStart(2, '0')
const spelled = fc.tuple(
  fc.tuple(fc.constantFrom(0, 1, 1900, 2000, 2023, 2024, 9999), fc.nat({ max: 13 }), fc.nat({ max: 32 })),
  fc.constantFrom('T', 't'),
  fc.tuple(fc.nat({ max: 24 }), fc.nat({ max: 60 }), fc.nat({ max: 60 })),
  fc.constantFrom('', '.1', '.12', '.123', '.12300'),
  fc.constantFrom('Z', 'z', '+00:00', '-11:30', '+23:59'),
)

test('a time is normalised as Date does it, and one on a day that does not exist is refused', () => {
  const isRight = ([[year, month, day], t, clock, fraction, zone]: typeof spelled extends fc.Arbitrary<
    infer T
  >
    ? T
    : never) => {
    const date = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`
    const text = `${date}${t}${clock.map(two).join(':')}${fraction}${zone}`
    const isoOf = (instant: Date) => (Number.isNaN(instant.getTime()) ? '' : instant.toISOString())
    const exists = year > 0 && isoOf(new Date(`${date}T00:00:00Z`)).startsWith(date)
    const isClock = clock[0] < 24 && clock[1] < 60 && clock[2] < 60
    const iso = exists && isClock ? isoOf(new Date(text.toUpperCase())) : ''
    expect([text, parseInstant(text)]).toEqual([text, /^(?!0000)\d{4}-/.test(iso) ? iso : undefined])
  }
  fc.assert(fc.property(spelled, isRight), { numRuns: 500 })
})
