import { type Errors, Failure, invalid } from '../errors.ts'
import { type Actor, system } from '../plan/actor.ts'
import type { Plan } from '../plan/compile.ts'
import { type Act, after, read, write } from '../store/act.ts'
import type { Bag, Row } from '../store/dialect.ts'
import {
  type Answer,
  allow,
  type Context,
  entityAnswer,
  matches,
  operationOf,
  type Preconditions,
  refuseByRule,
  TRIES,
} from './context.ts'
import { perform } from './perform.ts'
import { parseFlag, Query } from './query.ts'

interface Removal {
  readonly id: number
  readonly query: Query
  readonly when: Preconditions
  /** The one that it is a part of, if any. */
  readonly operation?: string
}

/** `DELETE /api/<entity>/<id>/`, with `?restore=1` and `?purge=1`. */
export function* remove(
  context: Context,
  plan: Plan,
  actor: Actor,
  { id, query, when, operation }: Removal,
): Act<Answer> {
  const errors: Errors = new Map()
  const given = query.take(['restore', 'purge'], errors)
  const restore = parseFlag('restore', given.restore, errors)
  const purge = parseFlag('purge', given.purge, errors)
  if (restore && purge) errors.set('purge', ['does not go together with restore'])
  allow(plan, purge ? 'purge' : restore ? 'restore' : 'delete', actor)
  if (errors.size > 0) throw invalid(errors)
  const act = purge ? purgeEntity : restore ? restoreEntity : deleteEntity
  for (let tries = 0; tries < TRIES; tries++) {
    const bag = { ...operationOf(actor, when, operation), $id: id }
    const answer = yield* act(context, plan, actor, bag)
    if (plan.view(actor).removals.endsLogins) yield* after(() => context.identities.forget())
    if (answer !== undefined) return answer
  }
  throw new Failure('busy')
}

/** Erases for good, as the system, what is deleted already. */
export function purge(context: Context, plan: Plan, id: number): Promise<Answer> {
  const query = new Query([['purge', '1']])
  return perform(context.store, remove(context, plan, system, { id, query, when: { ifMatch: null } }))
}

type Operation = Bag & { $operation: string; $id: number }

/** An Entity in whatever state: id, version, JSON, the operation that deleted it. */
function* stateOf(
  plan: Plan,
  action: 'delete' | 'restore' | 'purge',
  actor: Actor,
  bag: Operation,
): Act<Row> {
  const [row] = yield* read(plan.view(actor).state, bag)
  if (row === undefined) throw new Failure('not_found')
  refuseByRule(plan, action, actor, row)
  if (!matches(bag.$versions as string | null, row[1])) throw new Failure('stale')
  return row
}

/** Undefined: others were faster, so look again. */
function* deleteEntity(_context: Context, plan: Plan, actor: Actor, bag: Operation): Act<Answer | undefined> {
  const outcome = yield* write(plan.view(actor).removals.delete, bag)
  if (outcome.done) return entityAnswer(200, outcome.rows[0], bag.$operation)
  if (outcome.step === 'held') throw heldBy(plan, actor, outcome.rows, 'delete')
  const row = yield* stateOf(plan, 'delete', actor, bag)
  return row[3] === null ? undefined : entityAnswer(200, row)
}

function* restoreEntity(
  _context: Context,
  plan: Plan,
  actor: Actor,
  bag: Operation,
): Act<Answer | undefined> {
  const { removals } = plan.view(actor)
  const row = yield* stateOf(plan, 'restore', actor, bag)
  if (row[3] === null) return entityAnswer(200, row)
  bag.$deletion = row[3] ?? null
  const outcome = yield* write(removals.restore, bag)
  if (outcome.done) return entityAnswer(200, outcome.rows[0], bag.$operation)
  const errors: Errors = new Map()
  if (outcome.step === 'dead') {
    removals.explainDead(outcome.rows, errors, bag.$id)
    throw new Failure('target_deleted', { errors })
  }
  if (outcome.step === 'unique') {
    const conflicts = yield* read(removals.conflicts, bag)
    removals.explainConflicts(conflicts, errors, bag.$id)
    if (errors.size > 0) throw invalid(errors)
    removals.explainSetAgain(errors)
    if (errors.size > 0) throw new Failure('in_use', { errors })
  }
  return undefined
}

function* purgeEntity(context: Context, plan: Plan, actor: Actor, bag: Operation): Act<Answer | undefined> {
  const row = yield* stateOf(plan, 'purge', actor, bag)
  if (row[3] === null) throw new Failure('not_deleted')
  bag.$deletion = row[3] ?? null
  const outcome = yield* write(plan.view(actor).removals.purge, bag)
  if (!outcome.done) {
    if (outcome.step === 'held') throw heldBy(plan, actor, outcome.rows, 'purge')
    return undefined
  }
  yield* after(() => context.store.scrub())
  return { status: 204, headers: { 'Takeback-Operation': bag.$operation } }
}

function heldBy(plan: Plan, actor: Actor, rows: readonly Row[], action: 'delete' | 'purge'): Failure {
  const errors: Errors = new Map()
  plan.view(actor).removals.explainHeld(rows, errors, action)
  return new Failure('in_use', { errors })
}
