import type { Characters } from '../declare/cel/characters.ts'
import { parsePattern } from '../declare/cel/pattern.ts'
import type { Pattern } from '../declare/cel/pattern-tree.ts'

/** Natural sequences of characters: `abc`, `ABC`, `123`. */
const POOLS = ['abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', '1234567890']
const FIRST_VISIBLE = 0x21
/** A text looks natural if it is this much longer than the shortest one. */
const NATURAL = 3
/** How many lengths beyond the shortest one are tried. Longer texts make no samples. */
const ROOM = 40
const LONGEST = 2000
/** How many branches of a choice are tried: the first ones may not match if `^` or `$` is inside the pattern. */
const ATTEMPTS = 4

/**
 * Texts that match a pattern and have at least `min` characters, the most natural first. If `^` or `$` is inside the
 * pattern, some may not match after all, so the caller must check.
 */
export function* textsFor(pattern: string, min = 0): Generator<string> {
  const meant = parsePattern(pattern)
  if (meant === undefined) return
  const least = Math.max(min, shortestOf(meant))
  if (least > LONGEST) return
  const known = new Lengths(least + ROOM)
  const all = known.list(known.of(meant))
  const fitting = all.filter((length) => length >= min)
  const natural = fitting[Math.min(NATURAL, fitting.length - 1)]
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const writer = new Writer(known, attempt)
    for (const length of natural === undefined ? [] : [natural, ...fitting]) yield writer.write(meant, length)
    // A pattern without anchors allows any text around it.
    const short = writer.write(meant, all[0] ?? 0)
    yield short.padEnd(min, ' and so on')
    yield short.padStart(min, 'so on and ')
  }
}

function shortestOf(pattern: Pattern): number {
  switch (pattern.kind) {
    case 'begin':
    case 'end':
      return 0
    case 'characters':
      return 1
    case 'choice':
      return Math.min(...pattern.branches.map(shortestOf))
    case 'sequence':
      return pattern.parts.reduce((sum, part) => sum + shortestOf(part), 0)
    case 'repeat':
      return pattern.min * shortestOf(pattern.of)
  }
}

type Repeat = Extract<Pattern, { kind: 'repeat' }>

/** The possible lengths of matches of a pattern, as a set of bits: bit 3 stands for three characters. */
class Lengths {
  readonly #mask: bigint
  readonly #known = new Map<Pattern, bigint>()
  readonly #powers = new Map<Repeat, readonly bigint[]>()

  constructor(max: number) {
    this.#mask = (1n << BigInt(max + 1)) - 1n
  }

  of(pattern: Pattern): bigint {
    const known = this.#known.get(pattern)
    if (known !== undefined) return known
    const lengths = this.#find(pattern) & this.#mask
    this.#known.set(pattern, lengths)
    return lengths
  }

  #find(pattern: Pattern): bigint {
    switch (pattern.kind) {
      case 'begin':
      case 'end':
        return 1n
      case 'characters':
        return 2n
      case 'choice':
        return pattern.branches.reduce((all, branch) => all | this.of(branch), 0n)
      case 'sequence':
        return this.behind(pattern.parts)[0] ?? 1n
      case 'repeat':
        return this.powers(pattern)
          .slice(pattern.min)
          .reduce((all, lengths) => all | lengths, 0n)
    }
  }

  /** The lengths of the parts from each index to the end: of all parts first, of none last. */
  behind(parts: readonly Pattern[]): bigint[] {
    const lengths = [1n]
    for (const part of parts.toReversed()) lengths.push(this.#add(lengths.at(-1) ?? 0n, this.of(part)))
    return lengths.toReversed()
  }

  /** The lengths of 0, 1, 2 … repetitions, until there are enough and more of them add no new lengths. */
  powers(pattern: Repeat): readonly bigint[] {
    const known = this.#powers.get(pattern)
    if (known !== undefined) return known
    const powers = [1n]
    for (let [count, seen] = [1, pattern.min === 0 ? 1n : 0n]; count <= pattern.max; count++) {
      const lengths = this.#add(powers.at(-1) ?? 0n, this.of(pattern.of))
      if (count > pattern.min && (lengths & ~seen) === 0n) break
      if (count >= pattern.min) seen |= lengths
      powers.push(lengths)
    }
    this.#powers.set(pattern, powers)
    return powers
  }

  #add(left: bigint, right: bigint): bigint {
    return this.list(left).reduce((all, length) => all | (right << BigInt(length)), 0n) & this.#mask
  }

  list(lengths: bigint): number[] {
    return [...lengths.toString(2)].reverse().flatMap((bit, length) => (bit === '1' ? [length] : []))
  }
}

const has = (lengths: bigint, length: number) => length >= 0 && ((lengths >> BigInt(length)) & 1n) === 1n

/** Writes one text of a given length that matches a pattern. */
class Writer {
  readonly #known: Lengths
  readonly #attempt: number
  #text = ''

  constructor(known: Lengths, attempt: number) {
    this.#known = known
    this.#attempt = attempt
  }

  write(pattern: Pattern, length: number): string {
    this.#text = ''
    this.#append(pattern, length)
    return this.#text
  }

  #append(pattern: Pattern, length: number): void {
    switch (pattern.kind) {
      case 'characters':
        this.#text += pick(pattern.characters, this.#text)
        return
      case 'choice': {
        const fitting = pattern.branches.filter((branch) => has(this.#known.of(branch), length))
        const branch = fitting[this.#attempt % fitting.length]
        if (branch !== undefined) this.#append(branch, length)
        return
      }
      case 'sequence':
        this.#appendAll(pattern.parts, this.#known.behind(pattern.parts).slice(1), length)
        return
      case 'repeat': {
        const powers = this.#known.powers(pattern)
        const count = powers.findIndex((lengths, at) => at >= pattern.min && has(lengths, length))
        const parts = Array.from({ length: Math.max(0, count) }, () => pattern.of)
        this.#appendAll(parts, powers.slice(0, parts.length).toReversed(), length)
      }
    }
  }

  /** `rests` has the possible lengths of what follows each part. */
  #appendAll(parts: readonly Pattern[], rests: readonly bigint[], length: number): void {
    let left = length
    for (const [at, part] of parts.entries()) {
      const lengths = this.#known.list(this.#known.of(part))
      const own = lengths.find((one) => has(rests[at] ?? 0n, left - one)) ?? 0
      this.#append(part, own)
      left -= own
    }
  }
}

/** Picks the next character of its alphabet, so that `[0-9]{4}` becomes 1234. */
function pick(characters: Characters, before: string): string {
  const admits = (code: number) => characters.some(([first, last]) => code >= first && code <= last)
  for (const pool of POOLS) {
    const fitting = [...pool].filter((one) => admits(one.charCodeAt(0)))
    const used = [...before].filter((one) => pool.includes(one)).length
    if (fitting.length > 0) return fitting[used % fitting.length] ?? ''
  }
  const visible = characters.find(([, last]) => last >= FIRST_VISIBLE)
  const [first = FIRST_VISIBLE] = visible ?? characters[0] ?? []
  return String.fromCodePoint(visible === undefined ? first : Math.max(first, FIRST_VISIBLE))
}
