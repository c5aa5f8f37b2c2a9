import { randomInt } from 'node:crypto'
import type { Lane } from '../account/lanes.ts'
import { hashSecret } from '../account/passwords.ts'
import { yes } from '../declare/cel/expression.ts'
import { emailKey } from '../declare/email-key.ts'
import { faultOfOwn } from '../declare/fields/password.ts'
import type { EntityCheck } from '../declare/model.ts'
import { addError, type Errors, invalid, isOverfull } from '../errors.ts'
import type { Plan } from '../plan/compile.ts'
import { addBrokenCheck } from '../plan/condition/checks.ts'
import { EMAIL_KEY, TOKEN_EPOCH } from '../plan/tables/schema.ts'
import type { Actor } from '../plan/viewer/actor.ts'
import type { WritePlan } from '../plan/write/write.ts'
import { type Act, read, work } from '../store/act.ts'
import type { Params } from '../store/dialect.ts'
import { callerParams, refusal } from './context.ts'
import { valueAt } from './write/merge.ts'

/** Adds the errors that only the database finds: references to nothing, taken values, failing checks. */
export function* addFaults(
  plan: Plan,
  actor: Actor,
  { params, self, options, errors }: Pick<Faulty, 'params' | 'self' | 'options' | 'errors'>,
): Act<void> {
  const known = { ...soundOf(plan, params, errors), $id: self }
  const { writes, disclosure } = plan.view(actor)
  const broken = yield* brokenBy(plan, actor, { params, self, options, errors })
  writes.explain(yield* read(writes.faults(known), known), errors)
  forgetConsequences(plan, actor, errors)
  for (const check of broken) addBrokenCheck(errors, check, { type: plan.type, disclosure })
}

/** If the server makes a value from a reference to nothing, the value is missing only because of that. */
function forgetConsequences(plan: Plan, actor: Actor, errors: Errors): void {
  const { provided } = plan.view(actor)
  for (const { field, expression, reads } of [...(provided?.default ?? []), ...(provided?.create ?? [])]) {
    const isMissing = expression !== undefined && errors.get(field.path)?.includes('is required') === true
    if (!isMissing || ![...reads].some((column) => isFaulty(column, errors))) continue
    errors.delete(field.path)
    if (field.kind === 'reference') errors.delete(`${field.path}.id`)
  }
}

/** Returns the failing checks, of those that can be evaluated. */
function* brokenBy(
  plan: Plan,
  actor: Actor,
  { params, self, options, errors }: Pick<Faulty, 'params' | 'self' | 'options' | 'errors'>,
): Act<readonly EntityCheck[]> {
  const { writes } = plan.view(actor)
  if (writes.checks.length === 0 || isOverfull(errors)) return []
  const bound = { ...params, $id: self }
  const statement = writes.broken(bound, options, (column) => isFaulty(column, errors))
  const [row = []] = yield* read(statement, bound)
  return writes.checks.filter((_, at) => Number(row[at]) === 1)
}

/** Whether there is an error for a column, for something in it, or for the object around it. */
export function isFaulty(column: string, errors: Errors): boolean {
  return [...errors.keys()].some(
    (path) => path === column || path.startsWith(`${column}.`) || column.startsWith(`${path}.`),
  )
}

/** Returns the parameters without those that have errors. */
export function soundOf(plan: Plan, params: Params, errors: Errors): Params {
  if (isOverfull(errors)) return {}
  const sound = plan.withoutFaulty(params, errors)
  const key = params[EMAIL_KEY]
  return key === undefined || errors.has('email') ? sound : { ...sound, [EMAIL_KEY]: key }
}

/** Returns the dot paths guarded by rules that a body sets. */
export function guardedIn(guarded: readonly string[], body: unknown): readonly string[] {
  return guarded.length === 0 ? guarded : guarded.filter((path) => valueAt(body, path) !== undefined)
}

/** Returns the guarded dot paths inside an object that a body removes. */
export function takenAwayIn(guarded: readonly string[], body: unknown): readonly string[] {
  if (guarded.length === 0) return guarded
  return guarded.filter((path) => {
    const names = path.split('.').slice(0, -1)
    return names.some((_, at) => valueAt(body, names.slice(0, at + 1).join('.')) === null)
  })
}

/** After a refused write: throws if a rule is the reason. Adds errors for fields that the caller may not set. */
export function* refuseForbidden(
  plan: Plan,
  actor: Actor,
  {
    action,
    params,
    options,
    errors,
  }: { action: 'create' | 'update'; params: Params; options: Written; errors: Errors },
): Act<void> {
  const { may, writes } = plan.view(actor)
  if (may[action] === yes && options.guarded.length === 0) return
  const [row] = yield* read(writes.allowed(params, options), params)
  if (row === undefined) return
  const [allowed, ...fields] = row
  if (Number(allowed) !== 1) throw refusal(plan, action, actor, true)
  for (const [at, path] of options.guarded.entries())
    if (Number(fields[at]) !== 1) addError(errors, path, 'is not yours to set')
}

type Written = Parameters<WritePlan['allowed']>[1]

/** Throws all failures of a body at once, including those that the database finds. */
export function* refuseFaulty(
  plan: Plan,
  actor: Actor,
  { action, params, self, options, errors }: Faulty,
): Act<void> {
  if (errors.size === 0) return
  // Some failures are then not named, and the answer has no room for more.
  if (isOverfull(errors)) throw invalid(errors)
  // What the database finds is only for callers whom the rule allows, judged by the valid part of the body.
  if (yield* isAllowed(plan, actor, { action, params, self, options, errors }))
    yield* addFaults(plan, actor, { params, self, options, errors })
  throw invalid(errors)
}

interface Faulty {
  readonly action: 'create' | 'update'
  readonly params: Params
  /** The id of the Entity, 0 for a new one. */
  readonly self: number
  readonly options: Written
  readonly errors: Errors
}

function* isAllowed(
  plan: Plan,
  actor: Actor,
  { action, params, self, options, errors }: Faulty,
): Act<boolean> {
  const { may, writes } = plan.view(actor)
  if (may[action] === yes) return true
  const sound = { ...callerParams(actor), ...soundOf(plan, params, errors), $id: self }
  const [row] = yield* read(writes.allowed(sound, { ...options, guarded: [] }), sound)
  return Number(row?.[0]) === 1
}

/** Adds an error for a password that is mostly the account's own e-mail or a well-known name. */
export function addPasswordErrors(
  { type }: Plan,
  { password, email }: { password: unknown; email: unknown },
  errors: Errors,
): void {
  if (type.login === undefined || typeof password !== 'string' || errors.has('password')) return
  const address = typeof email === 'string' ? email : ''
  const own = [
    address,
    ...address.split(/[@._+-]/),
    ...address.split('@'),
    type.name,
    type.login.userType,
    'takeback',
  ]
  const fault = faultOfOwn(password, own)
  if (fault !== undefined) addError(errors, 'password', fault)
}

/** Adds the key of the e-mail. */
export function bindEmailKey(plan: Plan, params: Params): void {
  if (plan.login !== undefined && typeof params.email === 'string') params[EMAIL_KEY] = emailKey(params.email)
}

/** Sets the first epoch of a user's tokens: a random one, so that no token of a former user with this id is valid. */
export function bindEpoch(plan: Plan, params: Params): void {
  if (plan.login !== undefined) params[TOKEN_EPOCH] = randomInt(1, 2 ** 40)
}

export function* hashSecrets(plan: Plan, params: Params, lane: Lane = 'other'): Act<void> {
  for (const path of plan.secrets) {
    const secret = params[path]
    if (typeof secret === 'string')
      params[path] = yield* work(secret, (signal) => hashSecret(secret, lane, signal))
  }
}
