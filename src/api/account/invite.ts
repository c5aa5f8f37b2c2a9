import { randomBytes } from 'node:crypto'
import { accountState } from '../../account/links.ts'
import { addError, type Errors, Failure, invalid, invalidAt } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { isAgent, system } from '../../plan/viewer/actor.ts'
import { type Act, read, write } from '../../store/act.ts'
import { taskParams } from '../../work/queues.ts'
import type { Call } from '../call.ts'
import { type Answer, allow, type Context, callerParams, type KeptAnswer, signInFirst } from '../context.ts'
import { replayOf } from '../idempotency.ts'
import type { Query } from '../query.ts'
import { create } from '../write/create.ts'
import { beforeCreate, hasHook, hookCallerOf } from '../write/hooks.ts'
import { transactPlanned } from '../write/planned.ts'
import { mailInTurn } from './mail-queue.ts'

/** The length of a random password that nobody knows. No declaration requires a longer one. */
export const PASSWORD_BYTES = 96

/**
 * `POST /api/<entity>/?invite=1`: creates a user without a password, and mails a link to set one. Only for callers who
 * are logged in: strangers must not make this server send mails to anybody.
 */
export async function inviteUser(context: Context, plan: Plan, call: Call): Promise<Answer> {
  const { actor } = call.caller
  allow(plan, 'create', actor, true)
  if (actor.kind === 'nobody') throw signInFirst()
  // A mail cannot be taken back.
  if (isAgent(actor)) throw new Failure('forbidden')
  refuseUninvitable(plan, call.query, call.body)
  const hooked = hasHook(plan, 'create')
  const known = hooked ? await replayOf(context, call) : undefined
  if (known !== undefined) return known
  const whole = { ...call.body, password: randomBytes(PASSWORD_BYTES).toString('base64url') }
  const { body, sent } = hooked
    ? await beforeCreate(context, plan, hookCallerOf(call), whole)
    : { body: whole, sent: undefined }
  const answer = await transactPlanned(context, call, () =>
    inviting(context, plan, create(plan, actor, body, { sent })),
  )
  context.work.wake()
  return answer
}

/** Adds the invitation to the transaction that creates the user. The token of its link is made later, with the mail. */
function* inviting(context: Context, plan: Plan, act: Act<KeptAnswer>): Act<KeptAnswer> {
  const answer = yield* act
  const { type, login } = plan
  for (const [, id] of answer.shows) {
    const [row] = login === undefined ? [] : yield* read(login.self, { ...callerParams(system), $id: id })
    if (login === undefined || row === undefined) continue
    const { key, bound } = accountState(login.readSelf(row))
    const account = { entity: type.name, id }
    const link = context.links.reservingFor('invite', { ...account, bound, address: key })
    const task = mailInTurn({ mail: 'invite', ...account })
    yield* write([...link.steps, context.work.enqueue], { ...link.params, ...taskParams([task]) })
  }
  return answer
}

function refuseUninvitable({ login }: Plan, query: Query, body: object): void {
  const errors: Errors = new Map()
  const given = query.take(errors)
  if (login === undefined) addError(errors, 'invite', 'is only for types that log in')
  else if (given.invite !== '1') addError(errors, 'invite', 'must be 1')
  if (Array.isArray(body)) throw invalidAt('', 'must be one user: a list cannot be invited')
  if (login !== undefined && Object.hasOwn(body, 'password'))
    addError(errors, 'password', 'must be left out: the invited user sets it')
  if (errors.size > 0) throw invalid(errors)
}
