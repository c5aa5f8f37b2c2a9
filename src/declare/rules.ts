import { budget } from '../budget.ts'
import { understand } from './cel/check.ts'
import { type Expression, no, yes } from './cel/expression.ts'
import { settled } from './cel/fold.ts'
import { Mistake } from './cel/parse.ts'
import type { Scope } from './cel/scope.ts'
import type { Action } from './define.ts'
import { type EntityType, type Field, walk } from './model.ts'
import { declaredAt, type Problems } from './problems.ts'
import type { Rule } from './rule.ts'
import { membersOf, type ownValues, wholeSight } from './scope.ts'
import { isRequired } from './values.ts'

/** What a rule is about: an action on Entities of a type, or reading or writing one field of it. */
export type Subject = Action | 'read field' | 'write field'

type Entities = ReadonlyMap<string, EntityType>
type Logins = readonly EntityType[]

/** A rule as one who asks meets it; `viewer` is their login type, undefined for nobody. */
export function ruleFor(
  rule: Rule,
  subject: Subject,
  type: EntityType,
  viewer: EntityType | undefined,
  { entities, logins }: { readonly entities: Entities; readonly logins: Logins },
): Expression {
  if (typeof rule !== 'string') return rule.rule === 'everyone' || viewer !== undefined ? yes : no
  return settled(understand(rule, scopeOf(subject, type, viewer, entities, logins), budget.ruleItems))
}

function scopeOf(
  subject: Subject,
  type: EntityType,
  viewer: EntityType | undefined,
  entities: Entities,
  logins: Logins,
): Scope {
  const all = (of: EntityType, own?: readonly (keyof typeof ownValues)[]) =>
    membersOf(of, entities, wholeSight, own)
  const changes = subject === 'update' || subject === 'write field'
  return {
    // What is about to be made has neither id nor times yet.
    self: all(type, subject === 'create' ? [] : undefined),
    ...(changes && { next: all(type, ['id']) }),
    me:
      viewer === undefined
        ? null
        : { entity: viewer.name, userType: viewer.login?.userType ?? '', members: all(viewer) },
    anybody: logins.map((login) => all(login)),
    userTypes: logins.flatMap(({ login }) => login?.userType ?? []),
  }
}

/** Reports every rule that cannot be understood, as each of those who could ask would meet it. */
export function checkRules(entities: Entities, logins: Logins, problems: Problems): void {
  for (const type of entities.values()) {
    const path = `entities.${type.name}`
    for (const [action, rule] of Object.entries(type.access))
      check(rule, action as Action, type, `${path}.access.${action}`)
    for (const field of walk(type.fields)) {
      const at = placeOf(type, field.path)
      if (field.read !== undefined) check(field.read, 'read field', type, `${at}.read`)
      if (field.write !== undefined) check(field.write, 'write field', type, `${at}.write`)
    }
  }

  function check(rule: Rule, subject: Subject, type: EntityType, path: string): void {
    try {
      for (const viewer of [undefined, ...logins]) ruleFor(rule, subject, type, viewer, { entities, logins })
    } catch (error) {
      if (!(error instanceof Mistake)) throw error
      problems.push([path, `${error.message}, in ${JSON.stringify(rule)}`])
    }
  }
}

/** Whoever may create must be able to send what must be sent. */
export function checkRequired(
  { entities, logins }: { readonly entities: Entities; readonly logins: Logins },
  admins: unknown,
  problems: Problems,
): void {
  for (const type of entities.values()) {
    const { create } = type.access
    const written = rulesOf(type, 'write')
    if (create === undefined || written.size === 0) continue
    for (const viewer of [undefined, ...logins.filter(({ name }) => name !== admins)]) {
      const never = (rule: Rule, subject: Subject) =>
        ruleFor(rule, subject, type, viewer, { entities, logins }) === no
      if (never(create, 'create')) continue
      for (const { path } of needed(type.fields))
        if (written.get(path)?.some(({ rule, subject }) => never(rule, subject)))
          problems.push([
            `${placeOf(type, path)}.write`,
            `keeps ${viewer?.name ?? 'whoever is not signed in'} from setting what is required, although they may create: make it optional, or give it a default`,
          ])
    }
  }
}

/** Where in the declaration the rules of a field are. */
function placeOf({ name, login }: EntityType, path: string): string {
  return login !== undefined && path === 'email' ? `entities.${name}.login.email` : declaredAt(name, path)
}

/** What every new Entity must bring along. */
function* needed(fields: readonly Field[]): Generator<Field> {
  for (const field of fields) {
    if (!isRequired(field)) continue
    yield field
    if (field.kind === 'object') yield* needed(field.fields)
  }
}

/**
 * `read` and `write` are what the field declares. `change` is the same as `write` for an Entity that is there already:
 * a field without a rule for writing can be changed by those who see it.
 */
export type FieldAction = 'read' | 'write' | 'change'

export interface FieldRule {
  readonly rule: Rule
  readonly subject: Subject
}

/** The rules of a field, outer objects' included. */
export function rulesOf(type: EntityType, action: FieldAction): Map<string, readonly FieldRule[]> {
  const found = new Map<string, readonly FieldRule[]>()
  const visit = (fields: readonly Field[], outer: readonly FieldRule[]): void => {
    for (const field of fields) {
      const own = ruleOf(field, action)
      const rules = own === undefined ? outer : [...outer, own]
      if (rules.length > 0) found.set(field.path, rules)
      if (field.kind === 'object') visit(field.fields, rules)
    }
  }
  visit(type.fields, [])
  return found
}

function ruleOf({ read, write }: Field, action: FieldAction): FieldRule | undefined {
  if (action !== 'read' && write !== undefined) return { rule: write, subject: 'write field' }
  return action === 'write' || read === undefined ? undefined : { rule: read, subject: 'read field' }
}
