/** A set of characters: ranges of code points, ascending, apart from each other, both ends included. */
export type Characters = readonly Range[]
export type Range = readonly [first: number, last: number]

/** NUL is in no text: not every database can hold it. */
const FIRST = 1
const LAST = 0x10ffff
/** Halves of characters: in no text that is well formed, and not to be written into a pattern. */
const SURROGATES: Range = [0xd800, 0xdfff]

export const DIGITS = union([span('0', '9')])
export const WORD = union([span('0', '9'), span('A', 'Z'), span('a', 'z'), span('_', '_')])
/** RE2's: without the vertical tab. */
export const SPACE = union([span('\t', '\n'), span('\f', '\r'), span(' ', ' ')])
/** What `.` stands for. */
export const ALL_IN_LINE = complement(union([span('\n', '\n')]))

function span(first: string, last: string): Range {
  return [first.charCodeAt(0), last.charCodeAt(0)]
}

/** Whether it can be in a text at all. */
export function isCharacter(code: number): boolean {
  return code >= FIRST && code <= LAST && !(code >= SURROGATES[0] && code <= SURROGATES[1])
}

export function union(ranges: readonly Range[]): Characters {
  const merged: [number, number][] = []
  for (const [first, last] of ranges.flatMap(withoutSurrogates).sort((a, b) => a[0] - b[0])) {
    const before = merged.at(-1)
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last)
    else merged.push([first, last])
  }
  return merged
}

/** So that the ends of a range are always characters. */
function withoutSurrogates([first, last]: Range): Range[] {
  const [from, to] = SURROGATES
  const below: Range = [first, Math.min(last, from - 1)]
  const above: Range = [Math.max(first, to + 1), last]
  return [below, above].filter(([start, end]) => start <= end)
}

export function complement(characters: Characters): Characters {
  const starts = [FIRST, ...characters.map(([, last]) => last + 1)]
  const ends = [...characters.map(([first]) => first - 1), LAST]
  return union(starts.map((start, at): Range => [start, ends[at] ?? LAST]).filter(([a, b]) => a <= b))
}

/** With the other case of each ASCII letter; of no others, since what their other case is depends on whom one asks. */
export function foldAscii(characters: Characters): Characters {
  const shifted = (from: string, to: string, by: number): Range[] =>
    characters.flatMap(([first, last]) => {
      const [start, end] = [Math.max(first, from.charCodeAt(0)), Math.min(last, to.charCodeAt(0))]
      return start <= end ? [[start + by, end + by] as const] : []
    })
  return union([...characters, ...shifted('a', 'z', -32), ...shifted('A', 'Z', 32)])
}

export function contains(characters: Characters, code: number): boolean {
  return characters.some(([first, last]) => first <= code && code <= last)
}

/**
 * As every engine reads it: a character by itself or a class of ranges, negated where that is what the set is by nature.
 * No escapes but those of punctuation: other than these, engines have none in common.
 */
export function writeCharacters(characters: Characters): string {
  const [only] = characters
  if (characters.length === 1 && only !== undefined && only[0] === only[1]) return writeOne(only[0])
  const negated = characters.at(-1)?.[1] === LAST && complement(characters).length > 0
  return negated ? `[^${writeRanges(complement(characters))}]` : `[${writeRanges(characters)}]`
}

function writeRanges(characters: Characters): string {
  return characters
    .map(([first, last]) => {
      if (first === last) return writeOne(first)
      return last === first + 1 ? writeOne(first) + writeOne(last) : `${writeOne(first)}-${writeOne(last)}`
    })
    .join('')
}

function writeOne(code: number): string {
  const character = String.fromCodePoint(code)
  return /[\\.[\](){}*+?|^$-]/.test(character) ? `\\${character}` : character
}
