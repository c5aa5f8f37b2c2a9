import { describe, expect, test } from 'bun:test'
import fc, { type Arbitrary } from 'fast-check'
import { budget } from '../src/budget.ts'
import { parseCondition } from '../src/declare/cel/check.ts'
import type { Expression } from '../src/declare/cel/expression.ts'
import { Mistake } from '../src/declare/cel/parse.ts'
import { resolve } from '../src/declare/resolve.ts'
import { Conditions } from '../src/plan/condition/condition.ts'
import { rowOf } from '../src/plan/condition/row-source.ts'
import { expressionShape } from '../src/plan/condition/shape.ts'
import { viewersOf } from '../src/plan/viewer/viewer.ts'
import type { Dialect } from '../src/store/dialect.ts'
import { dialect as postgres } from '../src/store/postgres/dialect.ts'
import { compile } from '../src/store/sql.ts'
import { dialect as sqlite } from '../src/store/sqlite/dialect.ts'
import { back, condition, declaration, every, type Kind, nestings, type Operator } from './cel-operators.ts'
import { runs } from './runs.ts'

const model = resolve(declaration)
const rows = model.entities.get('rows')
const user = viewersOf(model).of({ kind: 'user', entity: 'users', id: 1, admin: false, session: '' } as never)
const dialects: Readonly<Record<string, Dialect>> = { sqlite, postgres }

/** Returns undefined if a limit refuses the filter. */
function read(filter: string): Expression | undefined {
  if (rows === undefined) throw new Error('no rows')
  try {
    return parseCondition(filter, user.scopeOf(rows), budget.filterItems)
  } catch (error) {
    if (error instanceof Mistake) return undefined
    throw error
  }
}

function sqlOf(expression: Expression, dialect: Dialect): string {
  if (rows === undefined) throw new Error('no rows')
  const made = new Conditions(model, dialect, user).of(expression, rowOf(rows))
  return compile(made, dialect.placeholder).text
}

const RUNS = runs(2000)

/** Levels may differ in length only by the digits of names. */
const DIGITS = 60

/** The nested expressions, which are the same for all dialects. */
const nested = new Map<Operator, Expression[]>()

describe.each(Object.entries(dialects))(
  'on %s, the SQL of nested operators grows by the same with each level',
  (_, dialect) => {
    test.each(every.map((one) => [one.op, one.wrap('□'), one] as const))('%s: %s', (op, _text, operator) => {
      const all = nested.get(operator) ?? nestings(operator, read)
      nested.set(operator, all)
      // Loops end at the second level, because of another limit.
      const deep = ['exists', 'all'].includes(op) ? 1 : 4
      expect(all.length).toBeGreaterThanOrEqual(deep)
      expect(expressionShape(all[0] as Expression)).toMatch(
        op === 'compare' ? / (==|!=|<|<=|>|>=) / : new RegExp(`\\b${op}\\(`),
      )
      const lengths = all.map((one) => sqlOf(one, dialect).length)
      const added = lengths.slice(1).map((length, at) => length - (lengths[at] ?? 0))
      const [first = 0, second = 0] = added
      for (const more of added) expect(more).toBeLessThanOrEqual(Math.max(first, second) + DIGITS)
    })
  },
)

/** Any operators, nested in each other. */
const mixed: Arbitrary<string> = fc
  .array(fc.nat(every.length - 1), { minLength: 1, maxLength: 30 })
  .map((picks) => {
    let [kind, inner]: [Kind, string] = ['boolean', 'sure']
    for (const pick of picks) {
      const operator = every[pick % every.length]
      if (operator === undefined) continue
      inner = operator.wrap(back({ of: operator.of, to: kind, wrap: String }, inner))
      kind = operator.to
    }
    return condition(kind, inner)
  })

describe.each(Object.entries(dialects))('on %s', (_, dialect) => {
  test('the SQL of any filter is at most so many times as long as the filter', () => {
    let seen = 0
    fc.assert(
      fc.property(mixed, (filter) => {
        const expression = read(filter)
        if (expression === undefined) return
        seen++
        // The SQL of a time zone contains all of its clock changes.
        const zones = filter.split('("Europe/').length + filter.split('("Asia/').length - 2
        const most = 500 + filter.length * 100 + zones * 8000
        expect(sqlOf(expression, dialect).length).toBeLessThan(most)
        expect(expressionShape(expression).length).toBeLessThan(500 + filter.length * 20)
      }),
      { numRuns: RUNS },
    )
    expect(seen).toBeGreaterThan(RUNS / 20)
  })
})
