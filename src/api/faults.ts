import { randomInt } from 'node:crypto'
import { hashSecret } from '../auth/passwords.ts'
import { emailKey } from '../declare/email-key.ts'
import { type Errors, invalid } from '../errors.ts'
import type { Actor } from '../plan/actor.ts'
import type { Plan } from '../plan/compile.ts'
import { EMAIL_KEY, TOKEN_EPOCH } from '../plan/schema.ts'
import { type Act, read, work } from '../store/act.ts'
import type { Bag } from '../store/dialect.ts'

/** Adds what only the database knows: references to nothing, values that are taken. */
export function* noteFaults(plan: Plan, bag: Bag, self: number, actor: Actor, errors: Errors): Act<void> {
  const known = { ...soundOf(plan, bag, errors), $id: self }
  const rows = yield* read(plan.writes.faults(known), known)
  plan.writes.explain(rows, errors, plan.may.read(actor))
}

/** Of the bag, what failed no check. */
export function soundOf(plan: Plan, bag: Bag, errors: Errors): Bag {
  const sound = plan.withoutFaulty(bag, errors)
  const key = bag[EMAIL_KEY]
  return key === undefined || errors.has('email') ? sound : { ...sound, [EMAIL_KEY]: key }
}

/** Throws all failures of a body at once, the database's included. */
export function* refuseFaulty(plan: Plan, bag: Bag, self: number, actor: Actor, errors: Errors): Act<void> {
  if (errors.size === 0) return
  yield* noteFaults(plan, bag, self, actor, errors)
  throw invalid(errors)
}

/** What is kept beside the body's own columns: the key of an e-mail, and hashes in the place of secrets. */
export function bindEmailKey(plan: Plan, bag: Bag): void {
  if (plan.login !== undefined && typeof bag.email === 'string') bag[EMAIL_KEY] = emailKey(bag.email)
}

/** Where the epochs of a user's tokens begin: no token of whoever else had this type's name and this id is one of them. */
export function bindEpoch(plan: Plan, bag: Bag): void {
  if (plan.login !== undefined) bag[TOKEN_EPOCH] = randomInt(1, 2 ** 40)
}

export function* hashSecrets(plan: Plan, bag: Bag): Act<void> {
  for (const path of plan.secrets) {
    const secret = bag[path]
    if (typeof secret === 'string') bag[path] = yield* work(secret, () => hashSecret(secret))
  }
}
