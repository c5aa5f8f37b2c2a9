/** A set of characters: disjoint ranges of code points in ascending order, both ends included. */
export type Characters = readonly Range[]
export type Range = readonly [first: number, last: number]

/** Texts never contain NUL: not every database can store it. */
const FIRST = 1
const LAST = 0x10ffff
/** Halves of surrogate pairs: well-formed text has none, and a pattern must not contain one. */
const SURROGATES: Range = [0xd800, 0xdfff]

export const DIGITS = union([span('0', '9')])
export const WORD = union([span('0', '9'), span('A', 'Z'), span('a', 'z'), span('_', '_')])
/** RE2's `\s`: it excludes the vertical tab. */
export const SPACE = union([span('\t', '\n'), span('\f', '\r'), span(' ', ' ')])
/** What `.` matches: any character but a newline. */
export const ALL_IN_LINE = complement(union([span('\n', '\n')]))
/** What `.` matches with the flag `s`: newlines too. */
export const ALL = complement([])

function span(first: string, last: string): Range {
  return [first.charCodeAt(0), last.charCodeAt(0)]
}

/** Whether a text can contain this code point. */
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

/** Cuts surrogates out, so that both ends of a range are always characters. */
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

export function contains(characters: Characters, code: number): boolean {
  let [low, high] = [0, characters.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((characters[middle]?.[1] ?? 0) < code) low = middle + 1
    else high = middle
  }
  return (characters[low]?.[0] ?? Number.POSITIVE_INFINITY) <= code
}

let everything: string | undefined

/** Every character that a text can contain, in order. */
export function everyCharacter(): string {
  everything ??= [...[FIRST, SURROGATES[1] + 1].entries()]
    .map(([at, from]) => textFrom(from, at === 0 ? SURROGATES[0] - 1 : LAST))
    .join('')
  return everything
}

function textFrom(first: number, last: number): string {
  const parts: string[] = []
  for (let from = first; from <= last; from += 4096)
    parts.push(
      String.fromCodePoint(...Array.from({ length: Math.min(4096, last - from + 1) }, (_, at) => from + at)),
    )
  return parts.join('')
}

/** The characters that a JavaScript pattern matches. The pattern must match runs of them (`+`, flags `gu`). */
export function charactersOf(pattern: RegExp): Characters {
  const ranges = [...everyCharacter().matchAll(pattern)].map(([found]): Range => {
    const last = found.codePointAt(found.length - 1) ?? 0
    const isHalf = last >= 0xdc00 && last <= SURROGATES[1]
    return [found.codePointAt(0) ?? 0, (isHalf ? found.codePointAt(found.length - 2) : last) ?? 0]
  })
  return union(ranges)
}

/**
 * Writes a set so that every engine reads it alike: one character, or a class of ranges, negated if the set reaches the
 * last code point. Only punctuation is escaped: engines share no other escapes.
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
