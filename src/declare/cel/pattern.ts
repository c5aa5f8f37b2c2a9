import { budget } from '../../budget.ts'
import { folded } from './case-folding.ts'
import { perl, posix, unicode } from './character-classes.ts'
import { ALL, ALL_IN_LINE, type Characters, complement, isCharacter, union } from './characters.ts'
import { characters, EMPTY, hasAnchor, type Pattern, writePattern } from './pattern-tree.ts'
import { weigh } from './pattern-weight.ts'

/**
 * Rewrites a regular expression to a form that means the same to every database, or says what is wrong and where. The
 * position counts UTF-16 units. A pattern matches anywhere in a text, unless it is anchored.
 *
 * Syntax and meaning are those of RE2 (https://github.com/google/re2/wiki/Syntax) with its Perl classes;
 * `docs/patterns.md` lists what is supported. Not supported, though RE2 has it: `\b`, `\B`, the flag `m`, octal numbers
 * of characters, `\C`; `^` and `$` inside of a repetition; a class that matches nothing.
 *
 * A `limited` pattern runs on any number of rows. It has at most 200 characters, and at most 120 steps once its
 * repetitions are written out (`[a-z]{20}` has 20, `[a-z]{0,20}` has 40, `[a-z]+` has 2). Repetitions of optional parts
 * with many different characters are limited further (see `Weight`). So no pattern makes a database slow. Texts of more
 * than 10,000 characters are not matched at all (see `Dialect.matches`).
 */
export function normalPattern(
  pattern: string,
  { limited = true } = {},
): { readonly pattern: string } | { readonly problem: string; readonly at: number } {
  try {
    const meant = new Parser(pattern, limited).parse()
    if (limited && isHeavy(meant))
      return { problem: 'The pattern takes too long to match: it must repeat less, or less often.', at: 0 }
    return { pattern: writePattern(meant) }
  } catch (error) {
    if (error instanceof Refused) return { problem: error.message, at: error.at }
    throw error
  }
}

/** Parses a pattern; undefined if its syntax is not supported. */
export function parsePattern(pattern: string): Pattern | undefined {
  try {
    return new Parser(pattern, false).parse()
  } catch (error) {
    if (error instanceof Refused) return undefined
    throw error
  }
}

function isHeavy(pattern: Pattern): boolean {
  const { steps, ways } = weigh(pattern)
  return steps > budget.patternSteps || ways > budget.patternWays
}

class Refused extends Error {
  readonly at: number

  constructor(at: number, problem: string) {
    super(problem)
    this.at = at
  }
}

interface PatternFlags {
  /** `i`: letters match in upper and lower case. */
  readonly folds: boolean
  /** `s`: `.` also matches a newline. */
  readonly dotAll: boolean
}

/** RE2's limit for the numbers in `{n,m}`. */
const REPEAT_MAX = 1000

/** Parses a pattern in one pass. The first unsupported or wrong part is reported. */
class Parser {
  readonly #text: string
  readonly #limited: boolean
  readonly #names = new Set<string>()
  #at = 0
  #depth = 0
  #anchors = 0
  #flags: PatternFlags = { folds: false, dotAll: false }

  constructor(text: string, limited: boolean) {
    this.#text = text
    this.#limited = limited
  }

  parse(): Pattern {
    this.#refuseUnreadable()
    const pattern = this.#choice()
    if (this.#at < this.#text.length) this.#refuse('This ) closes no group.')
    return pattern
  }

  #refuseUnreadable(): void {
    let count = 0
    for (const character of this.#text) {
      if (!isCharacter(character.codePointAt(0) ?? 0))
        this.#refuse('The pattern contains a character that no text can have.')
      if (++count > budget.patternCharacters && this.#limited)
        this.#refuse(`The pattern is longer than ${budget.patternCharacters} characters.`)
      this.#at += character.length
    }
    this.#at = 0
  }

  #choice(): Pattern {
    const branches = [this.#sequence()]
    while (this.#take('|')) branches.push(this.#sequence())
    return branches.length < 2 ? (branches[0] ?? EMPTY) : { kind: 'choice', branches }
  }

  #sequence(): Pattern {
    const parts: Pattern[] = []
    while (this.#at < this.#text.length && !this.#sees('|') && !this.#sees(')')) {
      if (this.#take('\\Q')) parts.push(...this.#quoted())
      else if (!this.#takeFlags()) parts.push(this.#repeated())
    }
    return parts.length < 2 ? (parts[0] ?? EMPTY) : { kind: 'sequence', parts }
  }

  /** `\Q…\E`: every character stands for itself. A repetition after it applies to its last character. */
  #quoted(): Pattern[] {
    const end = this.#text.indexOf('\\E', this.#at)
    const inside = [...this.#text.slice(this.#at, end === -1 ? undefined : end)]
    this.#at = end === -1 ? this.#text.length : end + 2
    return inside.map((character, at) => {
      const one = this.#literal(character.codePointAt(0) ?? 0)
      return at === inside.length - 1 ? this.#again(one) : one
    })
  }

  /** `(?i)`: flags from here to the end of the group. */
  #takeFlags(): boolean {
    const found = this.#match(/\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?\)/y)
    if (found === undefined) return false
    this.#flags = this.#flagsOf(found)
    return true
  }

  #flagsOf([whole, on = '', off = '']: RegExpExecArray): PatternFlags {
    const start = this.#at - whole.length
    if (/m/.test(on)) this.#refuse('The flag m is not supported: ^ and $ mean the whole text.', start)
    if (on + off === '' || /[^imsU]/.test(on + off))
      this.#refuse('The flags are i, s and U, as in (?i).', start)
    const after = (flag: string, before: boolean) =>
      off.includes(flag) ? false : on.includes(flag) ? true : before
    return { folds: after('i', this.#flags.folds), dotAll: after('s', this.#flags.dotAll) }
  }

  #repeated(): Pattern {
    return this.#again(this.#atom())
  }

  #again(of: Pattern): Pattern {
    const start = this.#at
    const bounds = this.#quantifier()
    if (bounds === undefined) return of
    if (hasAnchor(of)) this.#refuse('^ and $ cannot be repeated, nor can a group that has one in it.', start)
    // Lazy or greedy makes no difference to whether there is a match.
    this.#take('?')
    const again = this.#at
    if (this.#quantifier() !== undefined)
      this.#refuse('What is repeated already cannot be repeated again, unless it is in a group.', again)
    const [min, max] = bounds
    return max === 0 || of === EMPTY ? EMPTY : { kind: 'repeat', of, min, max }
  }

  /** Reads a repetition, if there is one. A `{` that begins none stands for itself. */
  #quantifier(): readonly [min: number, max: number] | undefined {
    if (this.#take('*')) return [0, Number.POSITIVE_INFINITY]
    if (this.#take('+')) return [1, Number.POSITIVE_INFINITY]
    if (this.#take('?')) return [0, 1]
    const counts = this.#match(/\{(\d+)(,?)(\d*)\}/y)
    if (counts === undefined) return undefined
    const start = this.#at - counts[0].length
    const min = Number(counts[1])
    const max = counts[3] ? Number(counts[3]) : counts[2] ? Number.POSITIVE_INFINITY : min
    const most = this.#limited ? budget.patternRepeat : REPEAT_MAX
    if (min > most || (max > most && max < Number.POSITIVE_INFINITY))
      this.#refuse(`A repetition can count to ${most} at most.`, start)
    if (min > max) this.#refuse('The second number of a repetition must not be less than the first.', start)
    return [min, max]
  }

  #atom(): Pattern {
    const start = this.#at
    if (this.#take('(')) return this.#group(start)
    if (this.#take('[')) return this.#class(start)
    if (this.#take('^') || this.#take('\\A')) return this.#anchor('begin', start)
    if (this.#take('$') || this.#take('\\z')) return this.#anchor('end', start)
    if (this.#take('.')) return characters(this.#flags.dotAll ? ALL : ALL_IN_LINE)
    if (this.#take('\\')) {
      const meant = this.#escape(start)
      return typeof meant === 'number' ? this.#literal(meant) : characters(meant)
    }
    if (this.#quantifier() !== undefined) this.#refuse('There is nothing to repeat here.', start)
    return this.#literal(this.#next())
  }

  #anchor(kind: 'begin' | 'end', start: number): Pattern {
    // Each anchor may multiply the states of an engine.
    if (++this.#anchors > budget.patternAnchors && this.#limited)
      this.#refuse(`A pattern has at most ${budget.patternAnchors} of ^ and $.`, start)
    return { kind }
  }

  #group(start: number): Pattern {
    const before = this.#flags
    if (this.#sees('?')) this.#openGroup(start)
    if (++this.#depth > budget.patternDepth && this.#limited)
      this.#refuse(`Groups are nested more than ${budget.patternDepth} levels deep.`, start)
    const inner = this.#choice()
    if (!this.#take(')')) this.#refuse('This group is not closed.', start)
    this.#depth--
    this.#flags = before
    return inner
  }

  /** `(?:`, `(?i:` or a name: `(?P<n>`, `(?<n>`. The name of a group has no effect. */
  #openGroup(start: number): void {
    if (this.#take('?:')) return
    const name = this.#match(/\?P?<(\w+)>/y)?.[1]
    if (name !== undefined) {
      if (this.#names.has(name)) this.#refuse(`There is a group called ${name} already.`, start)
      this.#names.add(name)
      return
    }
    const flags = this.#match(/\?([a-zA-Z]*)(?:-([a-zA-Z]+))?:/y)
    if (flags === undefined) this.#refuse(groupProblem(this.#text.slice(this.#at)), start)
    this.#flags = this.#flagsOf(flags)
  }

  #class(start: number): Pattern {
    const negated = this.#take('^')
    const parts: Characters[] = []
    for (let first = true; first || !this.#sees(']'); first = false) {
      if (this.#at >= this.#text.length) this.#refuse('This class is not closed.', start)
      parts.push(this.#member())
    }
    this.#take(']')
    const members = union(parts.flat())
    const meant = negated ? complement(members) : members
    if (meant.length === 0) this.#refuse('This class matches no character.', start)
    return characters(meant)
  }

  #member(): Characters {
    const start = this.#at
    const named = this.#match(/\[:(\^?)([a-z]+):\]/y)
    if (named !== undefined) return this.#named(posix.get(named[2] ?? ''), named[1] === '^', start)
    const from = this.#classCharacter()
    if (typeof from !== 'number') return from
    const dashed = this.#sees('-') && this.#text[this.#at + 1] !== ']'
    if (!dashed) return this.#folded([[from, from]])
    this.#take('-')
    if (this.#at >= this.#text.length) return this.#folded([[from, from]])
    const to = this.#classCharacter()
    if (typeof to !== 'number' || to < from)
      this.#refuse('A range goes from one character to a later one.', start)
    return this.#folded([[from, to]])
  }

  #classCharacter(): number | Characters {
    const start = this.#at
    return this.#take('\\') ? this.#escape(start) : this.#next()
  }

  /** A named class, or its complement if it is negated. */
  #named(set: Characters | undefined, negated: boolean, start: number): Characters {
    if (set === undefined) this.#refuse('There is no class of this name.', start)
    const meant = this.#folded(set)
    return negated ? complement(meant) : meant
  }

  /** What an escape stands for: a character, or a set of them. */
  #escape(start: number): number | Characters {
    const hexadecimal = this.#match(/x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\})/y)
    if (hexadecimal !== undefined) {
      const code = Number.parseInt(hexadecimal[1] ?? hexadecimal[2] ?? '', 16)
      if (!isCharacter(code)) this.#refuse('No text can have this character.', start)
      return code
    }
    const property = this.#match(/([pP])(?:([A-Z])|\{(\^?)(\w+)\})/y)
    if (property !== undefined) {
      const [, letter, short, not, long] = property
      return this.#named(unicode(short ?? long ?? ''), (letter === 'P') !== (not === '^'), start)
    }
    if (this.#at >= this.#text.length) this.#refuse('There is nothing after this backslash.', start)
    const code = this.#next()
    const letter = String.fromCodePoint(code)
    const set = perl.get(letter.toLowerCase())
    if (set !== undefined) return this.#named(set, letter !== letter.toLowerCase(), start)
    const meant = escapes.get(letter)
    if (meant !== undefined) return meant
    if (!/[!-/:-@[-`{-~ ]/.test(letter)) this.#refuse(escapeProblem(letter), start)
    return code
  }

  #literal(code: number): Pattern {
    return characters(this.#folded([[code, code]]))
  }

  #folded(meant: Characters): Characters {
    return this.#flags.folds ? folded(meant) : meant
  }

  #next(): number {
    const code = this.#text.codePointAt(this.#at) ?? 0
    this.#at += code > 0xffff ? 2 : 1
    return code
  }

  #sees(text: string): boolean {
    return this.#text.startsWith(text, this.#at)
  }

  #take(text: string): boolean {
    const seen = this.#sees(text)
    if (seen) this.#at += text.length
    return seen
  }

  #match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at
    const found = expression.exec(this.#text) ?? undefined
    this.#at += found?.[0].length ?? 0
    return found
  }

  #refuse(problem: string, at = this.#at): never {
    throw new Refused(at, problem)
  }
}

const escapes: ReadonlyMap<string, number> = new Map([
  ['a', 0x07],
  ['t', 0x09],
  ['n', 0x0a],
  ['v', 0x0b],
  ['f', 0x0c],
  ['r', 0x0d],
])

function escapeProblem(letter: string): string {
  if (/[0-9]/.test(letter)) return 'Back-references and octal numbers are not supported.'
  if (letter === 'x') return 'A character by its number is written as \\x41 or \\x{1F600}.'
  if (/[bB]/.test(letter)) return `\\${letter} is not supported: word boundaries depend on the language.`
  if (/[pP]/.test(letter)) return 'A Unicode class is written as \\p{Greek} or \\pL.'
  if (letter === 'Z') return '\\Z is not supported: write $ or \\z for the end.'
  return `\\${letter} is not supported.`
}

function groupProblem(rest: string): string {
  if (/^\?<?[=!]/.test(rest)) return 'Look-ahead and look-behind are not supported.'
  if (/^\?P?</.test(rest)) return 'The name of a group consists of letters, digits and _, as in (?P<name>…).'
  return 'A group begins with (, (?:, (?P<name>, (?<name> or flags, as in (?i: and (?i).'
}
