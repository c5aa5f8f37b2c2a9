import {
  type Characters,
  charactersOf,
  complement,
  DIGITS,
  type Range,
  SPACE,
  union,
  WORD,
} from './characters.ts'

/** The Perl classes, by the letter after the backslash. An upper-case letter negates the class. */
export const perl: ReadonlyMap<string, Characters> = new Map([
  ['d', DIGITS],
  ['w', WORD],
  ['s', SPACE],
])

const range = (first: string, last: string): Range => [first.charCodeAt(0), last.charCodeAt(0)]
const upper = range('A', 'Z')
const lower = range('a', 'z')
const digits = range('0', '9')

/** The POSIX classes, such as `[[:alpha:]]`: ASCII only. */
export const posix: ReadonlyMap<string, Characters> = new Map(
  Object.entries({
    alnum: [digits, upper, lower],
    alpha: [upper, lower],
    ascii: [[0x01, 0x7f]],
    blank: [range('\t', '\t'), range(' ', ' ')],
    cntrl: [
      [0x01, 0x1f],
      [0x7f, 0x7f],
    ],
    digit: [digits],
    graph: [range('!', '~')],
    lower: [lower],
    print: [range(' ', '~')],
    punct: [range('!', '/'), range(':', '@'), range('[', '`'), range('{', '~')],
    space: [range('\t', '\r'), range(' ', ' ')],
    upper: [upper],
    word: [digits, upper, lower, range('_', '_')],
    xdigit: [digits, range('A', 'F'), range('a', 'f')],
  } satisfies Record<string, Range[]>).map(([name, ranges]) => [name, union(ranges)]),
)

const known = new Map<string, Characters | undefined>()

/** The characters of a Unicode category or script, as in `\p{L}` or `\p{Greek}`; undefined if the name is unknown. */
export function unicode(name: string): Characters | undefined {
  if (!known.has(name)) known.set(name, find(name))
  return known.get(name)
}

/** Scans every character of Unicode, so each result is cached. */
function find(name: string): Characters | undefined {
  if (name === 'Any') return complement([])
  if (!/^[A-Z][A-Za-z_]*$/.test(name) || ['Cn', 'Cs'].includes(name)) return undefined
  // In RE2, unassigned characters are in no category.
  if (name === 'C') return charactersOf(/[\p{Cc}\p{Cf}\p{Co}]+/gu)
  try {
    return charactersOf(new RegExp(`\\p{${name.length > 2 ? 'Script=' : ''}${name}}+`, 'gu'))
  } catch {
    return undefined
  }
}
