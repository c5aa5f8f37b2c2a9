import { budget } from '../../budget.ts'
import { didYouMean } from '../closest.ts'
import { calculate, negative } from './arithmetic.ts'
import { call } from './calls.ts'
import { areAlike, compare, expression, isIn } from './compare.ts'
import { refuseCostly } from './cost.ts'
import { crossedTo, type Expression, type Place, type Root, scaleOf, unknown, yes } from './expression.ts'
import { allTrue, not, or, truth } from './fold.ts'
import { type CelCall, type Found, foundExpression, type Reader } from './found.ts'
import { type GivenLiteral, literalComparison } from './literal.ts'
import { foundComposite, foundMember, insideOf, likeMember } from './members.ts'
import { NamedRuleUses } from './named-rule.ts'
import { asCommon, commonKind } from './numbers.ts'
import { columnAt, Mistake, type Node, parseCel } from './parse.ts'
import type { Computed, Members, NamedRule, Scope } from './scope.ts'

/**
 * Reads a condition, or throws a Mistake that says where it is wrong and what would be right. `most`: how many items of
 * lists it may go through for one Entity. `first`: the number of its first literal.
 */
export function parseCondition(text: string, scope: Scope, most: number, first = 0): Expression {
  const expression = new OneReader(text, scope, new NamedRuleUses(first)).condition(parseCel(text))
  refuseCostly(expression, most)
  return expression
}

/** A reader for callers that want the value of an expression instead of a condition. */
export function readerOf(text: string, scope: Scope): Reader {
  return new OneReader(text, scope)
}

/** The value that a dot path names, as in a sort or a short equality; undefined if there is none. */
export function valueNamed(path: string, scope: Scope): Extract<Found, { is: 'expression' }> | undefined {
  if (!/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/.test(path)) return undefined
  const reader = new OneReader(path, { ...scope, me: null, anybody: [] })
  try {
    let found: Found | undefined = foundComposite({ of: 'self' }, scope.self)
    for (const name of path.split('.'))
      found = found === undefined ? undefined : reader.member(found, name, undefined)
    return found?.is === 'expression' ? found : undefined
  } catch (error) {
    if (error instanceof Mistake) return undefined
    throw error
  }
}

/** The expression of a computed field over these names. If names are missing: undefined, or a Mistake with `tells`. */
export function computedNamed(name: string, members: Members, tells = false): Expression | undefined {
  const reader = new OneReader(name, { self: members, me: null, anybody: [] })
  try {
    const found = reader.member(foundComposite({ of: 'self' }, members), name, undefined)
    return found?.is === 'expression' ? found.of : undefined
  } catch (error) {
    if (error instanceof Mistake && !tells) return undefined
    throw error
  }
}

/** `size(…)` or `fold(…)` of a dot path, as in a sort; undefined if there is no such value. */
export function callAt(
  text: string,
  scope: Scope,
): Extract<Expression, { op: 'size' | 'value' }> | undefined {
  if (!/^(size|fold)\([A-Za-z_]\w*(\.[A-Za-z_]\w*)*\)$/.test(text)) return undefined
  try {
    const found = new OneReader(text, { ...scope, me: null, anybody: [] }).find(parseCel(text))
    return found.is === 'expression' && (found.of.op === 'size' || found.of.op === 'value')
      ? found.of
      : undefined
  } catch (error) {
    if (error instanceof Mistake) return undefined
    throw error
  }
}

/** Reads one expression, or a named rule in it. `of`: what its names belong to. */
class OneReader implements Reader {
  readonly #text: string
  readonly #scope: Scope
  readonly #of: Found
  readonly #uses: NamedRuleUses
  readonly #variables = new Map<string, Found>()

  constructor(
    text: string,
    scope: Scope,
    uses: NamedRuleUses = new NamedRuleUses(),
    of: Found = foundComposite({ of: 'self' }, scope.self),
  ) {
    this.#text = text
    this.#scope = scope
    this.#of = of
    this.#uses = uses
  }

  fail(node: Node, sentence: string): never {
    throw new Mistake(`${sentence} at column ${columnAt(this.#text, node.pos)}`)
  }

  /** Reads an expression that must be true or false. */
  condition(node: Node): Expression {
    const found = this.find(node)
    if (found.is === 'expression' && found.of.kind === 'boolean') return found.of
    if (found.is === 'literal' && typeof found.given === 'boolean') return truth(found.given)
    if (found.is === 'nothing') return unknown
    return this.fail(node, 'needs something that is true or false')
  }

  find(node: Node): Found {
    switch (node.op) {
      case 'value':
        return this.#literal(node, node.args)
      case 'id':
        return this.top(node.args) ?? this.#unknownField(node, node.args, this.#here)
      case '.':
        return this.#path(node, node.args[0], node.args[1])
      case '&&':
        return foundExpression(allTrue(node.args.map((arg) => this.condition(arg))))
      case '||':
        return foundExpression(or(node.args.map((arg) => this.condition(arg))))
      case '!_':
        return foundExpression(not(this.condition(node.args)))
      case 'call':
        return this.call({ node, name: node.args[0], receiver: undefined, args: node.args[1] })
      case 'rcall':
        return this.call({ node, name: node.args[0], receiver: node.args[1], args: node.args[2] })
      case 'list':
        return this.fail(node, 'has a list, which only "in" can use')
      default:
        return this.#operation(node)
    }
  }

  #operation(node: Node): Found {
    switch (node.op) {
      case '-_':
        return negative(this, node, node.args)
      case '==':
      case '!=':
      case '<':
      case '<=':
      case '>':
      case '>=':
        return foundExpression(compare(this, node, node.op, node.args))
      case 'in':
        return foundExpression(isIn(this, node, node.args))
      case '?:':
        return this.#choose(node, node.args)
      case '+':
      case '-':
      case '*':
      case '/':
      case '%':
        return calculate(this, node, node.op, node.args)
      default:
        return this.fail(node, `uses "${node.op}", which is not known here`)
    }
  }

  call(one: CelCall): Found {
    return call(this, one)
  }

  /** Runs with a variable that stands for one item of a list. */
  within<Result>(name: string, found: Found, run: () => Result): Result {
    this.#variables.set(name, found)
    try {
      return run()
    } finally {
      this.#variables.delete(name)
    }
  }

  get depth(): number {
    return this.#variables.size
  }

  isTaken(name: string): boolean {
    return this.#variables.has(name) || this.top(name) !== undefined
  }

  /** Adds a literal to the expression. */
  literal(kind: Expression['kind'], scale: number, value: string | number | boolean): Expression {
    if (this.#uses.computed > 0) return { op: 'literal', kind, scale, value, at: 0, fixed: true }
    return { op: 'literal', kind, scale, value, at: this.#uses.literals++ }
  }

  /** A literal as a value of the target's kind. */
  coerce(node: Node, target: Expression, given: GivenLiteral, choices?: readonly string[]): Expression {
    const found = literalComparison(target, '==', given, choices)
    if (typeof found === 'string') return this.fail(node, found)
    return this.literal(found.kind, found.scale, found.value)
  }

  top(name: string): Found | undefined {
    const variable = this.#variables.get(name)
    if (variable !== undefined) return variable
    const { next, me } = this.#scope
    if (name === 'me') return this.#me(me)
    if (name === 'now') return foundExpression({ op: 'now', kind: 'datetime', shift: 0, day: undefined })
    if (name === 'next' && next !== undefined) return foundComposite({ of: 'next' }, next)
    return this.member(this.#of, name, undefined)
  }

  #me(me: Scope['me']): Found {
    if (me === null) return { is: 'nothing', candidates: this.#scope.anybody }
    return foundComposite({ of: 'me', entity: me.entity }, me.members)
  }

  get #here(): Pick<Members, 'names' | 'hint'> {
    const { self, next } = this.#scope
    const more = ['me', 'now', ...(next === undefined ? [] : ['next'])]
    return { ...self, names: [...this.#variables.keys(), ...self.names, ...more] }
  }

  #path(node: Node, of: Node, name: string): Found {
    const base = this.find(of)
    if (of.op === 'id' && of.args === 'me' && name === 'type' && !this.#variables.has('me'))
      return this.#scope.me === null
        ? { is: 'nothing', candidates: [] }
        : { is: 'literal', given: this.#scope.me.userType, choices: this.#scope.userTypes }
    const inside = this.member(base, name, node)
    if (inside !== undefined) return inside
    if (base.is === 'composite') return this.#unknownField(node, name, base.composite.members, of)
    if (base.is === 'list') return this.fail(node, `names "${name}" of a list; use exists(x, x.${name} …)`)
    if (base.is !== 'nothing') return this.fail(node, `has nothing called "${name}" in it`)
    const names = base.candidates.flatMap((one) => one.names)
    const hint = () => base.candidates.map((one) => one.hint?.(name)).find((one) => one !== undefined)
    return this.#unknownField(node, name, { names, hint }, of)
  }

  #unknownField(node: Node, name: string, known: Pick<Members, 'names' | 'hint'>, of?: Node): never {
    const prefix = of === undefined ? '' : `${this.#text.slice(of.start, of.end)}.`
    const where = `at column ${columnAt(this.#text, node.pos)}`
    const guess = (known.hint?.(name) ?? didYouMean(name, known.names)).replace('"', `"${prefix}`)
    throw new Mistake(`unknown field "${prefix}${name}" ${where}${guess}`)
  }

  /** What a name means inside of something; undefined if it means nothing. */
  member(base: Found, name: string, node: Node | undefined): Found | undefined {
    if (base.is === 'nothing') {
      const members = base.candidates.map((one) => one.get(name)).filter((one) => one !== undefined)
      if (base.candidates.some((one) => one.rule?.(name) !== undefined)) return foundExpression(unknown)
      if (base.candidates.some((one) => one.computed?.(name) !== undefined))
        return { is: 'nothing', candidates: [] }
      if (members.length === 0) return undefined
      return {
        is: 'nothing',
        candidates: members.flatMap(insideOf),
        like: members.map(likeMember).find(Boolean),
      }
    }
    if (base.is !== 'composite') return undefined
    const { root, hops, members, there, reference } = base.composite
    const member = members.get(name)
    const rule = member === undefined ? members.rule?.(name) : undefined
    if (rule !== undefined) return foundExpression(this.#namedRule(rule, base))
    const computed = member === undefined ? members.computed?.(name) : undefined
    if (computed !== undefined) return this.#computed(computed, base)
    if (member === undefined) return this.#ofOthers(root, hops, name)
    if (reference !== undefined && name === 'id') {
      const place = { root, hops, column: reference.column }
      return foundExpression({ op: 'value', kind: 'reference', scale: 0, entity: reference.to, place })
    }
    const behind = reference === undefined ? hops : [...hops, reference]
    const further = member.is === 'list' && 'from' in member.item ? 1 : 0
    if (crossedTo({ root, hops: behind }) + further > budget.expressionHops) this.#failFar(node)
    if (reference === undefined) return foundMember(root, hops, member, there)
    return foundMember(root, behind, member, { root, hops: behind, column: 'id' })
  }

  /** `next` means the Entity of the whole rule. A named rule of another Entity does not know it. */
  #namedRule(rule: NamedRule, of: Found): Expression {
    const { next, ...rest } = this.#scope
    const scope = of === this.#of && next !== undefined ? { ...rest, next } : rest
    return this.#uses.use(rule, () =>
      new OneReader(rule.text, scope, this.#uses, of).condition(parseCel(rule.text)),
    )
  }

  /** A computed field is the same for everybody, so it does not know `me`. */
  #computed(computed: Computed, of: Found): Found {
    const scope = { self: this.#scope.self, me: null, anybody: [] }
    this.#uses.computed++
    try {
      return this.#uses.use(computed, () => {
        const reader = new OneReader(computed.text, scope, this.#uses, of)
        const node = parseCel(computed.text)
        const found = reader.find(node)
        return found.is === 'expression' ? found : reader.fail(node, 'must give a single value')
      })
    } finally {
      this.#uses.computed--
    }
  }

  #failFar(node: Node | undefined): never {
    const sentence = `follows more than ${budget.expressionHops} references`
    if (node === undefined) throw new Mistake(sentence)
    return this.fail(node, sentence)
  }

  /** A name of `me` that only other login types have. */
  #ofOthers(root: Root, hops: Place['hops'], name: string): Found | undefined {
    if (root.of !== 'me' || hops.length > 0) return undefined
    return this.member({ is: 'nothing', candidates: this.#scope.anybody }, name, undefined)
  }

  #literal(node: Node, value: unknown): Found {
    if (value === null) return { is: 'null' }
    if (
      typeof value === 'string' ||
      typeof value === 'number' ||
      typeof value === 'bigint' ||
      typeof value === 'boolean'
    )
      return { is: 'literal', given: value }
    return this.fail(node, 'has a literal of a type that is not known here')
  }

  #choose(node: Node, [test, left, right]: readonly [Node, Node, Node]): Found {
    const condition = this.condition(test)
    const sides = this.#alike(node, left, right)
    if ('is' in sides) return sides
    const [then, otherwise] = sides
    if (then === unknown && otherwise === unknown) return foundExpression(unknown)
    const like = then === unknown ? otherwise : then
    if (condition.op === 'constant') {
      const chosen = condition === yes ? then : condition === unknown ? unknown : otherwise
      return chosen === unknown ? { is: 'nothing', candidates: [], like } : foundExpression(chosen)
    }
    const { kind } = commonKind(sides.filter((side) => side !== unknown)) ?? like
    const scale = Math.max(scaleOf(then), scaleOf(otherwise))
    return foundExpression({ op: 'choose', kind, scale, condition, then, otherwise })
  }

  /** The two branches as values of one kind; `nothing` if both are missing. */
  #alike(node: Node, left: Node, right: Node): [Expression, Expression] | Found {
    const [a, b] = [this.find(left), this.find(right)]
    if (a.is === 'nothing' || b.is === 'nothing') {
      if (a.is !== 'nothing') return [this.#alone(left, a, b), unknown]
      return b.is === 'nothing' ? { ...a, like: a.like ?? b.like } : [unknown, this.#alone(right, b, a)]
    }
    if (a.is === 'expression' && b.is === 'expression') {
      const [then = a.of, otherwise = b.of] = asCommon([a.of, b.of]) ?? []
      if (areAlike(then, otherwise)) return [then, otherwise]
    }
    if (a.is === 'expression' && b.is === 'literal') return [a.of, this.coerce(right, a.of, b.given)]
    if (a.is === 'literal' && b.is === 'expression') return [this.coerce(left, b.of, a.given), b.of]
    if (a.is === 'literal' && b.is === 'literal' && isAs(a.given, b.given)) {
      const like = likeOf(typeof b.given === 'number' ? b.given : a.given)
      if (like !== undefined) return [this.coerce(left, like, a.given), this.coerce(right, like, b.given)]
    }
    if (a.is === 'literal' && typeof a.given === 'boolean')
      return [this.condition(left), this.condition(right)]
    return this.fail(node, 'has two different types after "?"')
  }

  /** One branch as a value, if the other one is missing. */
  #alone(node: Node, found: Found, beside: Found): Expression {
    if (found.is !== 'literal') return expression(this, node, found)
    const like = (beside.is === 'nothing' ? beside.like : undefined) ?? likeOf(found.given)
    return like === undefined ? this.condition(node) : this.coerce(node, like, found.given)
  }
}

/** Whether two literals are of one type. All numbers are one type. */
function isAs(a: GivenLiteral, b: GivenLiteral): boolean {
  const typeOf = (given: GivenLiteral) => (typeof given === 'bigint' ? 'number' : typeof given)
  return typeOf(a) === typeOf(b)
}

/** A stand-in expression of the kind that a literal has by itself. */
function likeOf(given: GivenLiteral): Expression | undefined {
  const kind = { string: 'text', bigint: 'integer', number: 'number' } as const
  const own = typeof given === 'boolean' ? undefined : kind[typeof given as keyof typeof kind]
  if (own === undefined) return undefined
  return { op: 'value', kind: own, scale: 0, place: { root: { of: 'self' }, hops: [], column: '' } }
}
