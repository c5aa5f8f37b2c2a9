import { isRecord } from '../declare/record.ts'
import { invalidAt } from '../errors.ts'
import type { Plan } from '../plan/compile.ts'
import type { Actor } from '../plan/viewer/actor.ts'
import type { Act } from '../store/act.ts'
import type { Call } from './call.ts'
import { type Answer, allow, type Context, type KeptAnswer, operationOf } from './context.ts'
import { create } from './create.ts'
import { entitySuccess, hookCodes, manyOf } from './description.ts'
import { entityEndpoint } from './endpoint.ts'
import { askingOf, beforeCreate, beforeEach, hasHook } from './hooks.ts'
import { inviteUser } from './invite.ts'
import { answerAll, refuseNumber, repeatedValues } from './list-body.ts'
import { performOnce, replayOf, transactOnce } from './once.ts'
import { writing } from './parameters.ts'
import type { Query } from './query.ts'
import { signsUp } from './sign-up.ts'

/** `POST /api/<entity>/` with a list: all of them or none, as one operation. To be run in one transaction. */
export function* createMany(
  plan: Plan,
  actor: Actor,
  bodies: readonly unknown[],
  { query, sent }: { readonly query: Query; readonly sent?: readonly object[] },
): Act<KeptAnswer> {
  allow(plan, 'create', actor, true)
  query.refuseAll()
  refuseNumber(bodies.length)
  const { $operation } = operationOf(actor)
  const acts = bodies.map((body, at) =>
    createOne(plan, actor, body, { operation: $operation, sent: sent?.[at] }),
  )
  return { ...(yield* answerAll(acts, () => repeatedValues(plan, actor, bodies))), status: 201 }
}

function* createOne(
  plan: Plan,
  actor: Actor,
  body: unknown,
  part: { readonly operation: string; readonly sent: object | undefined },
): Act<KeptAnswer> {
  if (!isRecord(body)) throw invalidAt('', 'must be an object')
  return yield* create(plan, actor, body, part)
}

async function createHooked(context: Context, plan: Plan, call: Call): Promise<Answer> {
  const { caller, body, query } = call
  const known = await replayOf(context, call)
  if (known !== undefined) return known
  query.refuseAll()
  const asking = askingOf(call)
  if (!Array.isArray(body)) {
    const hooked = await beforeCreate(context, plan, asking, body)
    const { sent } = hooked
    return performOnce(context, call, () => create(plan, caller.actor, hooked.body, { query, sent }))
  }
  const hooked = await beforeEach(body, (one) => beforeCreate(context, plan, asking, one))
  const bodies = hooked.map((one) => one.body)
  const sent = hooked.map((one) => one.sent)
  return transactOnce(context, call, () => createMany(plan, caller.actor, bodies, { query, sent }))
}

/** Creates one Entity or a list. */
export const createEntity = entityEndpoint({
  name: 'create',
  method: 'POST',
  path: '/api/{entity}/',
  parameters: ['invite', ...writing],
  body: 'any',
  rule: { all: ['create'] },
  signsUp: (plan) => signsUp(plan),
  describe: (about) => ({
    summary: `Create ${about.one}`,
    description: `Send a list to create several as one operation: all of them or none. ${about.access('create')}`,
    body: {
      schema: { anyOf: [about.schema('create'), manyOf(about.schema('create'))] },
      example: about.sample(about.type),
    },
    answers: [
      {
        ...entitySuccess(about, 201, ''),
        description: 'Created. A list is answered in the same order, without `ETag` and `Location`.',
        headers: ['ETag', 'Takeback-Operation', 'Location', 'Idempotent-Replay'],
        schema: { anyOf: [about.schema('one'), about.schema('made')] },
      },
    ],
    codes: [...about.refusals('create', true), ...hookCodes(about, 'create'), 'busy', 'disk_full'],
  }),
  async run(context, plan, call) {
    const { caller, body, query } = call
    if (query.has('invite')) return inviteUser(context, plan, call)
    // One sign-up was counted before the body was read.
    if (Array.isArray(body) && signsUp(plan, caller.actor)) await call.signUp(body.length)
    if (hasHook(plan, 'create')) return createHooked(context, plan, call)
    return Array.isArray(body)
      ? transactOnce(context, call, () => createMany(plan, caller.actor, body, { query }))
      : performOnce(context, call, () => create(plan, caller.actor, body, { query }))
  },
})
