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

/** What a single letter behind a backslash stands for; the large one for all others. */
export const perl: ReadonlyMap<string, Characters> = new Map([
  ['d', DIGITS],
  ['w', WORD],
  ['s', SPACE],
])

const range = (first: string, last: string): Range => [first.charCodeAt(0), last.charCodeAt(0)]
const upper = range('A', 'Z')
const lower = range('a', 'z')
const digits = range('0', '9')

/** `[[:alpha:]]`: of ASCII, in any language. */
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

/** `\p{L}`, `\p{Greek}`: a general category or a script of Unicode; undefined where there is none of that name. */
export function unicode(name: string): Characters | undefined {
  if (!known.has(name)) known.set(name, find(name))
  return known.get(name)
}

/** Looks at every character there is, so each is found once. */
function find(name: string): Characters | undefined {
  if (name === 'Any') return complement([])
  if (!/^[A-Z][A-Za-z_]*$/.test(name) || ['Cn', 'Cs'].includes(name)) return undefined
  // What is not assigned yet is in no category of RE2's.
  if (name === 'C') return charactersOf(/[\p{Cc}\p{Cf}\p{Co}]+/gu)
  try {
    return charactersOf(new RegExp(`\\p{${name.length > 2 ? 'Script=' : ''}${name}}+`, 'gu'))
  } catch {
    return undefined
  }
}
