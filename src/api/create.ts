import { Failure, invalid } from '../errors.ts'
import type { Plan } from '../plan/compile.ts'
import type { Actor } from '../plan/viewer/actor.ts'
import type { Act } from '../store/act.ts'
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
import { Query } from './query.ts'

/** `POST /api/<entity>/` */
export function* create(
  plan: Plan,
  actor: Actor,
  body: unknown,
  query = Query.empty,
  operation?: string,
): Act<KeptAnswer> {
  allow(plan, 'create', actor, true)
  query.refuseAll()
  const errors = new Map<string, string[]>()
  const bag = operationOf(actor, undefined, operation)
  const view = plan.view(actor)
  const guarded = guardedIn(view.guarded.create, body)
  plan.bind(view.check('whole', body, errors), bag)
  noteOwnPassword(plan, { password: bag.password, email: bag.email }, errors)
  bindEmailKey(plan, bag)
  bindEpoch(plan, bag)
  if (errors.size > 0)
    yield* refuseFaulty(plan, actor, { action: 'create', bag, self: 0, manner: { guarded }, errors })
  if (plan.secrets.length > 0) yield* hashSecrets(plan, bag)
  for (let tries = 0; tries < TRIES; tries++) {
    // Most creates come to an end here: what they need not ask, they do not make a generator for.
    const outcome = yield { kind: 'write', steps: view.writes.create(guarded), bag }
    if (outcome.done) {
      const [written] = outcome.rows
      const row = view.hides ? yield* shownTo(view, actor, written) : written
      return entityAnswer(201, plan, row, bag.$operation)
    }
    yield* refuseForbidden(plan, actor, { action: 'create', bag, manner: { guarded }, errors })
    yield* noteFaults(plan, bag, 0, actor, errors)
    if (errors.size > 0) throw invalid(errors)
  }
  throw new Failure('busy')
}
