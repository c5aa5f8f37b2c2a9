import { isRecord } from '../../declare/record.ts'
import { addError, type Errors, invalid, invalidAt } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { type Actor, passesRules } from '../../plan/viewer/actor.ts'
import type { Act } from '../../store/act.ts'
import { someMessage } from '../account/account-link.ts'
import { signUpConcealed } from '../account/concealed-sign-up.ts'
import { inviteUser } from '../account/invite.ts'
import { concealsSignUp, signsUp } from '../account/sign-up.ts'
import { vouching } from '../account/verified.ts'
import type { Call } from '../call.ts'
import { type Answer, allow, type Context, type KeptAnswer, operationOf } from '../context.ts'
import { type AboutEntity, entitySuccess, hookCodes, manyOf, type Success } from '../description.ts'
import { entityEndpoint } from '../endpoint.ts'
import { replayOf } from '../idempotency.ts'
import { writing } from '../parameters.ts'
import { Query } from '../query.ts'
import { answerAll, refuseNumber, repeatedValues } from '../read/list-body.ts'
import { create } from './create.ts'
import { beforeCreate, beforeEach, hasHook, hookCallerOf } from './hooks.ts'
import { performPlanned, transactPlanned } from './planned.ts'

/** `POST /api/<entity>/` with a list: creates all or none, as one operation. To be run in one transaction. */
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

/** How the acts of a create are run. */
interface Making {
  readonly query: Query
  readonly once: typeof performPlanned
  around(act: Act<KeptAnswer>): Act<KeptAnswer>
}

/** With `?verified=1` admins mark the addresses of new users as proved, in the same transaction. */
function makingOf(context: Context, plan: Plan, { query, caller }: Call): Making {
  if (!query.has('verified')) return { query, once: performPlanned, around: (act) => act }
  const errors: Errors = new Map()
  const { verified } = query.take(errors)
  if (plan.type.login?.verify !== true)
    addError(errors, 'verified', 'is only for types that log in with verify')
  else if (verified !== '1') addError(errors, 'verified', 'must be 1')
  else if (!passesRules(caller.actor)) addError(errors, 'verified', 'is only for admins')
  if (errors.size > 0) throw invalid(errors)
  return { query: Query.empty, once: transactPlanned, around: (act) => vouching(context, plan, act) }
}

async function createHooked(
  context: Context,
  plan: Plan,
  call: Call,
  { query, once, around }: Making,
): Promise<Answer> {
  const { caller, body } = call
  const known = await replayOf(context, call)
  if (known !== undefined) return known
  query.refuseAll()
  const hookCaller = hookCallerOf(call)
  if (!Array.isArray(body)) {
    const hooked = await beforeCreate(context, plan, hookCaller, body)
    const { sent } = hooked
    return once(context, call, () => around(create(plan, caller.actor, hooked.body, { query, sent })))
  }
  const hooked = await beforeEach(body, (one) => beforeCreate(context, plan, hookCaller, one))
  const bodies = hooked.map((one) => one.body)
  const sent = hooked.map((one) => one.sent)
  return transactPlanned(context, call, () => around(createMany(plan, caller.actor, bodies, { query, sent })))
}

/** The answers of a sign-up whose e-mail address must be proved. */
function concealedAnswers({ type, isPublic }: AboutEntity): Success[] {
  if (type.login?.verify !== true || !isPublic(type, 'create')) return []
  const description =
    'The answer to callers without a token, whether or not the e-mail is taken: whoever has the address gets a mail.'
  return [{ status: 202, description, headers: ['Idempotent-Replay'], schema: someMessage }]
}

/** Creates one Entity or a list. */
export const createEntity = entityEndpoint({
  name: 'create',
  method: 'POST',
  path: '/api/{entity}/',
  parameters: ['invite', 'verified', ...writing],
  plans: 'apart',
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
      ...concealedAnswers(about),
    ],
    codes: [...about.refusals('create', true), ...hookCodes(about, 'create'), 'busy', 'disk_full'],
  }),
  async run(context, plan, call) {
    const { caller, body } = call
    if (call.query.has('invite')) return inviteUser(context, plan, call)
    const making = makingOf(context, plan, call)
    if (concealsSignUp(plan, caller.actor)) return signUpConcealed(context, plan, call)
    // One sign-up was counted before the body was read.
    if (Array.isArray(body) && signsUp(plan, caller.actor)) await call.signUp(body.length)
    if (hasHook(plan, 'create')) return createHooked(context, plan, call, making)
    const { query, once, around } = making
    return Array.isArray(body)
      ? transactPlanned(context, call, () => around(createMany(plan, caller.actor, body, { query })))
      : once(context, call, () => around(create(plan, caller.actor, body, { query })))
  },
})
