import { budget } from '../../budget.ts'
import {
  ALL_IN_LINE,
  type Characters,
  complement,
  DIGITS,
  foldAscii,
  isCharacter,
  SPACE,
  union,
  WORD,
} from './characters.ts'
import { characters, EMPTY, hasAnchor, type Pattern, write } from './pattern-tree.ts'
import { weigh } from './pattern-weight.ts'

/**
 * A regular expression in a form that means the same to every database, or why there is none and where in the pattern.
 * The position counts as JavaScript does. A pattern is looked for anywhere in a text, unless it is anchored.
 *
 * It is RE2's syntax, of which this is known, and nothing else:
 *
 * - a character that stands for itself: all but `\ . [ ( ) { * + ? | ^ $`, which take a backslash, as any other ASCII
 *   punctuation and the space may; `\t \n \v \f \r`, and by number `\x41` and `\x{1F600}`; no NUL
 * - `.`, any character but a newline
 * - `\d` is `[0-9]`, `\w` is `[0-9A-Za-z_]`, `\s` is `[\t\n\f\r ]`, in any language; `\D`, `\W`, `\S` all others
 * - classes `[a-z_]` and `[^a-z_]`, ranges by code point, with all of these escapes within; `]` comes first or as `\]`,
 *   `-` first, last or as `\-`; a negated one admits newlines; one that admits nothing is refused, and so is `[:alpha:]`
 * - `^` and `$`, the begin and the end of the text, never those of a line and never before a last newline; 8 at most,
 *   and not within what is repeated
 * - groups `( )` and `(?: )`, which are the same, 10 levels deep at most, and alternatives `a|b`; both may be empty
 * - `*`, `+`, `?`, `{m}`, `{m,}`, `{m,n}` up to 100, and each of them with a `?` behind it, which makes no difference
 * - `(?i)` at the very begin: ASCII letters match in both cases; others only as they are written
 *
 * Not known: look-around, references back, `\b`, `\B`, `\A`, `\z`, `\p{…}`, `\Q…\E`, named groups, other flags or flags
 * elsewhere, possessive or doubled repetitions, and a `{` that repeats nothing.
 *
 * A pattern has at most 200 characters, and at most 120 steps once its repetitions are written out (`[a-z]{20}` has 20,
 * `[a-z]{0,20}` has 40, `[a-z]+` has 2); repetitions of what may be left out, with many different characters about, are
 * bounded further (see `Weight`). So no pattern makes a database slow; texts of more than 10,000 characters are not
 * matched at all (see `Dialect.matches`).
 */
export function normalPattern(
  pattern: string,
): { readonly pattern: string } | { readonly problem: string; readonly at: number } {
  try {
    const meant = new Parser(pattern).parse()
    const { steps, ways } = weigh(meant)
    if (steps > budget.patternSteps || ways > budget.patternWays)
      return { problem: 'The pattern takes too long to match: it must repeat less, or less often.', at: 0 }
    return { pattern: write(meant) }
  } catch (error) {
    if (error instanceof Refused) return { problem: error.message, at: error.at }
    throw error
  }
}

class Refused extends Error {
  readonly at: number

  constructor(at: number, problem: string) {
    super(problem)
    this.at = at
  }
}

/** From the first character to the last, once; the first thing that is not known ends it. */
class Parser {
  readonly #text: string
  #at = 0
  #depth = 0
  #anchors = 0
  #folds = false

  constructor(text: string) {
    this.#text = text
  }

  parse(): Pattern {
    this.#refuseUnreadable()
    this.#folds = this.#take('(?i)')
    const pattern = this.#choice()
    if (this.#at < this.#text.length) this.#refuse('This ) closes no group.')
    return pattern
  }

  #refuseUnreadable(): void {
    let count = 0
    for (const character of this.#text) {
      if (!isCharacter(character.codePointAt(0) ?? 0))
        this.#refuse('The pattern has a character in it that no text can have.')
      if (++count > budget.patternCharacters)
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
    while (this.#at < this.#text.length && !this.#sees('|') && !this.#sees(')')) parts.push(this.#repeated())
    return parts.length < 2 ? (parts[0] ?? EMPTY) : { kind: 'sequence', parts }
  }

  #repeated(): Pattern {
    const of = this.#atom()
    const start = this.#at
    const bounds = this.#quantifier()
    if (bounds === undefined) return of
    if (hasAnchor(of)) this.#refuse('^ and $ cannot be repeated, nor can a group that has one in it.', start)
    // Which of several matches is taken makes no difference to whether there is one.
    this.#take('?')
    const again = this.#at
    if (this.#quantifier() !== undefined)
      this.#refuse('What is repeated already cannot be repeated again, unless it is in a group.', again)
    const [min, max] = bounds
    return max === 0 || of === EMPTY ? EMPTY : { kind: 'repeat', of, min, max }
  }

  #quantifier(): readonly [min: number, max: number] | undefined {
    if (this.#take('*')) return [0, Number.POSITIVE_INFINITY]
    if (this.#take('+')) return [1, Number.POSITIVE_INFINITY]
    if (this.#take('?')) return [0, 1]
    if (!this.#sees('{')) return undefined
    const counts = this.#match(/\{(\d+)(,?)(\d*)\}/y)
    if (counts === undefined) this.#refuse('A { that does not begin a repetition must be written as \\{.')
    const start = this.#at - counts[0].length
    const min = Number(counts[1])
    const max = counts[3] ? Number(counts[3]) : counts[2] ? Number.POSITIVE_INFINITY : min
    if (min > budget.patternRepeat || (max > budget.patternRepeat && max < Number.POSITIVE_INFINITY))
      this.#refuse(`A repetition counts to ${budget.patternRepeat} at most.`, start)
    if (min > max) this.#refuse('The second number of a repetition must not be less than the first.', start)
    return [min, max]
  }

  #atom(): Pattern {
    const start = this.#at
    if (this.#take('(')) return this.#group(start)
    if (this.#take('[')) return this.#class(start)
    if (this.#sees('^') || this.#sees('$')) return this.#anchor()
    if (this.#take('.')) return characters(ALL_IN_LINE)
    if (this.#take('\\')) return this.#of(this.#escape(start))
    if (this.#quantifier() !== undefined) this.#refuse('There is nothing to repeat here.', start)
    return this.#of(this.#next())
  }

  #anchor(): Pattern {
    // Each may multiply what an engine has to think of.
    if (++this.#anchors > budget.patternAnchors)
      this.#refuse(`A pattern has at most ${budget.patternAnchors} of ^ and $.`)
    return { kind: this.#next() === 0x5e ? 'begin' : 'end' }
  }

  #group(start: number): Pattern {
    if (this.#sees('?') && !this.#take('?:')) this.#refuse(groupProblem(this.#text.slice(this.#at)), start)
    if (++this.#depth > budget.patternDepth)
      this.#refuse(`Groups are nested more than ${budget.patternDepth} levels deep.`, start)
    const inner = this.#choice()
    if (!this.#take(')')) this.#refuse('This group is not closed.', start)
    this.#depth--
    return inner
  }

  #class(start: number): Pattern {
    const negated = this.#take('^')
    const parts: Characters[] = []
    for (let first = true; first || !this.#sees(']'); first = false) {
      if (this.#at >= this.#text.length) this.#refuse('This class is not closed.', start)
      parts.push(this.#member(first))
    }
    this.#take(']')
    const members = this.#folded(union(parts.flat()))
    const meant = negated ? complement(members) : members
    if (meant.length === 0) this.#refuse('This class admits no character.', start)
    return characters(meant)
  }

  #member(first: boolean): Characters {
    const start = this.#at
    const from = this.#classCharacter()
    const dashed = this.#sees('-') && this.#text[this.#at + 1] !== ']'
    if (start + 1 === this.#at && this.#text[start] === '-' && !first && !this.#sees(']'))
      this.#refuse('A - within a class must be its first or its last character, or be written as \\-.', start)
    if (!dashed || typeof from !== 'number') return typeof from === 'number' ? [[from, from]] : from
    this.#take('-')
    if (this.#at >= this.#text.length) return [[from, from]]
    const to = this.#classCharacter()
    if (typeof to !== 'number' || to < from)
      this.#refuse('A range goes from one character to a later one.', start)
    return [[from, to]]
  }

  #classCharacter(): number | Characters {
    const start = this.#at
    if (this.#take('\\')) return this.#escape(start)
    if (/\[[:.=]/y.test(this.#text.slice(this.#at)))
      this.#refuse('Named classes such as [:alpha:] are not known here; a [ is written as \\[.')
    return this.#next()
  }

  /** What stands behind a backslash: a character, or a set of them. */
  #escape(start: number): number | Characters {
    const hexadecimal = this.#match(/x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\})/y)
    if (hexadecimal !== undefined) {
      const code = Number.parseInt(hexadecimal[1] ?? hexadecimal[2] ?? '', 16)
      if (!isCharacter(code)) this.#refuse('No text can have this character.', start)
      return code
    }
    if (this.#at >= this.#text.length) this.#refuse('There is nothing behind this backslash.', start)
    const code = this.#next()
    const letter = String.fromCodePoint(code)
    const meant = escapes.get(letter)
    if (meant !== undefined) return meant
    if (!/[!-/:-@[-`{-~ ]/.test(letter)) this.#refuse(escapeProblem(letter), start)
    return code
  }

  #of(meant: number | Characters): Pattern {
    return characters(this.#folded(typeof meant === 'number' ? [[meant, meant]] : meant))
  }

  #folded(meant: Characters): Characters {
    return this.#folds ? foldAscii(meant) : meant
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

const escapes: ReadonlyMap<string, number | Characters> = new Map<string, number | Characters>([
  ['d', DIGITS],
  ['D', complement(DIGITS)],
  ['w', WORD],
  ['W', complement(WORD)],
  ['s', SPACE],
  ['S', complement(SPACE)],
  ['t', 0x09],
  ['n', 0x0a],
  ['v', 0x0b],
  ['f', 0x0c],
  ['r', 0x0d],
])

function escapeProblem(letter: string): string {
  if (/[0-9]/.test(letter)) return 'References back to a group are not known here.'
  if (letter === 'x') return 'A character by its number is written as \\x41 or \\x{1F600}.'
  if (/[bB]/.test(letter)) return `\\${letter} is not known here: the bounds of words depend on the language.`
  if (/[pP]/.test(letter)) return `\\${letter} is not known here: Unicode's classes change with its versions.`
  if (/[AzZ]/.test(letter)) return `\\${letter} is not known here: write ^ for the begin and $ for the end.`
  return `\\${letter} is not known here.`
}

function groupProblem(rest: string): string {
  if (/^\?<?[=!]/.test(rest)) return 'Looking ahead or behind is not known here.'
  if (/^\?(P?<|')/.test(rest)) return 'Groups have no names here: write ( ) or (?: ).'
  if (/^\?[a-zA-Z-]/.test(rest))
    return 'Flags are not known here, but for (?i) at the very begin of the pattern.'
  return 'A group begins with ( or (?: and with nothing else.'
}
