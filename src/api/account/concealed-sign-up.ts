import { emailKey } from '../../declare/email-key.ts'
import { Failure, invalid, invalidAt } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { memberColumns } from '../../plan/read/login.ts'
import { EMAIL_KEY } from '../../plan/tables/schema.ts'
import { nobody } from '../../plan/viewer/actor.ts'
import { type Act, read, write } from '../../store/act.ts'
import type { Params } from '../../store/dialect.ts'
import type { Outcome } from '../../store/step.ts'
import { taskParams } from '../../work/queues.ts'
import type { Call } from '../call.ts'
import { type Answer, allow, type Context, type KeptAnswer, TRIES } from '../context.ts'
import { addFaults, hashSecrets, refuseFaulty, refuseForbidden } from '../faults.ts'
import { performOnce, replayOf } from '../idempotency.ts'
import { perform } from '../perform.ts'
import { bindDraft, draftOf, refuseProvided } from '../write/create.ts'
import { beforeCreate, hasHook, hookCallerOf } from '../write/hooks.ts'
import { provideNew } from '../write/provide.ts'
import { countMail, messageAnswer } from './account-link.ts'
import { mailTask } from './mail-queue.ts'
import { SIGN_UP_ALONE } from './sign-up.ts'

/** A key that no e-mail has. */
const UNTAKEN = ' '

/**
 * `POST /api/<entity>/` without a token, for a type whose users prove their addresses. The answer and the work are the
 * same whether or not the e-mail is taken: the answer has no Entity, one hash is made, one transaction is committed.
 */
export async function signUpConcealed(context: Context, plan: Plan, call: Call): Promise<Answer> {
  allow(plan, 'create', nobody, true)
  call.query.refuseAll()
  if (Array.isArray(call.body)) throw invalidAt('', SIGN_UP_ALONE)
  const known = await replayOf(context, call)
  if (known !== undefined) return known
  const { body, sent } = hasHook(plan, 'create')
    ? await beforeCreate(context, plan, hookCallerOf(call), call.body)
    : { body: call.body, sent: undefined }
  await perform(context.store, checkSignUp(plan, { body, sent }), call.signal)
  // Sign-ups by the user's code are not counted: the code must limit them itself.
  if (call.depth === undefined) await countSignUp(context, call, body)
  const answer = await performOnce(context, call, () => signUp(context, plan, { body, sent }))
  context.work.wake()
  return answer
}

/** Counts by e-mail only: sign-ups from one address are limited elsewhere. */
async function countSignUp(context: Context, call: Call, { email }: { email?: unknown }): Promise<void> {
  if (typeof email !== 'string') return
  const key = emailKey(email)
  const digest = context.digestOf(key)
  call.recordAccount(digest)
  await countMail(context, `${call.address} ${digest}`, `sign-up ${key}`, async () => {})
}

interface SentSignUp {
  readonly body: unknown
  /** The body that the caller sent, if a hook has changed it. */
  readonly sent?: object | undefined
}

function* signUp(context: Context, plan: Plan, body: SentSignUp): Act<KeptAnswer> {
  const { params, guarded, check } = yield* checkSignUp(plan, body)
  yield* hashSecrets(plan, params)
  const { login, type } = plan
  if (login === undefined) throw new Failure('not_found')
  const steps = plan.view(nobody).writes.create(guarded)
  for (let tries = 0; tries < TRIES; tries++) {
    const [row] = yield* read(login.byEmail, { [EMAIL_KEY]: params[EMAIL_KEY] ?? null })
    // The mail to a new user is sent by a follower of the journal.
    const { done } =
      row === undefined
        ? yield* write(steps, params)
        : yield* tellOwner(context, type.name, Number(memberColumns.read(row).id), params)
    if (done) return messageAnswer('A mail with a link is on its way. Follow it, then log in.', 202)
    yield* check()
  }
  throw new Failure('busy')
}

/** Tells the owner of the address by mail. */
function tellOwner(context: Context, entity: string, id: number, params: Params): Act<Outcome> {
  const address = { entity, id, key: String(params[EMAIL_KEY]) }
  const tried = context.tried.keeping(address, String(params.password))
  const task = mailTask({ mail: 'taken', entity, id })
  return write([...tried.steps, context.work.enqueue], { ...tried.params, ...taskParams([task]) })
}

/** Throws all errors of a sign-up, except that the e-mail is taken. The returned `check` asks the database again. */
export function* checkSignUp(plan: Plan, { body, sent }: SentSignUp) {
  const draft = draftOf(plan, nobody, body, { sent })
  const { view, params, guarded, errors } = draft
  const found = view.provided === undefined ? new Map() : yield* provideNew(plan, nobody, draft)
  bindDraft(plan, draft)
  const untaken = { ...params, ...(params[EMAIL_KEY] !== undefined && { [EMAIL_KEY]: UNTAKEN }) }
  const about = { params: untaken, options: { guarded }, errors }
  if (found.size > 0) yield* refuseProvided(plan, nobody, { params: untaken, guarded, errors, found })
  yield* refuseFaulty(plan, nobody, { action: 'create', self: 0, ...about })
  const check = function* (): Act<void> {
    yield* refuseForbidden(plan, nobody, { action: 'create', ...about })
    yield* addFaults(plan, nobody, { self: 0, ...about })
    if (errors.size > 0) throw invalid(errors)
  }
  yield* check()
  return { params, guarded, check }
}
