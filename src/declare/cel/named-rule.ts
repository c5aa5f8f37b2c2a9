import { budget } from '../../budget.ts'
import { Mistake } from './parse.ts'
import type { NamedRule } from './scope.ts'

/** What is wrong in a named rule, where another rule uses it. */
export class NamedRuleMistake extends Mistake {
  readonly rule: NamedRule

  constructor(rule: NamedRule, sentence: string) {
    super(`${rule.what ?? 'rule'} "${rule.name}": ${sentence}`)
    this.rule = rule
  }
}

/** What an expression and the named rules in it share. */
export class NamedRuleUses {
  /** How many computed fields are open: their literals are part of the declaration. */
  computed = 0
  /** The number of the next literal. */
  literals: number
  readonly #open: NamedRule[] = []
  #count = 0

  constructor(first = 0) {
    this.literals = first
  }

  /** Reads a named rule. A rule must not use itself, and use in use must not grow without limit. */
  use<Result>(rule: NamedRule, read: () => Result): Result {
    if (this.#open.includes(rule))
      throw new NamedRuleMistake(
        rule,
        `uses itself: ${[...this.#open, rule].map(({ name }) => name).join(' → ')}`,
      )
    if (++this.#count > budget.namedRuleUses)
      throw new Mistake(`uses named rules more than ${budget.namedRuleUses} times`)
    this.#open.push(rule)
    try {
      return read()
    } catch (error) {
      if (!(error instanceof Mistake) || error instanceof NamedRuleMistake) throw error
      throw new NamedRuleMistake(rule, error.message)
    } finally {
      this.#open.pop()
    }
  }
}
