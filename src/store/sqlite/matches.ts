import { RE2JS } from 're2js'
import { budget } from '../../budget.ts'
import { Failure } from '../../errors.ts'

/**
 * A compiled pattern. RE2 has two ways to run it, which always agree. `test` makes a table of states as it goes: that is
 * many times as fast as long as they are few, and several times as slow where a text keeps leading to new ones.
 * `find` takes much the same time for every text.
 */
interface Compiled {
  readonly pattern: string
  readonly expression: RE2JS
  /** Milliseconds that `test` has taken beyond what it may; once they are too many, it is `find`'s turn for good. */
  debt: number
}

const KEPT = 64
/** Longer texts are not left to `test`: a single one could take too long. */
const TABLED_MAX = 1000
const PER_CHARACTER_MS = 0.0005
const DEBT_MAX = 20

/** Compiled patterns, the one that was used last at the end. */
const kept = new Map<string, Compiled>()
let last: Compiled | undefined

/** How long one statement may take for its patterns: nobody else is served meanwhile. */
const SPENT_MAX_MS = 2000
let spent = 0

/** To be called before each statement that matches. */
export function beginMatching(): void {
  spent = 0
}

/** SQLite has no regular expressions of its own; RE2's take linear time. */
export function matches(text: unknown, pattern: unknown): 0 | 1 | null {
  if (typeof text !== 'string' || typeof pattern !== 'string' || isTooLong(text)) return null
  const start = performance.now()
  const found = run(compile(pattern), text, start)
  spent += performance.now() - start
  if (spent > SPENT_MAX_MS)
    throw new Failure('unavailable', { cause: new Error(`patterns took ${spent} ms`) })
  return found ? 1 : 0
}

/** Characters are code points; counted only where UTF-16 units leave it open. */
function isTooLong(text: string): boolean {
  if (text.length <= budget.matchedCharacters) return false
  return text.length > budget.matchedCharacters * 2 || [...text].length > budget.matchedCharacters
}

function run(compiled: Compiled, text: string, start: number): boolean {
  if (text.length > TABLED_MAX || compiled.debt > DEBT_MAX) return compiled.expression.matcher(text).find()
  const found = compiled.expression.test(text)
  const over = performance.now() - start - text.length * PER_CHARACTER_MS
  compiled.debt = Math.max(0, compiled.debt + over)
  return found
}

function compile(pattern: string): Compiled {
  // A query asks for the same one with every row.
  if (last?.pattern === pattern) return last
  last = kept.get(pattern) ?? { pattern, expression: RE2JS.compile(pattern), debt: 0 }
  kept.delete(pattern)
  kept.set(pattern, last)
  const [oldest] = kept.keys()
  if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest)
  return last
}
