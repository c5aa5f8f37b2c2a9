import { StartError } from '../errors.ts'
import { checkChecks, resolveChecks } from './checks.ts'
import { didYouMean } from './closest.ts'
import { checkComputed, resolveComputed } from './computed.ts'
import { type Action, type AppDeclaration, actions, type EntityDeclaration } from './define.ts'
import { edgesOf } from './edges.ts'
import { ENTITY_NAME, entityNameProblem, TAKEN_LOGINS } from './entity-names.ts'
import { checkLabels, resolveTitle } from './entity-words.ts'
import { checkOptions } from './field-place.ts'
import { rules } from './fields/field.ts'
import { PASSWORD_MIN } from './fields/password.ts'
import { resolveIndexes } from './indexes.ts'
import { spelledAlike } from './login-email.ts'
import {
  type ClaimsMapping,
  columnOf,
  type EntityType,
  type Field,
  isPointing,
  type LinksField,
  type Model,
  walk,
} from './model.ts'
import { type NamedRules, resolveNamedRules } from './named-rules.ts'
import { declaredAt, type Problems } from './problems.ts'
import { withProvided } from './provided.ts'
import { checkProvided } from './provided-values.ts'
import { isRecord } from './record.ts'
import { resolveCode, resolveHooks } from './resolve-code.ts'
import { resolveFields, valueField } from './resolve-fields.ts'
import { resolveMail } from './resolve-mail.ts'
import { resolveWebhooks } from './resolve-webhooks.ts'
import { type RetentionTimes, resolveRetention } from './retention.ts'
import { isRule, type Rule } from './rule.ts'
import { checkRequired, checkRules } from './rules.ts'
import { ownValues } from './scope.ts'
import { withinIndexes } from './unique.ts'
import { SEARCHED_MAX } from './words.ts'

/** Field names that login reserves in its type. */
const LOGIN_FIELDS = ['email', 'password', 'email_key', 'token_epoch', 'password_expires_at', 'acting']

const APP_OPTIONS = [
  'admins',
  'entities',
  'trash',
  'journal',
  'rules',
  'routes',
  'jobs',
  'reactions',
  'webhooks',
  'mail',
]

const ENTITY_OPTIONS = [
  'fields',
  'login',
  'unique',
  'index',
  'set',
  'computed',
  'check',
  'access',
  'was',
  'trash',
  'journal',
  'label',
  'description',
  'title',
  'rules',
  'before',
]

/** Turns declarations into the Model, or reports every mistake in them at once. */
export function resolve(declaration: unknown): Model {
  const problems: Problems = []
  const model = resolveApp(declaration, problems)
  if (problems.length > 0 || model === undefined) throw new StartError(report(problems))
  return model
}

function report(problems: Problems): string {
  const count = problems.length === 1 ? '1 mistake' : `${problems.length} mistakes`
  return `${count} in the declaration:\n${problems.map(([path, sentence]) => `  ${path}: ${sentence}`).join('\n')}`
}

function resolveApp(declaration: unknown, problems: Problems): Model | undefined {
  if (!isRecord(declaration) || !isRecord(declaration.entities)) {
    problems.push(['app', "must be the file's default export, made by app({ entities: { … } })"])
    return undefined
  }
  refuseUnknown(declaration, APP_OPTIONS, '', problems)
  const retention = resolveRetention(declaration, '', problems)
  const rules = resolveNamedRules(declaration.rules, 'rules', problems)
  const entities = resolveEntities(declaration.entities, { retention, rules }, problems)
  const types = { entities, logins: loginsOf(entities, problems) }
  checkRules(types, problems)
  checkComputed(entities, problems)
  checkChecks(entities, problems)
  checkProvided(types, problems)
  // Only if all rules could be read.
  if (problems.length === 0) checkRequired(types, declaration.admins, problems)
  checkReverses(entities, problems)
  const admins = adminsOf(declaration as unknown as AppDeclaration, entities, problems)
  const code = resolveCode(declaration, types, problems)
  const webhooks = resolveWebhooks(declaration.webhooks, entities, problems)
  const mail = resolveMail(declaration.mail, problems)
  return Object.freeze({ ...types, admins, edges: edgesOf(entities), code, webhooks, mail })
}

function resolveEntities(
  declared: Record<string, unknown>,
  ofApp: Omit<OfApp, 'names'>,
  problems: Problems,
): Map<string, EntityType> {
  const names = Object.keys(declared)
  if (names.length === 0) problems.push(['entities', 'must declare at least one Entity type'])
  const entities = new Map<string, EntityType>()
  for (const [name, one] of Object.entries(declared)) {
    const path = `entities.${name}`
    const misnamed = entityNameProblem(name)
    if (misnamed !== undefined) problems.push([path, misnamed])
    if (!isRecord(one)) problems.push([path, 'must be made by entity({ … })'])
    else {
      const declaration = one as unknown as EntityDeclaration
      entities.set(name, resolveEntity(name, declaration, { names, ...ofApp }, problems))
    }
  }
  return entities
}

/** The parts of the app that all types need. */
interface OfApp {
  readonly names: readonly string[]
  readonly retention: RetentionTimes
  readonly rules: NamedRules
}

function resolveEntity(
  name: string,
  declaration: EntityDeclaration,
  { names, retention, rules: shared }: OfApp,
  problems: Problems,
): EntityType {
  const path = `entities.${name}`
  refuseUnknown(declaration, ENTITY_OPTIONS, path, problems)
  checkFormerName(declaration, names, path, problems)
  checkLabels(declaration, path, problems)
  const all = fieldsOf(declaration, names, path, problems)
  const single = [...walk(all)].filter(isUnique).map((field) => [columnOf(field)])
  const uniques = [...single, ...compositeUniques(declaration, all, path, problems)]
  const indexes = resolveIndexes(declaration.index ?? [], all, path, problems)
  const fields = withProvided(withinIndexes(all, uniques, indexes), declaration.set, path, problems)
  return Object.freeze({
    name,
    was: declaration.was,
    label: declaration.label,
    description: declaration.description,
    title: resolveTitle(declaration.title, all, path, problems),
    fields: Object.freeze(fields),
    login: loginOf(declaration, path, problems),
    uniques: Object.freeze(uniques),
    indexes: Object.freeze(indexes),
    computed: resolveComputed(declaration.computed, fields, path, problems),
    checks: Object.freeze(resolveChecks(declaration.check, all, path, problems)),
    access: resolveAccess(declaration, path, problems),
    rules: new Map([...shared, ...resolveNamedRules(declaration.rules, `${path}.rules`, problems)]),
    retention: resolveRetention(declaration, path, problems, retention),
    before: resolveHooks(declaration.before, path, problems),
  })
}

function checkFormerName(
  { was }: EntityDeclaration,
  names: readonly string[],
  path: string,
  problems: Problems,
): void {
  if (was !== undefined && (typeof was !== 'string' || !ENTITY_NAME.test(was)))
    problems.push([`${path}.was`, 'must be its old name'])
  else if (was !== undefined && names.includes(was))
    problems.push([`${path}.was`, `is "${was}", which is also declared; remove one of them`])
}

/** The fields that login adds, then the declared ones. */
function fieldsOf(
  declaration: EntityDeclaration,
  names: readonly string[],
  path: string,
  problems: Problems,
): Field[] {
  const place = { path: `${path}.fields`, dotPath: '', names, inList: false }
  const { login } = declaration
  const taken = login === undefined ? [] : [...LOGIN_FIELDS, ...(login.verify === true ? ['verified'] : [])]
  const declared = resolveFields(declaration.fields, { ...place, taken }, problems)
  const all = [...loginFields(declaration, path, problems), ...declared]
  if ([...walk(all)].filter((field) => field.kind === 'value' && field.search).length > SEARCHED_MAX)
    problems.push([`${path}.fields`, `have more than ${SEARCHED_MAX} with search; remove it from some`])
  return all
}

function loginOf({ login }: EntityDeclaration, path: string, problems: Problems): EntityType['login'] {
  if (login === undefined) return undefined
  const declared: unknown = login.providers ?? {}
  const providers = new Map(isRecord(declared) ? Object.entries(declared) : [])
  if (!isRecord(declared) || ![...providers.values()].every((one) => typeof one === 'function'))
    problems.push([
      `${path}.login.providers`,
      'must be functions by provider: { google: (claims) => ({ name: claims.name }) }',
    ])
  return {
    userType: login.userType,
    verify: login.verify === true,
    second: login.second,
    providers: providers as ReadonlyMap<string, ClaimsMapping>,
  }
}

function loginFields(declaration: EntityDeclaration, path: string, problems: Problems): Field[] {
  const { login } = declaration
  if (login === undefined) return []
  if (isRecord(login))
    refuseUnknown(
      login,
      ['userType', 'passwordMin', 'verify', 'second', 'providers', 'email'],
      `${path}.login`,
      problems,
    )
  if (!isRecord(login) || typeof login.userType !== 'string' || !/^[a-z][a-z0-9_-]*$/.test(login.userType)) {
    problems.push([`${path}.login.userType`, "must be a lower-case word, such as 'user'"])
    return []
  }
  const min = login.passwordMin ?? PASSWORD_MIN
  if (!Number.isSafeInteger(min) || min < 8 || min > 128)
    problems.push([`${path}.login.passwordMin`, 'must be a whole number from 8 to 128'])
  if (login.verify !== undefined && typeof login.verify !== 'boolean')
    problems.push([`${path}.login.verify`, 'must be true or false'])
  if (login.second !== undefined && login.second !== 'optional' && login.second !== 'required')
    problems.push([`${path}.login.second`, "must be 'optional' or 'required'"])
  const email: unknown = login.email ?? {}
  if (isRecord(email)) checkOptions(email, rules, `${path}.login.email`, problems)
  else problems.push([`${path}.login.email`, "must be rules, such as { read: 'id == me.id' }"])
  return [
    spelledAlike(valueField('email', 'email', { ...(isRecord(email) ? email : {}), type: 'email' })),
    valueField('password', 'password', { type: 'password', min }),
  ]
}

function compositeUniques(
  declaration: EntityDeclaration,
  fields: readonly Field[],
  path: string,
  problems: Problems,
): string[][] {
  const sets: unknown = declaration.unique ?? []
  const columns = [...walk(fields)].filter((field) => field.kind !== 'object').map(columnOf)
  const unfit = [...walk(fields)]
    .filter((f) => f.kind === 'links' || (f.kind === 'value' && (f.secret || f.column === 'json')))
    .map(columnOf)
  if (!Array.isArray(sets) || !sets.every((set) => Array.isArray(set) && set.length > 0)) {
    problems.push([
      `${path}.unique`,
      "must be a list of lists of dot paths, such as [['room.id', 'starts_at']]",
    ])
    return []
  }
  for (const [at, set] of sets.entries())
    for (const column of set) {
      const where = `${path}.unique.${at}`
      if (typeof column !== 'string' || !columns.includes(column))
        problems.push([
          where,
          `"${column}" is not a value of this type${didYouMean(String(column), columns)}`,
        ])
      else if (unfit.includes(column)) problems.push([where, `"${column}" has a type that cannot be unique`])
      // Errors of this constraint would reveal who has an account.
      else if (column === 'email' && declaration.login?.verify === true)
        problems.push([where, 'has the e-mail of a login, which is already unique: remove it'])
    }
  const seen = new Set([...walk(fields)].filter(isUnique).map(columnOf))
  for (const [at, set] of sets.entries()) {
    const key = [...set].sort().join('+')
    if (new Set(set).size < set.length || seen.has(key))
      problems.push([`${path}.unique.${at}`, 'is a duplicate; remove it'])
    seen.add(key)
  }
  return sets
}

function resolveAccess(
  declaration: EntityDeclaration,
  path: string,
  problems: Problems,
): Partial<Record<Action, Rule>> {
  const access: unknown = declaration.access ?? {}
  if (!isRecord(access)) {
    problems.push([
      `${path}.access`,
      'must be an object with a rule for each action, such as { read: everyone }',
    ])
    return {}
  }
  for (const [action, rule] of Object.entries(access)) {
    const where = `${path}.access.${action}`
    if (action === 'list') problems.push([where, 'is not an action: lists use the rule of read'])
    else if (!(actions as readonly string[]).includes(action))
      problems.push([
        where,
        `is not an action${didYouMean(action, actions)}; the actions are ${actions.join(', ')}`,
      ])
    else if (!isRule(rule))
      problems.push([
        where,
        "must be everyone, signedIn or a condition in CEL, such as 'owner.id == me.id'; left out, it is for admins only",
      ])
  }
  const known = Object.entries(access).filter(
    ([action, rule]) => (actions as readonly string[]).includes(action) && isRule(rule),
  )
  return Object.freeze(Object.fromEntries(known)) as Partial<Record<Action, Rule>>
}

function loginsOf(entities: ReadonlyMap<string, EntityType>, problems: Problems): EntityType[] {
  const logins = [...entities.values()].filter((one) => one.login !== undefined)
  const seen = new Map<string, string>()
  for (const { name, login } of logins) {
    if (TAKEN_LOGINS.includes(name))
      problems.push([
        `entities.${name}`,
        'cannot be the name of a login type: operations use it for actors that are not users',
      ])
    const userType = login?.userType ?? ''
    const other = seen.get(userType)
    if (other !== undefined)
      problems.push([
        `entities.${name}.login.userType`,
        `is "${userType}", the same as that of ${other}; each needs its own`,
      ])
    seen.set(userType, name)
  }
  return logins
}

function adminsOf(
  declaration: AppDeclaration,
  entities: ReadonlyMap<string, EntityType>,
  problems: Problems,
): string | undefined {
  const { admins } = declaration
  if (admins === undefined) return undefined
  const type = typeof admins === 'string' ? entities.get(admins) : undefined
  if (type === undefined)
    problems.push([
      'admins',
      `must name a declared Entity type${didYouMean(String(admins), [...entities.keys()])}`,
    ])
  else if (type.login === undefined)
    problems.push(['admins', `names ${admins}, which has no login; give it login: { userType: 'admin' }`])
  return admins
}

/** Refuses an `as` name that the target already has, as a field or for other referrers. */
function checkReverses(entities: ReadonlyMap<string, EntityType>, problems: Problems): void {
  const seen = new Set<string>()
  for (const { name, fields } of entities.values())
    for (const field of walk(fields)) {
      if (!isPointing(field) || field.as === undefined) continue
      const path = `${declaredAt(name, field.path)}${field.kind === 'links' ? itemsPath(field) : ''}.as`
      const target = entities.get(field.target)
      const taken = [...Object.keys(ownValues), ...(target?.fields.map((one) => one.name) ?? [])]
      const key = `${field.target}.${field.as}`
      if (taken.includes(field.as))
        problems.push([path, `is "${field.as}", which is a field of ${field.target} already; choose another`])
      else if (seen.has(key)) problems.push([path, `is "${field.as}", which another reference also uses`])
      seen.add(key)
    }
}

/** The path from a list to the declaration of its reference. */
function itemsPath({ member }: LinksField): string {
  return member === '' ? '.items' : `.items.${member}`
}

function isUnique(field: Field): boolean {
  return (field.kind === 'value' || field.kind === 'reference') && field.unique
}

function refuseUnknown(value: object, known: readonly string[], path: string, problems: Problems): void {
  for (const key of Object.keys(value))
    if (!known.includes(key))
      problems.push([
        path === '' ? key : `${path}.${key}`,
        `is not an option${didYouMean(key, known)}; the options are ${known.join(', ')}`,
      ])
}
