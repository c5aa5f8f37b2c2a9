import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { RE2JS } from 're2js'
import { runs } from '../../test/runs.ts'
import { parsePattern } from '../declare/cel/pattern.ts'
import { app, entity, list, object, text } from '../declare/define.ts'
import { resolve } from '../declare/resolve.ts'
import { objectCheck } from '../declare/values.ts'
import { sampleOf } from './sample.ts'
import { textsFor } from './sample-pattern.ts'

const RUNS = runs(300)

describe('a sample that is made from a pattern', () => {
  test('looks as people would write it', () => {
    for (const [pattern, sample] of [
      ['^[0-9]{4}-[0-9]{4}$', '1234-5678'],
      ['^[A-Z]{2}-\\d{3}$', 'AB-123'],
      ['^[a-z0-9-]+$', 'abcd'],
      ['^#[0-9a-f]{6}$', '#abcdef'],
      ['^(DE|FR|IT)[0-9]{2}$', 'DE12'],
      ['^\\+[1-9][0-9]{6,14}$', '+1234567890'],
      ['^[0-9a-f]{64}$', 'abcdef'.repeat(11).slice(0, 64)],
      ['(^|,)x(,|$)', ',x,'],
      ['^(?i)[a-f]{2}$', 'ab'],
      ['^(?i)[[:alpha:]]{3}\\z', 'abc'],
      ['\\A(?P<year>\\d{4})\\p{Lu}\\z', '1234A'],
      ['[', undefined],
      ['colou?r', 'colour'],
      ['^$', ''],
    ] as const)
      expect([pattern, textsFor(pattern).next().value]).toEqual([pattern, sample])
  })

  const literal = fc.constantFrom(...'abXY019-_ é#', '\\.', '\\$', '\\\\')
  const set = fc.constantFrom(
    '[0-9]',
    '[A-Z]',
    '[a-z_]',
    '[^0-9]',
    '\\d',
    '\\w',
    '\\s',
    '\\D',
    '.',
    '[-.]',
    '[^a-zA-Z0-9]',
    '[😀-😂]',
  )
  const times = fc.constantFrom('', '', '*', '+', '?', '{3}', '{2,}', '{0,4}', '{1,2}')
  const { whole } = fc.letrec<{ whole: string; part: string }>((tie) => ({
    whole: fc.array(tie('part'), { minLength: 1, maxLength: 3 }).map((parts) => parts.join('')),
    part: fc.oneof(
      { maxDepth: 2 },
      fc.tuple(fc.oneof(literal, set), times).map((both) => both.join('')),
      fc
        .tuple(fc.array(tie('whole'), { minLength: 1, maxLength: 3 }), times)
        .map(([branches, many]) => `(${branches.join('|')})${many}`),
    ),
  }))
  const anchored = fc
    .tuple(fc.constantFrom('', '^'), whole, fc.constantFrom('', '$'), fc.constantFrom('', '(?i)'))
    .map(([begin, inner, end, flag]) => `${flag}${begin}(${inner})${end}`)
    .filter((pattern) => parsePattern(pattern) !== undefined)

  test('matches it, whatever the pattern', () => {
    fc.assert(
      fc.property(anchored, (pattern) => {
        const [first] = textsFor(pattern)
        expect([pattern, first, first !== undefined && RE2JS.compile(pattern).matcher(first).find()]).toEqual(
          [pattern, first, true],
        )
      }),
      { numRuns: RUNS },
    )
  })

  test('is taken by the field, in objects and in lists too, and as long as it must be', () => {
    fc.assert(
      fc.property(anchored, fc.nat(12), (pattern, min) => {
        // The sample must have room for `min` characters, which the repetition at the end gives.
        const roomy = `${pattern.replace(/\$$/, '')}[a-z]*$`
        fc.pre(parsePattern(roomy) !== undefined)
        const model = resolve(
          app({
            entities: {
              things: entity({
                fields: {
                  code: text({ pattern: roomy, min }),
                  inner: object({ code: text({ pattern }) }),
                  codes: list(text({ pattern })),
                },
              }),
            },
          }),
        )
        const type = model.entities.get('things')
        if (type === undefined) throw new Error('not declared')
        const errors = new Map<string, string[]>()
        objectCheck(type.fields, 'whole', String)(sampleOf(type, model), '', errors)
        expect([pattern, min, ...errors]).toEqual([pattern, min])
      }),
      { numRuns: RUNS },
    )
  })
})
