import fc, { type Arbitrary } from 'fast-check'
import {
  anyText,
  chosenLiterals,
  comparison,
  dateParts,
  durations,
  equality,
  extremes,
  finer,
  literalOf,
  localDates,
  operandsBeside,
  order,
  patterns,
  quoted,
  timeParts,
} from './cel-literals.ts'
import { itemPaths, KINDS, type Kind, kindOf, type Paths, self } from './cel-paths.ts'
import { TIMES } from './cel-values.ts'

/** Names of loop variables, one for each level. */
const NAMES = ['x', 'y']

/** Generates conditions of a certain depth, about the row and the items of enclosing loops. */
class Expressions {
  readonly #scopes: readonly Paths[]
  readonly #known = new Map<string, Arbitrary<string>>()

  constructor(scopes: readonly Paths[]) {
    this.#scopes = scopes
  }

  #once(key: string, make: () => Arbitrary<string>): Arbitrary<string> {
    const known = this.#known.get(key) ?? make()
    this.#known.set(key, known)
    return known
  }

  #paths(kind: Kind | 'boolean'): Arbitrary<string> {
    const some = this.#scopes.map(({ values }) => values[kind]).filter((paths) => paths.length > 0)
    // The innermost scope most often: conditions about items alone would otherwise be rare.
    return fc.oneof(
      ...some.map((paths, at) => ({ weight: at === 0 ? 3 : 1, arbitrary: fc.constantFrom(...paths) })),
    )
  }

  condition(depth: number): Arbitrary<string> {
    return this.#once(`condition ${depth}`, () => {
      const simple = [
        ...KINDS.map((kind) => this.#comparison(kind, depth)),
        this.#text(depth),
        this.#among(depth),
        this.#member(depth),
        this.#place(),
        this.#days(depth),
        this.#difference(depth),
        this.#numeric(depth),
        this.#folded(),
        this.#paths('boolean'),
        fc.constantFrom('true', 'false', 'me == null', 'me.type == "admin"', '"user" != me.type'),
      ]
      if (depth <= 1) return fc.oneof(...simple)
      const inner = this.condition(depth - 1).map((text) => `(${text})`)
      return fc.oneof(
        ...simple,
        { weight: 4, arbitrary: fc.tuple(inner, inner).map(([a, b]) => `${a} && ${b}`) },
        { weight: 4, arbitrary: fc.tuple(inner, inner).map(([a, b]) => `${a} || ${b}`) },
        { weight: 4, arbitrary: inner.map((a) => `!${a}`) },
        { weight: 2, arbitrary: fc.tuple(inner, inner, inner).map(([a, b, c]) => `${a} ? ${b} : ${c}`) },
        { weight: 2, arbitrary: fc.tuple(inner, equality, inner).map(([a, how, b]) => `${a} ${how} ${b}`) },
        { weight: 4, arbitrary: this.#each(depth) },
      )
    })
  }

  /** A value whose type is clear without the other side of a comparison. */
  #value(kind: Kind, depth: number): Arbitrary<string> {
    return this.#once(`${kind} ${depth}`, () => {
      const paths = { weight: 4, arbitrary: this.#paths(kind) }
      if (depth <= 0) return fc.oneof(paths)
      const inner = this.#value(kind, depth - 1)
      const chosen = fc
        .tuple(
          this.condition(Math.min(depth - 1, 2)),
          inner,
          fc.oneof(inner, chosenLiterals(kind)),
          fc.boolean(),
        )
        .map(([test, a, b, first]) => `((${test}) ? ${first ? a : b} : ${first ? b : a})`)
      return fc.oneof(paths, ...this.#made(kind, depth), chosen)
    })
  }

  /** Values computed from others by functions. */
  #made(kind: Kind, depth: number): Arbitrary<string>[] {
    if (kind === 'text') {
      const text = this.#value('text', depth - 1)
      const joined = fc.tuple(text, fc.oneof(text, anyText.map(quoted)), fc.boolean())
      return [
        text.map((one) => `${one}.lowerAscii()`),
        joined.map(([a, b, first]) => (first ? `(${a} + ${b})` : `(${b} + ${a})`)),
      ]
    }
    if (kind === 'number') return [this.#arithmetic('number', depth)]
    if (kind === 'decimal 2') return [this.#arithmetic('decimal', depth).map((one) => `round(${one}, 2)`)]
    if (kind === 'date') {
      const day = this.#value('date', depth - 1)
      const time = fc.oneof(this.#value('datetime', depth - 1), fc.constant('now'))
      return [
        fc.tuple(day, day, extremes).map(([a, b, op]) => `${op}(${a}, ${b})`),
        fc.tuple(time, localDates).map(([of, call]) => of + call),
      ]
    }
    if (kind === 'integer') {
      const lists = this.#scopes.flatMap(({ lists, relations }) =>
        [...lists, ...relations].map(({ path }) => path),
      )
      const sized = fc.oneof(fc.constantFrom(...lists), this.#value('text', depth - 1), anyText.map(quoted))
      return [
        sized.map((of) => `size(${of})`),
        sized.map((of) => `${of}.size()`),
        this.#arithmetic('integer', depth),
        fc.tuple(this.#value('datetime', depth - 1), timeParts).map(([of, call]) => of + call),
        fc.tuple(this.#value('date', depth - 1), dateParts).map(([of, call]) => of + call),
        this.#arithmetic('number', depth).map((one) => `round(${one})`),
      ]
    }
    if (kind !== 'datetime') return []
    const time = fc.oneof(this.#value('datetime', depth - 1), fc.constant('now'))
    return [
      fc.tuple(time, fc.constantFrom('+', '-'), durations).map(([of, op, by]) => `(${of} ${op} ${by})`),
      fc.tuple(durations, time).map(([by, of]) => `(${by} + ${of})`),
      fc.tuple(time, time, extremes).map(([a, b, op]) => `${op}(${a}, ${b})`),
    ]
  }

  /** A value computed from numbers: an integer, a number, or a decimal of any scale, to which integers may be added. */
  #arithmetic(kind: 'integer' | 'number' | 'decimal', depth: number): Arbitrary<string> {
    return this.#once(`arithmetic ${kind} ${depth}`, () => {
      const scales = (['decimal 0', 'decimal 2', 'decimal 9'] as const).map((one) => this.#paths(one))
      const own = kind === 'decimal' ? fc.oneof(...scales) : this.#paths(kind)
      const inner = depth <= 1 ? own : fc.oneof(own, this.#arithmetic(kind, depth - 1))
      const other = fc.oneof(
        { weight: 3, arbitrary: inner },
        { weight: 1, arbitrary: this.#paths('integer') },
        { weight: 2, arbitrary: operandsBeside[kind] },
      )
      const how = fc.constantFrom(...(kind === 'number' ? ['+', '-', '*', '/'] : ['+', '-', '*', '/', '%']))
      const rounded = fc.tuple(inner, fc.nat(9)).map(([of, places]) => `round(${of}, ${places})`)
      return fc.oneof(
        {
          weight: 6,
          arbitrary: fc
            .tuple(inner, how, other, fc.boolean())
            .map(([a, op, b, swap]) => (swap ? `(${b} ${op} ${a})` : `(${a} ${op} ${b})`)),
        },
        inner.map((of) => `(-${of})`),
        inner.map((of) => `abs(${of})`),
        fc.tuple(inner, other, extremes).map(([a, b, op]) => `${op}(${a}, ${b})`),
        ...(kind === 'decimal' ? [rounded, inner.map((of) => `round(${of})`)] : []),
      )
    })
  }

  /** Texts without case and accents. A literal beside them is folded, too. */
  #folded(): Arbitrary<string> {
    const paths = this.#scopes.flatMap(({ folds }) => folds)
    if (paths.length === 0) return fc.constant('true')
    const folded = fc.constantFrom(...paths).map((path) => `fold(${path})`)
    const other = fc.oneof(
      { weight: 2, arbitrary: anyText.map(quoted) },
      folded,
      anyText.map((text) => `fold(${quoted(text)})`),
    )
    const part = fc.constantFrom('startsWith', 'endsWith', 'contains')
    return fc.oneof(
      fc.tuple(folded, comparison, other).map((all) => all.join(' ')),
      fc.tuple(other, comparison, folded).map((all) => all.join(' ')),
      fc.tuple(folded, part, other).map(([of, name, inside]) => `${of}.${name}(${inside})`),
      fc
        .tuple(folded, fc.array(other, { minLength: 1, maxLength: 3 }))
        .map(([of, list]) => `${of} in [${list}]`),
      fc.tuple(folded, equality).map(([of, how]) => `${of} ${how} null`),
    )
  }

  /** A comparison of numbers of any types. */
  #numeric(depth: number): Arbitrary<string> {
    const deep = Math.min(depth, 3)
    const any = fc.oneof(
      this.#arithmetic('integer', deep),
      this.#arithmetic('decimal', deep),
      this.#arithmetic('number', deep),
      ...(['integer', 'number', 'decimal 0', 'decimal 2', 'decimal 9'] as const).map((one) =>
        this.#paths(one),
      ),
    )
    const whole = fc.oneof(this.#arithmetic('integer', 1), this.#arithmetic('decimal', 1))
    return fc.oneof(
      { weight: 3, arbitrary: fc.tuple(any, comparison, any).map((all) => all.join(' ')) },
      fc
        .tuple(whole, fc.array(whole, { minLength: 1, maxLength: 3 }))
        .map(([of, list]) => `${of} in [${list.join(', ')}]`),
    )
  }

  #comparison(kind: Kind, depth: number): Arbitrary<string> {
    const value = this.#value(kind, depth)
    const choices = this.#scopes.flatMap((scope) => [...scope.choices])
    const literal = literalOf[kind].filter((text) => kind !== 'decimal 0' || !text.includes('e'))
    const free = fc.tuple(value, comparison, fc.oneof(literal, value))
    const both = fc.tuple(free, fc.boolean()).map(([[a, how, b], swap]) => {
      // A choice is only compared with its own values.
      const values = choices.find(([path]) => path === a)?.[1]
      const right =
        values !== undefined && b.startsWith('"') ? quoted(values[b.length % values.length] ?? '') : b
      return swap ? `${right} ${how} ${a}` : `${a} ${how} ${right}`
    })
    if (!kind.startsWith('decimal')) return both
    return fc.oneof(
      both,
      fc.tuple(value, order, finer).map(([a, how, b]) => `${a} ${how} ${b}`),
    )
  }

  #text(depth: number): Arbitrary<string> {
    const value = this.#value('text', Math.min(depth, 2))
    const either = fc.oneof(value, anyText.map(quoted), fc.constant('me.type'))
    return fc.oneof(
      fc
        .tuple(
          fc.oneof({ weight: 4, arbitrary: value }, either),
          fc.constantFrom('startsWith', 'endsWith', 'contains'),
          either,
        )
        .map(([of, name, inside]) => `${of}.${name}(${inside})`),
      fc
        .tuple(either, fc.constantFrom(...patterns))
        .map(([of, pattern]) => `${of}.matches(${quoted(pattern)})`),
    )
  }

  #among(depth: number): Arbitrary<string> {
    const one = fc.constantFrom(...KINDS).chain((kind) => {
      const inside = fc.oneof({ weight: 2, arbitrary: literalOf[kind] }, this.#paths(kind))
      const lists = fc.array(inside, { minLength: 1, maxLength: 3 })
      const value = this.#value(kind, Math.min(depth, 2)).filter((path) => !path.endsWith('colour'))
      return fc.tuple(value, lists)
    })
    return fc.oneof(
      one.map(([of, list]) => `${of} in [${list.join(', ')}]`),
      fc
        .array(fc.constantFrom('"Red"', '"%"', 'word'), { minLength: 1 })
        .map((list) => `colour in [${list.join(', ')}]`),
      fc
        .tuple(
          anyText,
          fc.array(
            this.#paths('text').filter((path) => !path.endsWith('colour')),
            { minLength: 1, maxLength: 3 },
          ),
        )
        .map(([of, list]) => `${quoted(of)} in [${list.join(', ')}]`),
    )
  }

  #member(depth: number): Arbitrary<string> {
    const lists = this.#scopes.flatMap((scope) => scope.lists.filter(({ items }) => items.type !== 'object'))
    return fc.constantFrom(...lists).chain(({ path, items }) => {
      const kind = kindOf(items) ?? 'text'
      const value =
        kind === 'boolean'
          ? fc.oneof(this.#paths(kind), fc.constantFrom('true', 'false'))
          : fc.oneof(literalOf[kind], this.#value(kind, Math.min(depth, 2)))
      return value.map((of) => `${of} in ${path}`)
    })
  }

  #place(): Arbitrary<string> {
    const paths = fc.oneof(...this.#scopes.map(({ places }) => fc.constantFrom(...places)))
    return fc.oneof(
      fc.tuple(paths, equality).map(([path, how]) => `${path} ${how} null`),
      paths.map((path) => `null == ${path}`),
      paths.map((path) => `has(${path})`),
    )
  }

  /** A date and an instant. */
  #days(depth: number): Arbitrary<string> {
    const instant = fc
      .constantFrom(...TIMES, '2026-01-01T01:00:00+01:00')
      .map((time) => `timestamp("${time}")`)
    const moved = fc
      .tuple(fc.constant('now'), fc.constantFrom('+', '-'), durations)
      .map((all) => `(${all.join(' ')})`)
    return fc
      .tuple(
        this.#value('date', Math.min(depth, 2)),
        order,
        fc.oneof(instant, moved, fc.constant('now')),
        fc.boolean(),
      )
      .map(([date, how, time, swap]) => (swap ? `${time} ${how} ${date}` : `${date} ${how} ${time}`))
  }

  #difference(depth: number): Arbitrary<string> {
    const own = this.#value('datetime', Math.min(depth, 2))
    const time = fc.oneof(own, own, fc.constantFrom('now', ...TIMES.map((one) => `timestamp("${one}")`)))
    return fc
      .tuple(time, time, comparison, durations, fc.boolean())
      .map(([a, b, how, by, swap]) => (swap ? `${by} ${how} ${a} - ${b}` : `${a} - ${b} ${how} ${by}`))
  }

  #each(depth: number): Arbitrary<string> {
    const name = NAMES[this.#scopes.length - 1]
    // In a loop, only the lists of its items can be looped over.
    const within = this.#scopes.length === 1 ? this.#scopes : this.#scopes.slice(0, -1)
    const lists = within.flatMap((scope) => scope.lists)
    // Referrers can be reached from anywhere.
    const relations = this.#scopes.flatMap((scope) => scope.relations)
    if (name === undefined || lists.length + relations.length === 0) return this.#place()
    // One generator per list, because each list has its own paths; made when needed.
    const bodies = new Map<string, Arbitrary<string>>()
    const each = [lists, relations].filter((some) => some.length > 0).map((some) => fc.constantFrom(...some))
    return fc.tuple(fc.oneof(...each), fc.constantFrom('exists', 'all')).chain(([list, op]) => {
      const { path } = list
      const body =
        bodies.get(path) ?? new Expressions([itemPaths(list, name), ...this.#scopes]).condition(depth - 1)
      bodies.set(path, body)
      return body.map((text) => `${path}.${op}(${name}, ${text})`)
    })
  }
}

/** Valid conditions about the rows of `cel-rows.ts`. */
export const conditions: Arbitrary<string> = fc.oneof(
  ...[1, 2, 3, 4].map((depth) => new Expressions([self]).condition(depth)),
)
