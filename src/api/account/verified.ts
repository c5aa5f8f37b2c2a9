import { Failure } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { system } from '../../plan/viewer/actor.ts'
import { type Act, read, write } from '../../store/act.ts'
import type { Params } from '../../store/dialect.ts'
import type { Step } from '../../store/step.ts'
import { type Context, callerParams, type KeptAnswer } from '../context.ts'

/** Whether the e-mail address of a user was proved; true if their type does not require it. */
export async function isVerified(context: Context, plan: Plan, id: number): Promise<boolean> {
  if (plan.login === undefined || plan.type.login?.verify !== true) return true
  const [row] = await context.store.read(plan.login.self, { ...callerParams(system), $id: id })
  const key = row && plan.login.readSelf(row).key
  return key != null && context.verified.has({ entity: plan.type.name, id, key: String(key) })
}

/** Throws if a user cannot have a session because the e-mail address was not proved. */
export async function refuseUnverified(
  context: Context,
  { plan, id }: { readonly plan: Plan; readonly id: number },
): Promise<void> {
  if (!(await isVerified(context, plan, id))) throw new Failure('unverified')
}

/** Steps that mark an address as proved, for a caller who reads its mails. None if the type does not require it. */
export function markingVerified(
  context: Context,
  { type }: Plan,
  { id, key }: { readonly id: number; readonly key: string },
): { steps: readonly Step[]; params: Params } {
  if (type.login?.verify !== true) return { steps: [], params: {} }
  const { step, params } = context.verified.marking({ entity: type.name, id, key })
  return { steps: [step], params }
}

/** Marks an address of a user as proved. `key` is that of the proved e-mail, which may not be the present one. */
export async function markVerified(
  context: Context,
  plan: Plan,
  address: { readonly id: number; readonly key: string },
): Promise<void> {
  if (plan.type.login?.verify === true) await context.verified.mark({ entity: plan.type.name, ...address })
}

/** Marks the addresses of the users whom an act creates as proved. To be run in one transaction. */
export function* vouching(context: Context, plan: Plan, act: Act<KeptAnswer>): Act<KeptAnswer> {
  const answer = yield* act
  for (const [, id] of answer.shows) yield* vouchFor(context, plan, id)
  return answer
}

function* vouchFor(context: Context, plan: Plan, id: number): Act<void> {
  if (plan.login === undefined) return
  const [row] = yield* read(plan.login.self, { ...callerParams(system), $id: id })
  if (row === undefined) return
  const { steps, params } = markingVerified(context, plan, { id, key: String(plan.login.readSelf(row).key) })
  if (steps.length > 0) yield* write(steps, params)
}
