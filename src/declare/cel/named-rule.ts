import { budget } from '../../budget.ts'
import { Mistake } from './parse.ts'
import type { NamedRule } from './scope.ts'

/** A mistake in a named rule that another rule uses. */
export class NamedRuleMistake extends Mistake {
  readonly rule: NamedRule

  constructor(rule: NamedRule, sentence: string) {
    super(`${rule.what ?? 'rule'} "${rule.name}": ${sentence}`)
    this.rule = rule
  }
}

/** State that an expression shares with the named rules in it. */
export class NamedRuleUses {
  /** How many computed fields are being read: inside of one, literals are part of the declaration. */
  computed = 0
  /** The number of the next literal. */
  literals: number
  readonly #open: NamedRule[] = []
  #count = 0

  constructor(first = 0) {
    this.literals = first
  }

  /** Reads a named rule. A rule must not use itself, and the number of uses is limited. */
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
