import { randomBytes } from 'node:crypto'
import { type Errors, invalid, invalidAt, note } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { taskParams } from '../../work/queues.ts'
import type { Call } from '../call.ts'
import { type Answer, allow, type Context, signInFirst } from '../context.ts'
import { performOnce, replayOf } from '../once.ts'
import { withSteps } from '../perform.ts'
import type { Query } from '../query.ts'
import { create } from '../write/create.ts'
import { askingOf, beforeCreate, hasHook } from '../write/hooks.ts'
import { mailTask } from './mail-queue.ts'

/** Nobody knows it, and no declaration asks for a longer one. */
export const PASSWORD_BYTES = 96

/**
 * `POST /api/<entity>/?invite=1`: creates a user without a password, and mails a link that sets one. Only for callers who
 * are signed in: strangers must not make this server send mails to whomever they like.
 */
export async function inviteUser(context: Context, plan: Plan, call: Call): Promise<Answer> {
  const { actor } = call.caller
  allow(plan, 'create', actor, true)
  if (actor.kind === 'nobody') throw signInFirst()
  refuseUninvitable(plan, call.query, call.body)
  const hooked = hasHook(plan, 'create')
  const known = hooked ? await replayOf(context, call) : undefined
  if (known !== undefined) return known
  const whole = { ...call.body, password: randomBytes(PASSWORD_BYTES).toString('base64url') }
  const { body, sent } = hooked
    ? await beforeCreate(context, plan, askingOf(call), whole)
    : { body: whole, sent: undefined }
  const answer = await performOnce(context, call, () =>
    withSteps(create(plan, actor, body, { sent }), (operation) => ({
      steps: [context.work.enqueue],
      params: taskParams([mailTask({ mail: 'invite', entity: plan.type.name, operation }, operation)]),
    })),
  )
  context.work.wake()
  return answer
}

function refuseUninvitable({ login }: Plan, query: Query, body: object): void {
  const errors: Errors = new Map()
  const asked = query.take(errors)
  if (login === undefined) note(errors, 'invite', 'is only for types that log in')
  else if (asked.invite !== '1') note(errors, 'invite', 'must be 1')
  if (Array.isArray(body)) throw invalidAt('', 'must be one user: a list cannot be invited')
  if (login !== undefined && Object.hasOwn(body, 'password'))
    note(errors, 'password', 'must be left out: the invited user sets it')
  if (errors.size > 0) throw invalid(errors)
}
