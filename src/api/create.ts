import { type Errors, Failure, invalid, noteAll } from '../errors.ts'
import type { Plan } from '../plan/compile.ts'
import { entityRow } from '../plan/view/entity-row.ts'
import { type Actor, system } from '../plan/viewer/actor.ts'
import type { Act } from '../store/act.ts'
import type { Params } from '../store/dialect.ts'
import { allow, entityAnswer, type KeptAnswer, operationOf, shownTo, TRIES } from './context.ts'
import {
  bindEmailKey,
  bindEpoch,
  guardedIn,
  hashSecrets,
  noteFaults,
  noteOwnPassword,
  refuseFaulty,
  refuseForbidden,
} from './faults.ts'
import { provideNew } from './provide.ts'
import { Query } from './query.ts'

interface Creating {
  readonly query?: Query
  /** The operation that it belongs to, if any. */
  readonly operation?: string
  /** If a hook has made the body: what the caller had sent. The caller's rules hold for that alone. */
  readonly sent?: object | undefined
}

const noErrors: Errors = new Map()

/** What an expression gives may say something about other Entities: only callers whom the rule allows learn of it. */
function* refuseProvided(
  plan: Plan,
  actor: Actor,
  {
    params,
    guarded,
    errors,
    found,
  }: { params: Params; guarded: readonly string[]; errors: Errors; found: Errors },
): Act<void> {
  yield* refuseForbidden(plan, actor, { action: 'create', params, manner: { guarded }, errors })
  noteAll(errors, found)
}

/** `POST /api/<entity>/` */
export function* create(
  plan: Plan,
  actor: Actor,
  body: unknown,
  { query = Query.empty, operation, sent }: Creating = {},
): Act<KeptAnswer> {
  allow(plan, 'create', actor, true)
  query.refuseAll()
  const errors = new Map<string, string[]>()
  const params = operationOf(actor, undefined, operation)
  const view = plan.view(actor)
  const guarded = guardedIn(view.guarded.create, sent ?? body)
  const { check } = sent === undefined ? view : plan.view(system)
  const values = check('whole', body, errors)
  const found =
    view.provided === undefined ? noErrors : yield* provideNew(plan, actor, { values, params, errors })
  plan.bind(values, params)
  if (found.size > 0) yield* refuseProvided(plan, actor, { params, guarded, errors, found })
  noteOwnPassword(plan, { password: params.password, email: params.email }, errors)
  bindEmailKey(plan, params)
  bindEpoch(plan, params)
  if (errors.size > 0)
    yield* refuseFaulty(plan, actor, { action: 'create', params, self: 0, manner: { guarded }, errors })
  if (plan.secrets.length > 0) yield* hashSecrets(plan, params)
  for (let tries = 0; tries < TRIES; tries++) {
    // Most creates end here, so this path avoids the cost of another generator.
    const outcome = yield { kind: 'write', steps: view.writes.create(guarded), params }
    if (outcome.done) {
      const written = entityRow(outcome.rows[0])
      const shown = view.hides ? yield* shownTo(view, actor, written) : written
      return entityAnswer(201, plan, shown, params.$operation)
    }
    yield* refuseForbidden(plan, actor, { action: 'create', params, manner: { guarded }, errors })
    yield* noteFaults(plan, actor, { params, self: 0, manner: { guarded }, errors })
    if (errors.size > 0) throw invalid(errors)
  }
  throw new Failure('busy')
}
