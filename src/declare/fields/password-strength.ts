/**
 * The strength of a password in bits: the cheapest way to build it from what attackers try first. Common passwords,
 * keyboard walks, sequences, repetitions and years are cheap. Any other character costs as much as trying all of its
 * kind. Not a library: the known one takes 100 ms to load, and as long for one password of 100 characters.
 */
export function strengthOf(password: string, own: readonly string[] = []): number {
  const text = fold(password).slice(0, LOOKED_AT)
  const inspected = inspectText(text, wordsFor(own))
  const best = [0]
  for (let end = 1; end <= text.length; end++) best.push(Number.POSITIVE_INFINITY)
  for (let start = 0; start < text.length; start++) {
    const before = best[start] ?? 0
    const reach = (end: number, cost: number) => {
      if (before + cost < (best[end] ?? 0)) best[end] = before + cost
    }
    reach(start + 1, costOf(text[start] ?? ''))
    const run = runAt(text, start)
    const again = againAt(text, start)
    for (let end = start + PIECE_MIN; end <= again; end++) reach(end, REPEATED)
    for (let end = start + PIECE_MIN; end <= Math.min(text.length, start + PIECE_MAX); end++)
      reach(end, costOfPiece(inspected, start, end, run))
  }
  return best.at(-1) ?? 0
}

/** A text and its readings. Built once, since a text has hundreds of pieces. */
interface InspectedText {
  readonly text: string
  readonly spelt: string
  readonly back: string
  readonly speltBack: string
  readonly words: Words
}

function inspectText(text: string, words: Words): InspectedText {
  const back = [...text].reverse().join('')
  return { text, spelt: spell(text), back, speltBack: spell(back), words }
}

/** The rank of a word in the order of guessing: as it is written, or in the normal spelling of `spell`. */
interface Words {
  rankOf(word: string): number
  rankOfSpelt(word: string): number
}

/** The rest is ignored: a password this long is strong, or repeats itself. */
const LOOKED_AT = 64
const PIECE_MIN = 2
const PIECE_MAX = 32
const WORD_MIN = 4
const REPEATED = 2
const RUN = 4
const RUN_MIN = 3
const YEAR = 6
const CHANGED = 1

function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

/** The ranks of all words. The account's own words are tried first. */
function wordsFor(own: readonly string[]): Words {
  loaded ??= loadRanks()
  const { ranks, spelt } = loaded
  const [first, firstSpelt] = [new Set(own.map(fold)), new Set(own.map((word) => spell(fold(word))))]
  return {
    rankOf: (word) => (first.has(word) ? 1 : (ranks.get(word) ?? Number.POSITIVE_INFINITY)),
    rankOfSpelt: (word) => (firstSpelt.has(word) ? 1 : (spelt.get(word) ?? Number.POSITIVE_INFINITY)),
  }
}

function costOfPiece(inspected: InspectedText, start: number, end: number, run: number): number {
  const piece = inspected.text.slice(start, end)
  const length = Math.log2(piece.length)
  let cost = Number.POSITIVE_INFINITY
  if (inspected.text.indexOf(piece) + piece.length <= start) cost = REPEATED
  if (end <= run) cost = Math.min(cost, RUN + length)
  if (piece.length >= WORD_MIN) cost = Math.min(cost, costOfWord(inspected, start, end))
  return piece.length === 4 && /^(?:19|20)\d\d$/.test(piece) ? Math.min(cost, YEAR) : cost
}

/** The cost of a word, also reversed, or with digits and signs in place of letters. */
function costOfWord(
  { text, spelt, back, speltBack, words }: InspectedText,
  start: number,
  end: number,
): number {
  const [from, to] = [text.length - end, text.length - start]
  const changed = Math.min(
    words.rankOf(back.slice(from, to)),
    words.rankOfSpelt(spelt.slice(start, end)),
    words.rankOfSpelt(speltBack.slice(from, to)),
  )
  return Math.min(Math.log2(words.rankOf(text.slice(start, end)) + 1), Math.log2(changed + 1) + CHANGED)
}

/** Gives look-alikes one spelling: `P@ssw0rd` and `password`, `1` and `l`. The length stays the same. */
function spell(word: string): string {
  return word.replace(/[^a-hj-km-z]/g, (sign) => letters[sign] ?? sign)
}

const letters: Readonly<Record<string, string>> = {
  l: 'i',
  '1': 'i',
  '!': 'i',
  '|': 'i',
  '0': 'o',
  '2': 'z',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '6': 'g',
  '7': 't',
  '8': 'b',
  '9': 'g',
  '@': 'a',
  $: 's',
  '€': 'e',
  '+': 't',
  '(': 'c',
}

/** The end of a run that starts here: one repeated character, `abcd`, `4321` or a keyboard walk. */
function runAt(text: string, start: number): number {
  const step = text.charCodeAt(start + 1) - text.charCodeAt(start)
  let end = start + 1
  if (Math.abs(step) <= 1)
    while (end < text.length && text.charCodeAt(end) - text.charCodeAt(end - 1) === step) end++
  if (walked.has(text.slice(start, start + RUN_MIN)))
    while (end < text.length && walks.some((walk) => walk.includes(text.slice(start, end + 1)))) end++
  return end - start >= RUN_MIN ? end : start
}

/** The end of a repetition that starts here: of the text just before it, once or more. */
function againAt(text: string, start: number): number {
  let furthest = start
  for (let period = 1; period <= Math.min(start, PIECE_MAX); period++) {
    let end = start
    while (end < text.length && text[end] === text[end - period]) end++
    furthest = Math.max(furthest, end)
  }
  return furthest
}

const walks = [
  '1234567890',
  '!@#$%^&*()',
  '!"§$%&/()=',
  'qwertyuiopasdfghjklzxcvbnm',
  'qwertyuiop[]',
  'asdfghjkl;',
  'zxcvbnm,./',
  'qwertzuiopü',
  'yxcvbnm',
  'azertyuiop',
  'qsdfghjklm',
  'wxcvbn',
  'qazwsxedcrfvtgbyhnujmikolp',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p',
  '1qazxsw23edcvfr45tgbnhy67ujm',
  '1q2w3e4r5t6y7u8i9o0p',
  'q1w2e3r4t5y6u7i8o9p0',
  'qaywsxedcrfvtgbzhnujmikolp',
  'qweasdzxc',
  'qwerasdfzxcv',
].flatMap((walk) => [walk, [...walk].reverse().join('')])

/** All stretches of `RUN_MIN` characters in the walks. Most texts have none, and need no search through all walks. */
const walked: ReadonlySet<string> = new Set(
  walks.flatMap((walk) => [...walk].map((_, at) => walk.slice(at, at + RUN_MIN))),
)

function costOf(character: string): number {
  if (/[0-9]/.test(character)) return 3.3
  if (/[a-z]/.test(character)) return 4.7
  return character.charCodeAt(0) < 128 ? 5 : 8
}

interface Ranks {
  readonly ranks: ReadonlyMap<string, number>
  readonly spelt: ReadonlyMap<string, number>
}

let loaded: Ranks | undefined

/** Loads the ranks with the first new password, since only those need this half a megabyte. */
function loadRanks(): Ranks {
  const { dictionary } = require('@zxcvbn-ts/language-common') as typeof import('@zxcvbn-ts/language-common')
  const [ranks, spelt] = [new Map<string, number>(), new Map<string, number>()]
  for (const password of dictionary['passwords-common'] as Iterable<string>) {
    ranks.set(password, ranks.size + 1)
    const spelling = spell(password)
    if (!spelt.has(spelling)) spelt.set(spelling, ranks.size)
  }
  return { ranks, spelt }
}
