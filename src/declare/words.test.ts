import { expect, test } from 'bun:test'
import { foldText, keptWords, wordsOf } from './words.ts'

const words = (text: string) => [...wordsOf(text)]

test('words are runs of letters and digits, without capitals and accents', () => {
  for (const [text, expected] of [
    ['', []],
    ['  …!? 🎉 \u0000 ', []],
    ['Room 12b, the "blue" one', ['room', '12b', 'the', 'blue', 'one']],
    ['Éclair crème BRÛLÉE', ['eclair', 'creme', 'brulee']],
    ['Straße STRASSE strasse', ['strasse', 'strasse', 'strasse']],
    ['İstanbul ısı', ['istanbul', 'isi']],
    ['ΟΔΟΣ οδός οδοσ', ['οδοσ', 'οδοσ', 'οδοσ']],
    ['Ёлка ёлка', ['елка', 'елка']],
    ['ﬁne ①', ['fine', '1']],
    ['a_b-c.d@e:f*g&h|i(j)', ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']],
    ['\'a\' \\b\\ "c"', ['a', 'b', 'c']],
    ['हिन्दी भाषा', ['हिन्दी', 'भाषा']],
    ['한국어 검색', ['한국어', '검색']],
    ['مُحَمَّد محمد', ['محمد', 'محمد']],
    ['x'.repeat(100), ['x'.repeat(40)]],
    ['𝒳'.repeat(3), ['xxx']],
    ['𐐨'.repeat(50), ['𐐨'.repeat(40)]],
  ] as const)
    expect(words(text)).toEqual([...expected])
})

test('where there are no spaces, each character with the next one is a word', () => {
  expect(words('東京都')).toEqual(['東京', '京都', '都'])
  expect(words('iPhone用ケース')).toEqual(['iphone', '用ケ', 'ケー', 'ース', 'ス'])
  expect(words('ガ ｶﾞ か')).toEqual(['ガ', 'ガ', 'か'])
  expect(words('ที่นี่')).toEqual(['ที่นี่', 'นี่'])
})

test('what words are made of does not change them', () => {
  for (const text of ['Crème brûlée', '東京都タワー', 'हिन्दी', 'Straße', 'ที่นี่', 'ỆÅ²'])
    for (const word of words(text)) expect(words(word)[0]).toBe(word)
})

test('they are kept with a space on both sides, as many as fit', () => {
  expect(keptWords('a b a')).toBe(' a  b  a ')
  expect(keptWords('!')).toBe('')
  const long = keptWords('wörter '.repeat(100_000))
  expect(Buffer.byteLength(long)).toBeLessThanOrEqual(60_000)
  expect(Buffer.byteLength(long)).toBeGreaterThan(59_000)
})

test('a folded text stays as it is when it is folded again, whatever character it has', () => {
  expect(foldText('Straße CAFÉ Σίσυφος ﬁ Ⅷ İ ẞ Ångström')).toBe('strasse cafe σισυφοσ fi viii i ss angstrom')
  for (let code = 1; code <= 0xe0fff; code++) {
    // No characters exist between these.
    if (code === 0x40000) code = 0xe0000
    const once = code >= 0xd800 && code <= 0xdfff ? '' : foldText(String.fromCodePoint(code))
    if (foldText(once) !== once) throw new Error(`U+${code.toString(16)} is ${once}, then ${foldText(once)}`)
  }
})
