import { budget } from '../budget.ts'
import { parseCondition } from './cel/check.ts'
import { type Expression, no, yes } from './cel/expression.ts'
import { canBe, settled } from './cel/fold.ts'
import { NamedRuleMistake } from './cel/named-rule.ts'
import { Mistake } from './cel/parse.ts'
import type { NamedRule, Scope } from './cel/scope.ts'
import type { Action } from './define.ts'
import { type EntityType, type Field, isFilled, walk } from './model.ts'
import { refuseShadows } from './named-rules.ts'
import { declaredAt, type Problems } from './problems.ts'
import type { Rule } from './rule.ts'
import { allVisible, type BesidesFields, membersOf } from './scope.ts'
import { isRequired } from './values.ts'

/** What a rule is about: an action on Entities of a type, or reading or writing one field of it. */
export type Subject = Action | 'read field' | 'write field'

/** A rule and its subject. */
export interface SubjectRule {
  readonly rule: Rule
  readonly subject: Subject
}

/** All types, and the login types among them. */
export interface Types {
  readonly entities: ReadonlyMap<string, EntityType>
  readonly logins: readonly EntityType[]
}

/** The condition of a rule for one kind of caller. `viewer`: their login type, undefined for nobody. */
export function ruleFor(
  { rule, subject }: SubjectRule,
  type: EntityType,
  viewer: EntityType | undefined,
  types: Types,
): Expression {
  if (typeof rule !== 'string') return rule.rule === 'everyone' || viewer !== undefined ? yes : no
  const condition = settled(parseCondition(rule, scopeOf(subject, type, viewer, types), budget.ruleItems))
  return canBe(true, condition) ? condition : no
}

function scopeOf(
  subject: Subject,
  type: EntityType,
  viewer: EntityType | undefined,
  { entities, logins }: Types,
): Scope {
  const all = (of: EntityType, known?: BesidesFields) => membersOf(of, entities, allVisible, known)
  const changes = subject === 'update' || subject === 'write field'
  return {
    // A new Entity has no id, no times and no referrers yet.
    self: all(type, subject === 'create' ? { own: [], referrers: false } : undefined),
    ...(changes && { next: all(type, { own: ['id'], referrers: false }) }),
    ...callerScope(viewer, { entities, logins }),
  }
}

/** The names that `me` gives an expression. `viewer`: the login type of the caller. */
export function callerScope(
  viewer: EntityType | undefined,
  { entities, logins }: Types,
): Pick<Scope, 'me' | 'anybody' | 'userTypes'> {
  const all = (of: EntityType) => membersOf(of, entities, allVisible)
  return {
    me:
      viewer === undefined
        ? null
        : { entity: viewer.name, userType: viewer.login?.userType ?? '', members: all(viewer) },
    anybody: logins.map(all),
    userTypes: logins.flatMap(({ login }) => login?.userType ?? []),
  }
}

/** Reports every rule that has a mistake for any kind of caller. */
export function checkRules(types: Types, problems: Problems): void {
  refuseShadows(types.entities, problems)
  const faulty = new Set<NamedRule>()
  for (const type of types.entities.values()) {
    // Checked as an update rule, which knows all names. Uses are checked again; app-wide rules are checked only in use.
    for (const rule of type.rules.values())
      if (
        rule.place.startsWith('entities.') &&
        !check({ rule: rule.text, subject: 'update' }, type, rule.place)
      )
        faulty.add(rule)
  }
  for (const type of types.entities.values()) {
    const path = `entities.${type.name}`
    for (const [action, rule] of Object.entries(type.access))
      check({ rule, subject: action as Action }, type, `${path}.access.${action}`)
    for (const { path, read, write } of walk(type.fields)) {
      const at = declaredRules(type, path)
      if (read !== undefined) check({ rule: read, subject: 'read field' }, type, `${at}.read`)
      if (write !== undefined) check({ rule: write, subject: 'write field' }, type, `${at}.write`)
    }
  }

  function check(one: SubjectRule, type: EntityType, path: string): boolean {
    const { rule } = one
    try {
      for (const viewer of [undefined, ...types.logins]) ruleFor(one, type, viewer, types)
      return true
    } catch (error) {
      if (!(error instanceof Mistake)) throw error
      // Reported already, at its declaration.
      if (!(error instanceof NamedRuleMistake && faulty.has(error.rule)))
        problems.push([path, `${error.message}, in ${JSON.stringify(rule)}`])
      return false
    }
  }
}

/** Callers who may create must be allowed to send all required fields. */
export function checkRequired(types: Types, admins: unknown, problems: Problems): void {
  for (const type of types.entities.values()) {
    const { create } = type.access
    const written = rulesOf(type, 'write')
    // A hook may set the required fields.
    if (create === undefined || written.size === 0 || type.before?.create !== undefined) continue
    for (const viewer of [undefined, ...types.logins.filter(({ name }) => name !== admins)]) {
      const never = (rule: SubjectRule) => ruleFor(rule, type, viewer, types) === no
      if (never({ rule: create, subject: 'create' })) continue
      for (const { path } of needed(type.fields))
        if (written.get(path)?.some(never))
          problems.push([
            `${declaredRules(type, path)}.write`,
            `keeps ${viewer?.name ?? 'whoever is not signed in'} from setting what is required, although they may create: make it optional, or give it a default`,
          ])
    }
  }
}

/** The place of a field's rules in the declaration. */
function declaredRules({ name, login }: EntityType, path: string): string {
  return login !== undefined && path === 'email' ? `entities.${name}.login.email` : declaredAt(name, path)
}

/** The fields that every new Entity must have in its body. */
function* needed(fields: readonly Field[]): Generator<Field> {
  for (const field of fields) {
    if (!isRequired(field) || isFilled(field)) continue
    yield field
    if (field.kind === 'object') yield* needed(field.fields)
  }
}

/**
 * `read` and `write`: the rules that the field declares. `change`: `write`, for an existing Entity. A field without a
 * `write` rule can be changed by those who can read it.
 */
export type FieldAction = 'read' | 'write' | 'change'

/** The rules of each field, including those of the objects around it. */
export function rulesOf(type: EntityType, action: FieldAction): Map<string, readonly SubjectRule[]> {
  const found = new Map<string, readonly SubjectRule[]>()
  const visit = (fields: readonly Field[], outer: readonly SubjectRule[]): void => {
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

function ruleOf({ read, write }: Field, action: FieldAction): SubjectRule | undefined {
  if (action !== 'read' && write !== undefined) return { rule: write, subject: 'write field' }
  return action === 'write' || read === undefined ? undefined : { rule: read, subject: 'read field' }
}
