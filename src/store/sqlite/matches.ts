import { RE2JS } from 're2js'
import { budget } from '../../budget.ts'
import { Failure } from '../../errors.ts'

/**
 * A compiled pattern. RE2 has two ways to run it, which always agree. `test` builds a table of states as it goes: many
 * times faster while there are few states, but several times slower if a text keeps leading to new ones. `find` takes
 * about the same time for every text.
 */
interface Compiled {
  readonly pattern: string
  readonly expression: RE2JS
  /** Milliseconds that `test` has taken beyond its limit. Once there are too many, `find` is used for good. */
  debt: number
}

const KEPT = 64
/** Longer texts always use `find`: one `test` could take too long. */
const TABLED_MAX = 1000
const PER_CHARACTER_MS = 0.0005
const DEBT_MAX = 20
/** The maximum that one call adds: a call that was interrupted by other processes was not slow itself. */
const DEBT_STEP = 2

/** Compiled patterns, the most recently used one last. */
const kept = new Map<string, Compiled>()
let last: Compiled | undefined

/** Reading the clock takes longer than matching a short text, so it is read once per this many characters. */
const LOOK_CHARACTERS = 50_000
/** The cost of a call besides the text, in characters. */
const CALL_CHARACTERS = 100

/** When the current statement began to match, in processor time of this thread. */
let began: NodeJS.CpuUsage | undefined
let unlooked = 0

/** To be called before each statement that matches. */
export function beginMatching(): void {
  began = undefined
  unlooked = 0
}

/** SQLite has no regular expressions of its own; RE2's take linear time. */
export function matches(text: unknown, pattern: unknown): 0 | 1 | null {
  if (typeof text !== 'string' || typeof pattern !== 'string' || isTooLong(text)) return null
  began ??= process.threadCpuUsage()
  const found = runPattern(compilePattern(pattern), text)
  unlooked += text.length + CALL_CHARACTERS
  if (unlooked > LOOK_CHARACTERS) refuseLong(began)
  return found ? 1 : 0
}

/** Refuses a statement whose patterns take too long. Processor time, so that a busy machine changes nothing. */
function refuseLong(since: NodeJS.CpuUsage): void {
  unlooked = 0
  const { user, system } = process.threadCpuUsage(since)
  const ms = (user + system) / 1000
  if (ms > budget.patternMs)
    throw new Failure('unavailable', { cause: new Error(`patterns took ${ms} ms of the processor`) })
}

/** Characters are code points. They are counted only if the number of UTF-16 units does not decide. */
function isTooLong(text: string): boolean {
  if (text.length <= budget.matchedCharacters) return false
  return text.length > budget.matchedCharacters * 2 || [...text].length > budget.matchedCharacters
}

function runPattern(compiled: Compiled, text: string): boolean {
  if (text.length > TABLED_MAX || compiled.debt > DEBT_MAX) return compiled.expression.matcher(text).find()
  const start = performance.now()
  const found = compiled.expression.test(text)
  const over = performance.now() - start - text.length * PER_CHARACTER_MS
  compiled.debt = Math.max(0, compiled.debt + Math.min(over, DEBT_STEP))
  return found
}

function compilePattern(pattern: string): Compiled {
  // A query uses the same pattern for every row.
  if (last?.pattern === pattern) return last
  last = kept.get(pattern) ?? { pattern, expression: RE2JS.compile(pattern), debt: 0 }
  kept.delete(pattern)
  kept.set(pattern, last)
  const [oldest] = kept.keys()
  if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest)
  return last
}
