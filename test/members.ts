import { perform } from '../src/api/perform.ts'
import { create } from '../src/api/write/create.ts'
import type { App } from '../src/app.ts'
import type { Actor } from '../src/plan/viewer/actor.ts'
import type { Act } from '../src/store/act.ts'

/*
 * Members of login types for tests in which passwords are not the subject. A hash as strong as the server's takes a core
 * for a thirtieth of a second, at the sign-up and at each login. These have a weak one, made here: the server can only
 * make strong ones, and reads from a hash how strong it is.
 */

const hashes = new Map<string, Promise<string>>()

function weakHash(secret: string): Promise<string> {
  const known = hashes.get(secret)
  if (known !== undefined) return known
  const made = Bun.password.hash(secret, { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 })
  hashes.set(secret, made)
  return made
}

/** The same act, with weak hashes. */
function* hashedWeakly<T>(act: Act<T>): Act<T> {
  let next = act.next()
  while (!next.done) {
    const ask = next.value
    next = act.next(yield ask.kind === 'work' ? { ...ask, run: () => weakHash(ask.on) } : ask)
  }
  return next.value
}

/** As `POST /api/<entity>/` does it for this actor: its id. */
export async function addMember(
  { context }: Pick<App, 'context'>,
  entity: string,
  { body, actor }: { body: object; actor: Actor },
): Promise<number> {
  const plan = context.plans.get(entity)
  if (plan === undefined) throw new Error(`There is no Entity type ${entity}.`)
  const answer = await perform(context.store, hashedWeakly(create(plan, actor, body)))
  return (JSON.parse(answer.body ?? '{}') as { id: number }).id
}
