import { randomInt } from 'node:crypto'
import { hashSecret } from '../auth/passwords.ts'
import { emailKey } from '../declare/email-key.ts'
import { type Errors, invalid } from '../errors.ts'
import type { Actor } from '../plan/actor.ts'
import type { Plan } from '../plan/compile.ts'
import { EMAIL_KEY, TOKEN_EPOCH } from '../plan/schema.ts'
import type { Bag } from '../store/dialect.ts'
import type { Context } from './context.ts'

/** Adds what only the database knows: references to nothing, values that are taken. */
export async function noteFaults(
  context: Context,
  plan: Plan,
  bag: Bag,
  self: number,
  actor: Actor,
  errors: Errors,
): Promise<void> {
  const known = { ...plan.withoutFaulty(bag, errors), $id: self }
  if (bag[EMAIL_KEY] !== undefined && !errors.has('email'))
    Object.assign(known, { [EMAIL_KEY]: bag[EMAIL_KEY] })
  const rows = await context.store.read(plan.writes.faults(known), known)
  plan.writes.explain(rows, errors, plan.may.read(actor))
}

/** Throws all failures of a body at once, the database's included. */
export async function refuseFaulty(
  context: Context,
  plan: Plan,
  bag: Bag,
  self: number,
  actor: Actor,
  errors: Errors,
): Promise<void> {
  if (errors.size === 0) return
  await noteFaults(context, plan, bag, self, actor, errors)
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

export async function hashSecrets(plan: Plan, bag: Bag): Promise<void> {
  for (const path of plan.secrets) {
    const secret = bag[path]
    if (typeof secret === 'string') bag[path] = await hashSecret(secret)
  }
}
