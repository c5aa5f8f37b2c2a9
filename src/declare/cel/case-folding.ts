import { type Characters, contains, everyCharacter, type Range, union } from './characters.ts'

/** Characters that differ only in case, such as `k`, `K` and the Kelvin sign, by Unicode's simple case folding. */
type Orbit = readonly number[]

const isAsciiOnly = (set: Characters) => (set.at(-1)?.[1] ?? 0) < 0x80

/** Adds every character that differs from one in the set only in case. */
export function folded(set: Characters): Characters {
  const made = results.get(set) ?? fold(set)
  results.set(set, made)
  return made
}

const results = new WeakMap<Characters, Characters>()

function fold(set: Characters): Characters {
  const among = isAsciiOnly(set) ? ascii : allOrbits()
  const more = among
    .filter((orbit) => orbit.some((one) => contains(set, one)))
    .flatMap((orbit) => orbit.map((one): Range => [one, one]))
  return more.length === 0 ? set : union([...set, ...more])
}

/** The orbits with an ASCII letter: enough for most patterns, and known without a scan of Unicode. */
const ascii: readonly Orbit[] = Array.from({ length: 26 }, (_, at) => {
  const more: Record<string, number[]> = { k: [0x212a], s: [0x17f] }
  return [0x61 + at, 0x41 + at, ...(more[String.fromCharCode(0x61 + at)] ?? [])]
})

let known: readonly Orbit[] | undefined

/** Every orbit. JavaScript has no function for this, but its regular expressions fold the same way. */
function allOrbits(): readonly Orbit[] {
  known ??= findOrbits()
  return known
}

function findOrbits(): Orbit[] {
  const orbits = new Map<number, Set<number>>()
  const join = (a: number, b: number) => {
    const both = new Set([...(orbits.get(a) ?? [a]), ...(orbits.get(b) ?? [b])])
    for (const one of both) orbits.set(one, both)
  }
  const cased = /[\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]/gu
  for (const [character] of everyCharacter().matchAll(cased))
    for (const other of [character.toLowerCase(), character.toUpperCase()])
      if (other !== character && isSameCase(character, other)) join(codeOf(character), codeOf(other))
  return [...new Set(orbits.values())].map((orbit) => [...orbit])
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0
}

/** False if the other case has more than one character, or depends on the language. */
function isSameCase(a: string, b: string): boolean {
  return [...b].length === 1 && new RegExp(`^\\u{${codeOf(a).toString(16)}}$`, 'iu').test(b)
}
