import { budget } from '../budget.ts'
import { computedNamed } from './cel/check.ts'
import { refuseCostly } from './cel/cost.ts'
import { asksFolded, asksReferrers, type Expression, scaleOf, type ValueKind } from './cel/expression.ts'
import { Mistake, parseCel, startingNames } from './cel/parse.ts'
import type { Computed, Members } from './cel/scope.ts'
import { FIELD_NAME } from './fields/field.ts'
import { type EntityType, type Field, type Model, reversesOf } from './model.ts'
import type { Problems } from './problems.ts'
import { isRecord } from './record.ts'
import { allVisible, membersOf, ownValues } from './scope.ts'

/** The computed fields of one type. Their expressions are read once all types are known. */
export function resolveComputed(
  declared: unknown,
  fields: readonly Field[],
  path: string,
  problems: Problems,
): ReadonlyMap<string, Computed> {
  const found = new Map<string, Computed>()
  if (declared === undefined) return found
  if (!isRecord(declared)) {
    problems.push([`${path}.computed`, "must be an object, such as { total: 'quantity * price' }"])
    return found
  }
  const names = new Set(fields.map(({ name }) => name.toLowerCase()))
  for (const [name, text] of Object.entries(declared)) {
    const place = `${path}.computed.${name}`
    const wrong = faultIn(name, text, names)
    if (wrong !== undefined) problems.push([place, wrong])
    else found.set(name, Object.freeze({ name, text: String(text), place, what: 'computed' as const }))
    names.add(name.toLowerCase())
  }
  return found
}

function faultIn(name: string, text: unknown, names: ReadonlySet<string>): string | undefined {
  if (!FIELD_NAME.test(name)) return 'must be named with letters, digits and _, starting with a letter'
  if (Object.hasOwn(ownValues, name) || ['me', 'now', 'next', 'deletion', 'password'].includes(name))
    return 'is a name that is taken; choose another'
  if (names.has(name.toLowerCase())) return 'is the name of a field already; choose another'
  if (typeof text !== 'string') return "must be an expression in CEL, such as 'quantity * price'"
  try {
    if (startingNames(parseCel(text)).has('me'))
      return 'uses me, but a computed field must be the same for everybody'
  } catch (error) {
    if (!(error instanceof Mistake)) throw error
    return `${error.message}, in ${JSON.stringify(text)}`
  }
  return undefined
}

/** A computed field, as one viewer sees it. */
export interface ComputedValue {
  readonly name: string
  readonly kind: ValueKind
  readonly scale: number
  readonly expression: Expression
}

/** The computed fields that a viewer who knows these names can see. A field is hidden if one of its operands is. */
export function computedIn({ computed }: EntityType, members: Members): ComputedValue[] {
  return [...computed.keys()].flatMap((name): ComputedValue[] => {
    const expression = computedNamed(name, members)
    if (expression === undefined) return []
    return [{ name, kind: expression.kind, scale: scaleOf(expression), expression }]
  })
}

/** All computed fields, for a viewer who sees everything. */
export function allComputed(type: EntityType, { entities }: Pick<Model, 'entities'>): ComputedValue[] {
  return type.computed.size === 0 ? [] : computedIn(type, membersOf(type, entities, allVisible))
}

/** Reports every computed field that has a mistake. */
export function checkComputed(entities: Model['entities'], problems: Problems): void {
  for (const type of entities.values()) {
    const taken = new Set(reversesOf({ entities }, type.name).map(({ name }) => name))
    for (const { name, text, place } of type.computed.values())
      try {
        if (taken.has(name)) throw new Mistake('has the name of a reference to it; choose another')
        const expression = computedNamed(name, membersOf(type, entities, allVisible), true)
        if (expression === undefined || expression.op === 'constant' || expression.op === 'literal')
          throw new Mistake('must give a single value that depends on the Entity')
        if (asksReferrers(expression)) throw new Mistake('uses referrers, which a computed field cannot use')
        if (asksFolded(expression)) throw new Mistake('uses fold(), which a computed field cannot use')
        refuseCostly(expression, budget.ruleItems)
      } catch (error) {
        if (!(error instanceof Mistake)) throw error
        problems.push([place, `${error.message}, in ${JSON.stringify(text)}`])
      }
  }
}
