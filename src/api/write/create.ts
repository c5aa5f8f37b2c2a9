import type { Values } from '../../declare/values.ts'
import { addErrors, type Errors, Failure, invalid, invalidAt } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { entityRow } from '../../plan/view/entity-row.ts'
import type { View } from '../../plan/view/view.ts'
import { type Actor, system } from '../../plan/viewer/actor.ts'
import type { Act } from '../../store/act.ts'
import type { Params } from '../../store/dialect.ts'
import { concealsSignUp, SIGN_UP_ALONE } from '../account/sign-up.ts'
import { allow, entityAnswer, type KeptAnswer, operationOf, shownTo, TRIES } from '../context.ts'
import {
  addFaults,
  addPasswordErrors,
  bindEmailKey,
  bindEpoch,
  guardedIn,
  hashSecrets,
  refuseFaulty,
  refuseForbidden,
} from '../faults.ts'
import { Query } from '../query.ts'
import { provideNew } from './provide.ts'

/** A new Entity with a checked body. */
interface NewDraft {
  readonly view: View
  readonly params: Params & { $operation: string }
  /** The dot paths in the body that have rules of their own. */
  readonly guarded: readonly string[]
  readonly values: Values
  readonly errors: Errors
}

/** Checks a body on its own, and notes errors. */
export function draftOf(
  plan: Plan,
  actor: Actor,
  body: unknown,
  { operation, sent }: Pick<Creating, 'operation' | 'sent'>,
): NewDraft {
  const errors: Errors = new Map()
  const view = plan.view(actor)
  const { check } = sent === undefined ? view : plan.view(system)
  return {
    view,
    params: operationOf(actor, undefined, operation),
    guarded: guardedIn(view.guarded.create, sent ?? body),
    values: check('whole', body, errors),
    errors,
  }
}

/** Binds the values, and those that logins need. */
export function bindDraft(plan: Plan, { values, params, errors }: NewDraft): void {
  plan.bind(values, params)
  addPasswordErrors(plan, { password: params.password, email: params.email }, errors)
  bindEmailKey(plan, params)
  bindEpoch(plan, params)
}

interface Creating {
  readonly query?: Query
  /** The operation that the create belongs to, if any. */
  readonly operation?: string | undefined
  /** The body that the caller sent, if a hook has changed it. The caller's rules apply to this body only. */
  readonly sent?: object | undefined
  /** Whether the e-mail is proved to be theirs: then they may learn that it is taken. */
  readonly proved?: boolean
}

const noErrors: Errors = new Map()

/** Throws errors of expressions. They may reveal other Entities, so only callers whom the rule allows see them. */
export function* refuseProvided(
  plan: Plan,
  actor: Actor,
  {
    params,
    guarded,
    errors,
    found,
  }: { params: Params; guarded: readonly string[]; errors: Errors; found: Errors },
): Act<void> {
  yield* refuseForbidden(plan, actor, { action: 'create', params, options: { guarded }, errors })
  addErrors(errors, found)
}

/** `POST /api/<entity>/` */
export function* create(
  plan: Plan,
  actor: Actor,
  body: unknown,
  { query = Query.empty, operation, sent, proved = false }: Creating = {},
): Act<KeptAnswer> {
  allow(plan, 'create', actor, true)
  query.refuseAll()
  // The answer would reveal whether the e-mail is taken.
  if (!proved && concealsSignUp(plan, actor)) throw invalidAt('', SIGN_UP_ALONE)
  const draft = draftOf(plan, actor, body, { operation, sent })
  const { view, params, guarded, errors } = draft
  const found = view.provided === undefined ? noErrors : yield* provideNew(plan, actor, draft)
  bindDraft(plan, draft)
  if (found.size > 0) yield* refuseProvided(plan, actor, { params, guarded, errors, found })
  if (errors.size > 0)
    yield* refuseFaulty(plan, actor, { action: 'create', params, self: 0, options: { guarded }, errors })
  if (plan.secrets.length > 0) yield* hashSecrets(plan, params)
  for (let tries = 0; tries < TRIES; tries++) {
    // Most creates end here, so this path avoids the cost of another generator.
    const outcome = yield { kind: 'write', steps: view.writes.create(guarded), params }
    if (outcome.done) {
      const written = entityRow(outcome.rows[0])
      const shown = view.hides ? yield* shownTo(view, actor, written) : written
      return entityAnswer(201, plan, shown, params.$operation)
    }
    yield* refuseForbidden(plan, actor, { action: 'create', params, options: { guarded }, errors })
    yield* addFaults(plan, actor, { params, self: 0, options: { guarded }, errors })
    if (errors.size > 0) throw invalid(errors)
  }
  throw new Failure('busy')
}
