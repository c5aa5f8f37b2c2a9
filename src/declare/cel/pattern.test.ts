import { expect, test } from 'bun:test'
import { normalPattern } from './pattern.ts'

const accepted: readonly (readonly [pattern: string, normal: string])[] = [
  ['', '(?:)'],
  ['abc', 'abc'],
  ['a.b', 'a[^\n]b'],
  ['^a$', '^a$'],
  ['a^b', 'a^b'],
  ['(^|,)x(,|$)', '(?:^|,)x(?:,|$)'],
  ['a|b|', 'a|b|(?:)'],
  ['(a|)', 'a|(?:)'],
  ['()', '(?:)'],
  ['()*', '(?:)'],
  ['(ab)+?', '(?:ab)+'],
  ['(?:ab)*c', '(?:ab)*c'],
  ['(a*)*', '(?:a*)*'],
  ['a{0}', '(?:)'],
  ['a{2}b{2,}c{2,3}?', 'a{2}b{2,}c{2,3}'],
  ['a{0,}b{1,}c{0,1}', 'a*b+c?'],
  ['\\d\\D', '[0-9][^0-9]'],
  ['\\w\\W', '[0-9A-Z_a-z][^0-9A-Z_a-z]'],
  ['\\s\\S', '[\t\n\f\r ][^\t\n\f\r ]'],
  ['[\\W\\d]', '[^A-Z_a-z]'],
  ['[\\d\\D]', '[\u0001-\ud7ff\ue000-\u{10ffff}]'],
  ['[]a]', '[\\]a]'],
  ['[^]a]', '[^\\]a]'],
  ['[-a]', '[\\-a]'],
  ['[a-]', '[\\-a]'],
  ['[--/]', '[\\--/]'],
  ['[a^]', '[\\^a]'],
  ['[[a]', '[\\[a]'],
  ['[a]', 'a'],
  ['[é-ü]', '[é-ü]'],
  ['[^\\x{E000}-\\x{10FFFF}]', '[\u0001-\ud7ff]'],
  ['\\x41\\x{1F600}\\t\\\\\\.\\-\\{\\ ', 'A😀\t\\\\\\.\\-\\{ '],
  [']}', '\\]\\}'],
  ['(?i)aé1', '[Aa]é1'],
  ['(?i)[b-d]', '[B-Db-d]'],
  ['(?i)[^k]', '[^Kk]'],
  ['(?i)\\x41', '[Aa]'],
  ['(?i)', '(?:)'],
]

test.each(accepted)('%j becomes %j', (pattern, normal) => {
  expect(normalPattern(pattern)).toEqual({ pattern: normal })
})

test.each(accepted)('%j stays what it has become', (_, normal) => {
  expect(normalPattern(normal)).toEqual({ pattern: normal })
})

const refused: readonly (readonly [pattern: string, at: number, problem: RegExp])[] = [
  ['a(?=b)', 1, /ahead or behind/],
  ['a(?<!b)', 1, /ahead or behind/],
  ['(a)\\1', 3, /back to a group/],
  ['a\\b', 1, /bounds of words/],
  ['\\p{L}', 0, /Unicode/],
  ['\\Aa', 0, /\^ for the begin/],
  ['\\Qa\\E', 0, /\\Q is not known/],
  ['\\é', 0, /\\é is not known/],
  ['\\', 0, /behind this backslash/],
  ['\\x4', 0, /by its number/],
  ['\\x00', 0, /No text/],
  ['\\x{D800}', 0, /No text/],
  ['\\x{110000}', 0, /No text/],
  ['a\0', 1, /no text can have/],
  ['😀\ud800', 2, /no text can have/],
  ['a(?i)b', 1, /Flags/],
  ['(?i)(?i)b', 4, /Flags/],
  ['(?x)a', 0, /Flags/],
  ['(?i:a)', 0, /Flags/],
  ['(?-i)a', 0, /Flags/],
  ['(?P<n>a)', 0, /no names/],
  ['(?<n>a)', 0, /no names/],
  ['(?#a)', 0, /A group begins/],
  ['***:a', 0, /nothing to repeat/],
  ['a|*', 2, /nothing to repeat/],
  ['({2})', 1, /nothing to repeat/],
  ['a**', 2, /repeated again/],
  ['a++', 2, /repeated again/],
  ['a{2}{3}', 4, /repeated again/],
  ['a???', 3, /repeated again/],
  ['^*', 1, /cannot be repeated/],
  ['(a$)?', 4, /cannot be repeated/],
  ['((^|a)b)+', 8, /cannot be repeated/],
  ['^'.repeat(9), 8, /at most 8/],
  ['a{', 1, /\\\{/],
  ['a{,3}', 1, /\\\{/],
  ['{a}', 0, /\\\{/],
  ['a{101}', 1, /100 at most/],
  ['a{1,101}', 1, /100 at most/],
  ['a{3,2}', 1, /less than the first/],
  ['(a', 0, /not closed/],
  ['a)', 1, /closes no group/],
  ['a[b', 1, /not closed/],
  ['[]', 0, /not closed/],
  ['[^]', 0, /not closed/],
  ['[b-a]', 1, /later one/],
  ['[a-\\d]', 1, /later one/],
  ['[\\d-z]', 3, /first or its last/],
  ['[a-c-e]', 4, /first or its last/],
  ['[[:alpha:]]', 1, /Named classes/],
  ['[a[.b.]]', 2, /Named classes/],
  ['[^\\d\\D]', 0, /no character/],
  ['a'.repeat(201), 200, /200 characters/],
  [`${'('.repeat(11)}a${')'.repeat(11)}`, 10, /10 levels/],
  ['((a{1,50}){1,50}){1,50}', 0, /too long/],
  ['(a*b*c*d*e*f*){1,100}', 0, /too long/],
  [`(.?){40}${'abcdefghijklmnopqrstuvwxyz'.repeat(2)}`, 0, /too long/],
]

test.each(refused)('%j is refused at %i', (pattern, at, problem) => {
  expect(normalPattern(pattern)).toEqual({ problem: expect.stringMatching(problem), at })
})

test('what people write is not too much', () => {
  for (const pattern of [
    '^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\\.[A-Za-z]{2,}$',
    '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$',
    '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
    '^(25[0-5]|2[0-4]\\d|1?\\d?\\d)(\\.(25[0-5]|2[0-4]\\d|1?\\d?\\d)){3}$',
    '^https?://[^\\s/]+(/[^\\s]*)?$',
    '^.{1,50}$',
    '(?i)\\.(jpe?g|png|gif|webp)$',
  ])
    expect(normalPattern(pattern)).toHaveProperty('pattern')
})
