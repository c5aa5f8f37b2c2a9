import { expect, test } from 'bun:test'
import { diffTexts, shortened } from '../../console/parts/diff.ts'

const shown = (from: string, to: string) =>
  diffTexts(from, to)
    .map(({ kind, text }) => (kind === 'same' ? text : kind === 'removed' ? `[-${text}-]` : `{+${text}+}`))
    .join('')

test('texts are compared word by word', () => {
  expect(shown('Ten small gears.', 'Ten big gears!')).toBe('Ten [-small-]{+big+} gears[-.-]{+!+}')
  expect(shown('a b c', 'a x y c')).toBe('a [-b-]{+x y+} c')
  expect(shown('one two three', 'four five three')).toBe('[-one two-]{+four five+} three')
  expect(shown('', 'new')).toBe('{+new+}')
  expect(shown('Straße 5', 'Strasse 5')).toBe('[-Straße-]{+Strasse+} 5')
  expect(shown('same', 'same')).toBe('same')
})

test('both texts can be made of their differences, however long they are', () => {
  const words = (count: number, seed: number) =>
    Array.from({ length: count }, (_, at) => `w${(at * seed) % 17}${at % 9 === 0 ? '\n' : ' '}`).join('')
  for (const [from, to] of [
    [words(40, 3), words(50, 5)],
    [words(3000, 3), words(3000, 7)],
    ['x y '.repeat(9000), 'y\nz '.repeat(9000)],
  ] as const) {
    const parts = diffTexts(from, to)
    const of = (not: string) => parts.flatMap(({ kind, text }) => (kind === not ? [] : [text])).join('')
    expect(of('added') === from && of('removed') === to).toBe(true)
  }
})

test('what stays is cut to what is beside a change', () => {
  const parts = diffTexts(
    `${'long '.repeat(100)}old${' end'.repeat(100)}`,
    `${'long '.repeat(100)}new${' end'.repeat(100)}`,
  )
  const texts = shortened(parts, 10).map(({ text }) => text)
  expect(texts).toEqual([' … long long ', 'old', 'new', ' end end e … '])
})

test('what is shown of long changes has a limit', () => {
  const lengthOf = (from: string, to: string) =>
    shortened(diffTexts(from, to)).reduce((sum, { text }) => sum + text.length, 0)
  expect(lengthOf('W'.repeat(9000), 'M'.repeat(9000))).toBeLessThan(1100)
  const many = (word: string) => Array.from({ length: 900 }, (_, at) => `same${at} ${word}${at}`).join(' ')
  expect(lengthOf(many('a'), many('b'))).toBeLessThan(5000)
})
