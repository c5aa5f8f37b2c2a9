/** The length to which a word is cut, in characters; then the limit for all words of a text, in bytes. */
const WORD_MAX = 40
const TEXT_BYTES = 60_000

/** The maximum number of searched fields per type: more would not fit into one index entry of every database. */
export const SEARCHED_MAX = 16

/** Marks that people leave out: accents, Hebrew and Arabic vowels. In other scripts, marks are letters. */
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
 * The words of a text, in order: runs of letters and digits, without capitals and accents. In a script without spaces,
 * each character together with the next is a word, and the last one by itself. So every part of such a text can be
 * found, and a single character too, as the beginning of a word. Only this function cuts words, for stored and searched
 * texts alike, whatever the database.
 */
export function* wordsOf(text: string): Generator<string> {
  for (const [run] of foldedWord(text).matchAll(RUNS))
    if (STARTS_UNSPACED.test(run)) yield* pairsOf(run)
    else yield cut(run)
}

/**
 * A text without capitals and accents, as people compare and sort it. Folding twice changes nothing: the capital `ẞ`,
 * which is `ß` in words, is `ss` here.
 */
export function foldText(text: string): string {
  return foldedWord(text).replaceAll('ß', 'ss')
}

/** Upper case first, so that `ß` becomes `ss`, and both forms of sigma become one. */
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

/** The words as they are stored, with a space before and after each, so that they can be counted. */
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
