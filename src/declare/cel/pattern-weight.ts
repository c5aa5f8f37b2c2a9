import { type Characters, contains } from './characters.ts'
import type { Pattern } from './pattern-tree.ts'

/**
 * The cost of a pattern by two measures, since engines differ in what makes them slow.
 * Steps: the length of the pattern once its repetitions are written out. An engine tries each step for each character
 * of a text.
 * Ways: the transitions from one character of the pattern to the next, for each kind of character that the pattern
 * distinguishes. An engine that uses a table of them must first build that table.
 */
export interface Weight {
  readonly steps: number
  readonly ways: number
}

interface Measured extends Weight {
  /** How many ways lead in, and how many characters have ways out. */
  readonly first: number
  readonly last: number
  readonly empty: boolean
}

const NOTHING: Measured = { steps: 0, ways: 0, first: 0, last: 0, empty: true }

export function weigh(pattern: Pattern): Weight {
  return measure(pattern, kindsOf([...new Set(setsOf(pattern))]))
}

function measure(pattern: Pattern, kinds: readonly number[]): Measured {
  switch (pattern.kind) {
    case 'begin':
    case 'end':
      return { ...NOTHING, steps: 1 }
    case 'characters': {
      const told = kinds.filter((kind) => contains(pattern.characters, kind)).length
      return { steps: 1, ways: 0, first: told, last: 1, empty: false }
    }
    case 'sequence':
      return pattern.parts.map((part) => measure(part, kinds)).reduce(inSequence, NOTHING)
    case 'choice':
      return pattern.branches.map((branch) => measure(branch, kinds)).reduce(either)
    case 'repeat':
      return repeated(measure(pattern.of, kinds), pattern.min, pattern.max)
  }
}

function inSequence(a: Measured, b: Measured): Measured {
  return {
    steps: a.steps + b.steps,
    ways: a.ways + b.ways + a.last * b.first,
    first: a.first + (a.empty ? b.first : 0),
    last: b.last + (b.empty ? a.last : 0),
    empty: a.empty && b.empty,
  }
}

function either(a: Measured, b: Measured): Measured {
  return {
    steps: a.steps + b.steps + 1,
    ways: a.ways + b.ways,
    first: a.first + b.first,
    last: a.last + b.last,
    empty: a.empty || b.empty,
  }
}

function repeated(one: Measured, min: number, max: number): Measured {
  const optional = { ...one, steps: one.steps + 1, empty: true }
  const endless = { ...optional, ways: one.ways + one.last * one.first }
  const again =
    max === Number.POSITIVE_INFINITY ? [min === 0 ? endless : { ...endless, empty: one.empty }] : []
  const must = Math.max(0, min - again.length)
  const may = again.length === 1 ? 0 : max - min
  return [...Array<Measured>(must).fill(one), ...again, ...Array<Measured>(may).fill(optional)].reduce(
    inSequence,
    NOTHING,
  )
}

function setsOf(pattern: Pattern): Characters[] {
  switch (pattern.kind) {
    case 'characters':
      return [pattern.characters]
    case 'sequence':
      return pattern.parts.flatMap(setsOf)
    case 'choice':
      return pattern.branches.flatMap(setsOf)
    case 'repeat':
      return setsOf(pattern.of)
    default:
      return []
  }
}

/** One character of each kind that the sets distinguish. */
function kindsOf(sets: readonly Characters[]): number[] {
  const candidates = new Set(sets.flat().flatMap(([first, last]) => [first, last + 1]))
  const byMembership = new Map<string, number>()
  for (const candidate of candidates)
    byMembership.set(sets.map((set) => Number(contains(set, candidate))).join(''), candidate)
  return [...byMembership.values()]
}
