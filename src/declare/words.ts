/** How much of a word counts, in characters, and how much of a text, in the bytes of its words. */
const WORD_MAX = 40
const TEXT_BYTES = 60_000

/** How many fields of a type can be searched: what every database can keep in one index entry, by so many bytes each. */
export const SEARCHED_MAX = 16

/** Accents and points that people leave out: Latin, Greek and Cyrillic ones, Hebrew and Arabic vowels. Those of other scripts are letters. */
const MARKS =
  /(?=\p{M})(?:[\u0300-\u036f]|[\u0590-\u05ff]|[\u0600-\u06ff]|[\u1ab0-\u1aff]|[\u1dc0-\u1dff]|[\u20d0-\u20ff]|[\ufe20-\ufe2f])/gu

/** Scripts that are written without spaces between words. */
const UNSPACED =
  '\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}'
const RUNS = new RegExp(
  `(?:(?=[${UNSPACED}])[\\p{L}\\p{N}]\\p{M}*)+|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}])+`,
  'gu',
)
const CHARACTERS = new RegExp(`[${UNSPACED}]\\p{M}*`, 'gu')
const STARTS_UNSPACED = new RegExp(`^[${UNSPACED}]`, 'u')

/**
 * The words of a text, in its order: without capitals and accents, runs of letters and digits. Where a script has no
 * spaces, each character together with the next one is a word, and the last one by itself: so every part of such a text
 * is found, and a single character too, as the beginning of a word. This is the one place where words are cut, for what
 * is kept and for what is looked for, whatever the database.
 */
export function* wordsOf(text: string): Generator<string> {
  for (const [run] of foldedWord(text).matchAll(RUNS))
    if (STARTS_UNSPACED.test(run)) yield* pairsOf(run)
    else yield cut(run)
}

/**
 * A text without capitals and accents, as people compare and sort it. Folded again, it stays as it is: so the capital
 * `ẞ`, which words have as `ß`, is `ss` here too.
 */
export function foldText(text: string): string {
  return foldedWord(text).replaceAll('ß', 'ss')
}

/** Via upper case, so that `ß` is `ss`, and both forms of sigma are one. */
function foldedWord(text: string): string {
  return text
    .normalize('NFKD')
    .replace(MARKS, '')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .normalize('NFKC')
}

function* pairsOf(run: string): Generator<string> {
  const characters = run.match(CHARACTERS) ?? []
  for (const [at, character] of characters.entries()) yield cut(character + (characters[at + 1] ?? ''))
}

function cut(word: string): string {
  return word.length <= WORD_MAX ? word : [...word].slice(0, WORD_MAX).join('')
}

/** The words as they are stored, with a space before and after each, so that each can be counted. */
export function keptWords(text: string): string {
  const kept: string[] = []
  let bytes = 0
  for (const word of wordsOf(text)) {
    bytes += Buffer.byteLength(word) + 2
    if (bytes > TEXT_BYTES) break
    kept.push(` ${word} `)
  }
  return kept.join('')
}
