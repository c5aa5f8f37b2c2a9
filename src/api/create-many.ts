import { isRecord } from '../declare/record.ts'
import { invalidAt } from '../errors.ts'
import type { Plan } from '../plan/compile.ts'
import type { Actor } from '../plan/viewer/actor.ts'
import type { Act } from '../store/act.ts'
import { allow, type KeptAnswer, operationOf } from './context.ts'
import { create } from './create.ts'
import { entitySuccess, manyOf } from './description.ts'
import { entityEndpoint } from './endpoint.ts'
import { answerAll, refuseNumber, repeatedValues } from './list-body.ts'
import { performOnce, transactOnce } from './once.ts'
import { writing } from './parameters.ts'
import type { Query } from './query.ts'
import { signsUp } from './sign-up.ts'

/** `POST /api/<entity>/` with a list: all of them or none, as one operation. To be run in one transaction. */
export function* createMany(
  plan: Plan,
  actor: Actor,
  bodies: readonly unknown[],
  query: Query,
): Act<KeptAnswer> {
  allow(plan, 'create', actor, true)
  query.refuseAll()
  refuseNumber(bodies.length)
  const { $operation } = operationOf(actor)
  const acts = bodies.map((body) => createOne(plan, actor, body, $operation))
  return { ...(yield* answerAll(acts, () => repeatedValues(plan, actor, bodies))), status: 201 }
}

function* createOne(plan: Plan, actor: Actor, body: unknown, operation: string): Act<KeptAnswer> {
  if (!isRecord(body)) throw invalidAt('', 'must be an object')
  return yield* create(plan, actor, body, { operation })
}

/** Creates one Entity or a list. */
export const createEntity = entityEndpoint({
  name: 'create',
  method: 'POST',
  path: '/api/{entity}/',
  parameters: [...writing],
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
    codes: [...about.refusals('create', true), 'busy', 'disk_full'],
  }),
  async run(context, plan, call) {
    const { caller, body, query } = call
    if (!Array.isArray(body))
      return performOnce(context, call, () => create(plan, caller.actor, body, { query }))
    // One sign-up was counted before the body was read.
    if (signsUp(plan, caller.actor)) await call.signUp(body.length)
    return transactOnce(context, call, () => createMany(plan, caller.actor, body, query))
  },
})
