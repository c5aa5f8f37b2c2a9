import { Mistake, parseCel } from './cel/parse.ts'
import type { NamedRule } from './cel/scope.ts'
import { FIELD_NAME } from './fields/field.ts'
import { type EntityType, reversesOf } from './model.ts'
import type { Problems } from './problems.ts'
import { isRecord } from './record.ts'
import { ownValues } from './scope.ts'

export type NamedRules = ReadonlyMap<string, NamedRule>

/** Names that have another meaning in rules. */
const TAKEN = ['me', 'now', 'next', 'true', 'false', 'null', 'in', ...Object.keys(ownValues)]

/** The named rules of an app or a type. `path`: their place in the declaration. */
export function resolveNamedRules(declared: unknown, path: string, problems: Problems): NamedRules {
  const found = new Map<string, NamedRule>()
  if (declared === undefined) return found
  if (!isRecord(declared)) {
    problems.push([
      path,
      "must be an object with a condition for each name, such as { own: 'owner.id == me.id' }",
    ])
    return found
  }
  for (const [name, text] of Object.entries(declared)) {
    const place = `${path}.${name}`
    const wrong = faultOf(name, text)
    if (wrong !== undefined) problems.push([place, wrong])
    else found.set(name, Object.freeze({ name, text: String(text), place }))
  }
  return found
}

function faultOf(name: string, text: unknown): string | undefined {
  if (!FIELD_NAME.test(name)) return 'must be named with letters, digits and _, starting with a letter'
  if (TAKEN.includes(name)) return 'is a name that every rule already knows; choose another'
  if (typeof text !== 'string') return "must be a condition in CEL, such as 'owner.id == me.id'"
  try {
    parseCel(text)
  } catch (error) {
    if (!(error instanceof Mistake)) throw error
    return `${error.message}, in ${JSON.stringify(text)}`
  }
  return undefined
}

/** Refuses rules named like a field or like referrers: the name would be ambiguous. */
export function refuseShadows(entities: ReadonlyMap<string, EntityType>, problems: Problems): void {
  const seen = new Set<NamedRule>()
  for (const type of entities.values()) {
    const names = [
      ...type.fields.map(({ name }) => name),
      ...reversesOf({ entities }, type.name).map(({ name }) => name),
    ]
    for (const name of names) {
      const rule = type.rules.get(name)
      if (rule === undefined || seen.has(rule)) continue
      seen.add(rule)
      problems.push([rule.place, `is "${name}", which is a field of ${type.name} already; choose another`])
    }
  }
}

/** The named rules that a text mentions, directly or through other named rules. */
export function namedRulesIn(text: string, { rules }: EntityType): NamedRule[] {
  if (rules.size === 0) return []
  const found = new Set<NamedRule>()
  const visit = (one: string): void => {
    for (const word of one.replace(QUOTED, '').match(WORD) ?? []) {
      const rule = rules.get(word)
      if (rule === undefined || found.has(rule)) continue
      found.add(rule)
      visit(rule.text)
    }
  }
  visit(text)
  return [...found]
}

const QUOTED = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g
/** A name of the Entity itself, or of `next`. */
const WORD = /(?<=^|[^\w.]|(?<![\w.])next\.)[A-Za-z]\w*/g
