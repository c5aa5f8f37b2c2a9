import { budget } from '../../budget.ts'
import { callAt, parseCondition, valueNamed } from '../../declare/cel/check.ts'
import { refuseCostly } from '../../declare/cel/cost.ts'
import {
  asksFolded,
  asksReferrers,
  type Expression,
  foldedValue,
  operandsOf,
  scaleOf,
} from '../../declare/cel/expression.ts'
import { hintAt } from '../../declare/cel/hint.ts'
import { Mistake } from '../../declare/cel/parse.ts'
import type { Scope } from '../../declare/cel/scope.ts'
import type { EntityType } from '../../declare/model.ts'
import { addError, type Errors } from '../../errors.ts'
import type { Dialect, Params } from '../../store/dialect.ts'
import { literalName, prefixEnd, prefixEndName } from './literals.ts'
import { parameterHint } from './parameter-hint.ts'
import { type Comparable, parseText, type Sortable, shapes } from './query.ts'
import { expressionShape } from './shape.ts'
import { ShapeCache } from './shape-cache.ts'

/** A parsed condition of a client: its expression, its shape, and its parameters. */
export interface Filter {
  readonly expression: Expression
  readonly shape: string
  readonly params: Params
}

/** What a viewer can use in conditions on a type. */
export interface Filters {
  /** Parses `?filter=`; undefined, with an error, if it is invalid or too expensive. */
  parse(text: string, errors: Errors, use?: FilterUse): Filter | undefined
  /** Parses an equality such as `?customer.id=5`. `besides`: parameters that are not values, for hints. */
  equality(equality: Equality, errors: Errors, besides?: readonly string[]): Filter | undefined
  /** The comparable value at a dot path; undefined if there is none. */
  comparable(path: string): Comparable | undefined
  /** The sortable value at a dot path, also in a function: `size(tasks)`, `fold(title)`. */
  sortable(path: string): Sortable | undefined
  /** A hint for a dot path that names no such value, as the end of a sentence. */
  hint(path: string): string
}

/** How a filter is used. */
interface FilterUse {
  /** Whether it is for a list of the past (`?at=`), where a filter costs more. */
  readonly past?: boolean
  /** The number of the filter, if a statement has several: each has its own parameters. */
  readonly at?: number
}

/** `path=text`. `at`: its number in the request, which names its parameter. */
interface Equality {
  readonly path: string
  readonly text: string
  readonly at: number
}

/** More literals than a filter, and more equalities than a request, can have: so each gets its own numbers. */
const LITERALS = 1000
/** Literals of equalities have numbers from here on, those of further filters from twice as many. */
const EQUALITIES = LITERALS

export function compileFilters(type: EntityType, scope: Scope, dialect: Dialect): Filters {
  // Clients send the same filters repeatedly.
  const known = new ShapeCache<Filter | Mistake>()
  const comparables = new ShapeCache<Comparable | null>()
  const comparable = (path: string) => comparables.of(path, () => comparableAt(path, scope)) ?? undefined
  const sortables = new ShapeCache<Sortable | null>()
  return {
    comparable,
    sortable: (path) =>
      sortables.of(path, () => sortableOf(comparable(path)) ?? callOf(path, scope)) ?? undefined,
    parse(text, errors, { past = false, at = 0 } = {}) {
      const first = at === 0 ? 0 : LITERALS * (at + 1)
      const found = known.of(`${first} ${text}`, () =>
        unlessMistaken(() => filterOf(parseCondition(text, scope, budget.filterItems, first), dialect)),
      )
      const allowed = past && !(found instanceof Mistake) ? unlessCostly(found) : found
      return allowed instanceof Mistake ? addError(errors, 'filter', allowed.message) : allowed
    },
    hint: (path) => hintAt(path, scope.self),
    equality({ path, text, at }, errors, besides = []) {
      const target = comparable(path)
      if (target === undefined)
        return addError(errors, path, () => {
          const hint = hintAt(path, scope.self) || parameterHint(path, besides)
          return `is not a parameter, nor a value of ${type.name}${hint}`
        })
      const value = parseText(text, target)
      if (value === undefined) return addError(errors, path, `must be ${shapes[target.kind]}`)
      if (target.choices !== undefined && !target.choices.includes(String(value)))
        return addError(errors, path, `must be one of ${target.choices.join(', ')}`)
      return filterOf(equals(target, value, at), dialect)
    },
  }
}

function comparableAt(path: string, scope: Scope): Comparable | null {
  const found = valueNamed(path, scope)
  if (found === undefined) return null
  const { of: value, choices } = found
  return { path, kind: value.kind, scale: scaleOf(value), choices, value }
}

/** A text may be sorted by its folded form. */
function sortableOf(one: Comparable | undefined): Sortable | undefined {
  const folded = one?.value.op === 'value' && one.value.folded?.sorts ? foldedValue(one.value) : undefined
  return one === undefined || folded === undefined ? one : { ...one, value: folded }
}

function callOf(path: string, scope: Scope): Sortable | null {
  const value = callAt(path, scope)
  return value === undefined ? null : { path, kind: value.kind, scale: 0, value }
}

function equals({ value: left, kind, scale }: Comparable, value: unknown, at: number): Expression {
  if (value === null)
    return left.op === 'value'
      ? { op: 'there', kind: 'boolean', place: left.place, not: true }
      : { op: 'made', kind: 'boolean', of: left, not: true }
  const right: Expression = { op: 'literal', kind, scale, value: value as string, at: EQUALITIES + at }
  return { op: 'compare', kind: 'boolean', how: '==', left, right }
}

export const NOT_OF_THE_PAST = 'uses referrers, which cannot be combined with at'

/** Refuses a filter over the past that costs too much, or uses referrers or `fold()`. */
function unlessCostly(filter: Filter): Filter | Mistake {
  if (asksReferrers(filter.expression)) return new Mistake(NOT_OF_THE_PAST)
  if (asksFolded(filter.expression))
    return new Mistake('uses fold(), which cannot be combined with at: folded texts of the past are not kept')
  return unlessMistaken(() => {
    refuseCostly(filter.expression, budget.filterItems, false)
    return filter
  })
}

function unlessMistaken<Made>(make: () => Made): Made | Mistake {
  try {
    return make()
  } catch (error) {
    if (error instanceof Mistake) return error
    throw error
  }
}

function filterOf(expression: Expression, dialect: Dialect): Filter {
  const params: Params = {}
  bindLiterals(expression, dialect, params)
  return { expression, shape: expressionShape(expression), params }
}

/** Adds the parameters of an expression. */
function bindLiterals(expression: Expression, dialect: Dialect, params: Params): void {
  if (expression.op === 'literal' && !expression.fixed) {
    const { kind, scale, value, at } = expression
    params[literalName(at)] = dialect.encode(kind, scale)(value)
  }
  if (expression.op === 'startsWith' && expression.part.op === 'literal' && !expression.part.fixed)
    params[prefixEndName(expression.part.at)] = prefixEnd(String(expression.part.value)) ?? null
  for (const part of operandsOf(expression)) bindLiterals(part, dialect, params)
}
