import { budget } from '../budget.ts'
import { parseCondition } from './cel/check.ts'
import { asksReferrers, type Expression, operandsOf, type Place } from './cel/expression.ts'
import { settled } from './cel/fold.ts'
import { Mistake, parseCel, startingNames } from './cel/parse.ts'
import type { Scope } from './cel/scope.ts'
import { didYouMean } from './closest.ts'
import { aSentence } from './fields/field.ts'
import { unfoldedColumn } from './folded-column.ts'
import { type EntityCheck, type EntityType, type Field, type Model, walk } from './model.ts'
import type { Problems } from './problems.ts'
import { isRecord } from './record.ts'
import { allFields, membersOf } from './scope.ts'

/** A placeholder for a missing check. The mistake is reported already. */
const wrong: EntityCheck = { that: '', at: '', says: '' }

const OPTIONS = ['that', 'at', 'says']

/** The declared checks of one type. Their conditions are read once all types are known. */
export function resolveChecks(
  declared: unknown,
  fields: readonly Field[],
  path: string,
  problems: Problems,
): EntityCheck[] {
  if (declared === undefined) return []
  if (!Array.isArray(declared)) {
    problems.push([
      `${path}.check`,
      "must be a list, such as [{ that: 'ends_at > starts_at', at: 'ends_at', says: 'must be after starts_at' }]",
    ])
    return []
  }
  const paths = [...walk(fields)]
    .filter((field) => !('secret' in field && field.secret))
    .map((one) => one.path)
  return declared.map((one: unknown, at): EntityCheck => {
    const found = mistakesIn(one, paths)
    for (const [option, sentence] of found) problems.push([`${path}.check.${at}${option}`, sentence])
    return Object.freeze({ ...wrong, ...(one as Partial<EntityCheck>) })
  })
}

function mistakesIn(one: unknown, paths: readonly string[]): [option: string, sentence: string][] {
  if (!isRecord(one)) return [['', 'must be an object with that, at and says']]
  const { that, at, says } = one
  const found: [string, string][] = Object.keys(one)
    .filter((key) => !OPTIONS.includes(key))
    .map((key) => [`.${key}`, `is not an option${didYouMean(key, OPTIONS)}; the options are that, at, says`])
  if (typeof that !== 'string' || that === '')
    found.push(['.that', "must be a condition in CEL, such as 'ends_at > starts_at'"])
  if (typeof at !== 'string' || !paths.includes(at))
    found.push(['.at', `must be the dot path of the field whose error it is${didYouMean(String(at), paths)}`])
  const unsaid = aSentence(says)
  if (unsaid !== undefined) found.push(['.says', `${unsaid}, such as 'must be after starts_at'`])
  return found
}

/** The condition of a check, or a Mistake. It is the same for all callers and times: no `me`, no `now`. */
export function conditionOf(
  { that }: EntityCheck,
  type: EntityType,
  entities: Model['entities'],
): Expression {
  if (startingNames(parseCel(that)).has('me'))
    throw new Mistake('uses me, but a check must be the same for everybody; use a rule')
  // Only `created_at` besides the fields: a new Entity has no id yet. No referrers, not even those of what it refers
  // to: they change without the Entity, and two writes at the same time may not see each other.
  const self = membersOf(type, entities, allFields, { own: ['created_at'], referrers: false })
  const scope: Scope = { self, me: null, anybody: [] }
  const condition = settled(parseCondition(that, scope, budget.ruleItems))
  if (usesNow(condition))
    throw new Mistake(
      'uses now, but a check must not fail just because time passes; compare with created_at, which is the time of the create',
    )
  if (asksReferrers(condition))
    throw new Mistake('uses referrers, but writes at the same time do not see each other; use unique')
  return condition
}

export function usesNow(expression: Expression): boolean {
  return expression.op === 'now' || operandsOf(expression).some(usesNow)
}

/** Reports every check that has a mistake. */
export function checkChecks(entities: Model['entities'], problems: Problems): void {
  for (const type of entities.values())
    for (const [at, check] of type.checks.entries()) {
      if (typeof check.that !== 'string' || check.that === '') continue
      try {
        const condition = conditionOf(check, type, entities)
        if (condition.op === 'constant') throw new Mistake('does not depend on the Entity')
      } catch (error) {
        if (!(error instanceof Mistake)) throw error
        problems.push([
          `entities.${type.name}.check.${at}.that`,
          `${error.message}, in ${JSON.stringify(check.that)}`,
        ])
      }
    }
}

/** The columns of the Entity itself that an expression reads. */
export function columnsRead(expression: Expression, found: Set<string> = new Set()): Set<string> {
  const add = ({ root, hops, column }: Place) => {
    if (root.of === 'self') found.add(hops[0]?.column ?? unfoldedColumn(column))
  }
  if ('place' in expression) add(expression.place)
  if ('list' in expression) add(expression.list.place)
  if (expression.op === 'size' && !('op' in expression.of)) add(expression.of.place)
  for (const part of operandsOf(expression)) columnsRead(part, found)
  return found
}
