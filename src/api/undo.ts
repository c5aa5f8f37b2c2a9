import { budget } from '../budget.ts'
import { no } from '../declare/cel/expression.ts'
import { isRecord } from '../declare/record.ts'
import { type Errors, Failure, invalid, note } from '../errors.ts'
import {
  type Conflicts,
  changedSince,
  conflictsOf,
  type Moved,
  type Reversal,
  reverse,
  sheavesOf,
} from '../journal/undo.ts'
import type { Actor } from '../plan/actor.ts'
import { LAST_ADMIN } from '../plan/admins.ts'
import { FORBIDDEN, MOVED, type Obstacle, type Sheaf } from '../plan/amend.ts'
import type { Filter } from '../plan/operations.ts'
import { uniquesOf } from '../plan/schema.ts'
import { mayOf, type View } from '../plan/view.ts'
import { type Act, after, read, write } from '../store/act.ts'
import type { Bag, Row } from '../store/dialect.ts'
import { sql } from '../store/sql.ts'
import { type Outcome, step } from '../store/step.ts'
import { askedBy, type Context, type KeptAnswer, operationOf, refusal, TRIES } from './context.ts'
import { filterBag, parseFilter, visible, visibleOperation } from './operations.ts'
import { parseFlag, type Query } from './query.ts'

/** `POST /api/operations/<id>/undo/` */
export function* undo(context: Context, actor: Actor, id: string, query: Query): Act<KeptAnswer> {
  const asked = parseFlags(query)
  yield* visibleOperation(context, actor, id)
  return yield* takeBack(context, actor, [id], asked)
}

/** `POST /api/operations/undo/` `{actor?, since?, until?, entity?}`: all that match, as one operation. */
export function* undoMany(context: Context, actor: Actor, body: unknown, query: Query): Act<KeptAnswer> {
  const asked = parseFlags(query)
  const filter = filterOf(context, actor, body)
  const { statement, bag } = filterBag(filter, (one) =>
    context.operations.matching(one, budget.undoOperations + 1),
  )
  const rows = yield* read(statement, bag)
  if (rows.length > budget.undoOperations)
    throw invalid(
      new Map([['since', [`matches more than ${budget.undoOperations} operations: say a later time`]]]),
    )
  return yield* takeBack(
    context,
    actor,
    rows.map(([operation]) => String(operation)),
    asked,
  )
}

interface Asked {
  readonly dryRun: boolean
  readonly skipConflicts: boolean
}

function parseFlags(query: Query): Asked {
  const errors: Errors = new Map()
  const given = query.take(['dry_run', 'skip_conflicts'], errors)
  const dryRun = parseFlag('dry_run', given.dry_run, errors)
  const skipConflicts = parseFlag('skip_conflicts', given.skip_conflicts, errors)
  if (errors.size > 0) throw invalid(errors)
  return { dryRun, skipConflicts }
}

const FILTERS = ['actor', 'since', 'until', 'entity'] as const

function filterOf(context: Context, actor: Actor, body: unknown): Filter {
  const errors: Errors = new Map()
  const given = isRecord(body) ? body : {}
  for (const name of Object.keys(given))
    if (!FILTERS.some((one) => one === name)) note(errors, name, 'is not known here')
  const texts = FILTERS.map((name) => {
    const value = given[name]
    if (value === undefined || value === null) return [name, undefined]
    return [name, typeof value === 'string' ? value : note(errors, name, 'must be a text')]
  })
  const filter = parseFilter(context, Object.fromEntries(texts), errors)
  const seen = visible(actor, filter)
  if (Object.values(filter).every((one) => one === undefined) && errors.size === 0)
    note(errors, 'since', 'is required, or another of actor, until and entity')
  if (errors.size > 0) throw invalid(errors)
  return seen
}

/**
 * Looks at what the operations have touched, works out what would take it back, and does that as one operation. What
 * has moved meanwhile is looked at anew.
 */
function* takeBack(
  context: Context,
  actor: Actor,
  operations: readonly string[],
  { dryRun, skipConflicts }: Asked,
): Act<KeptAnswer> {
  const skipped: Conflicts = new Map()
  for (let tries = 0, skips = 0; tries < TRIES && skips < budget.undoSkips; ) {
    const rows = yield* read(context.operations.touched, {
      $operations: JSON.stringify(operations),
    })
    refuseUntouchable(context, actor, rows)
    const { reversals: found, conflicts, moved } = reverse(rows, context.plans, new Set(skipped.keys()))
    refuseSelf(actor, found, conflicts)
    for (const [name, sentences] of conflicts) skipped.set(name, sentences)
    for (const [name, one] of moved) skipped.set(name, [yield* explain(actor, one, skipped.size)])
    if (skipped.size > 0 && !skipConflicts) throw cannot(skipped)
    const reversals = found.filter(({ plan, amendment }) => !skipped.has(`${plan.type.name}/${amendment.id}`))
    refuseForbidden(actor, reversals)
    if (reversals.length === 0) return answerOf(actor, null, operations, [], skipped)

    const sheaves = sheavesOf(reversals)
    const { steps, bag } = context.amend.steps(sheaves, operations, viewOf(context, actor).viewer)
    const operation = operationOf(actor)
    const all = dryRun ? [...steps, step(context.store.dialect, DRY, 'none', sql`SELECT 1`)] : steps
    const outcome = yield* write(all, { ...bag, ...operation })
    if (outcome.done || outcome.step === DRY) {
      if (outcome.done) yield* after(() => context.identities.forget())
      return answerOf(actor, outcome.done ? operation.$operation : null, operations, reversals, skipped)
    }
    if (outcome.step === FORBIDDEN) throw new Failure('forbidden')
    const against = yield* obstaclesTo(context, outcome, { sheaves, bag })
    const obstacles = conflictsOf(against, viewOf(context, actor).naming)
    if (obstacles.size === 0 && outcome.step === 'unique' && tries > 0) throw cannot(clash(sheaves))
    if (obstacles.size === 0) tries++
    else if (!skipConflicts) throw cannot(obstacles)
    else {
      skips++
      for (const [name, sentences] of obstacles) skipped.set(name, sentences)
    }
  }
  throw new Failure('busy')
}

/** What has changed since, of as many as are named. */
function* explain(actor: Actor, moved: Moved, named: number): Act<string> {
  const { plan, id, last } = moved
  if (named >= budget.namedChanges) return changedSince(moved, undefined, undefined)
  const view = plan.view(actor)
  const [state] = yield* read(view.state, { ...askedBy(actor), $id: id })
  const mayKnow = state !== undefined && mayOf(state, 'read') && mayOf(state, 'history')
  if (!mayKnow) return changedSince(moved, undefined, undefined)
  const [row] = yield* read(plan.history.version, { $id: id, $version: last })
  return changedSince(moved, row?.[6] == null ? undefined : JSON.parse(String(row[6])), view.fields)
}

/** Goes all the way, and back again: what stands in the way of it is found as it would be. */
const DRY = 'dry'

/** What the database found to stand against it; nothing where it has only moved. */
export function* obstaclesTo(
  context: Context,
  outcome: Extract<Outcome, { done: false }>,
  { sheaves, bag }: { readonly sheaves: readonly Sheaf[]; readonly bag: Bag },
): Act<Obstacle[]> {
  if (outcome.step === MOVED) return []
  if (outcome.step === LAST_ADMIN) throw new Failure('last_admin')
  if (outcome.step !== 'unique') return context.amend.obstacles(outcome.step, outcome.rows)
  const found: Obstacle[] = []
  for (const { statement } of context.amend.taken(sheaves))
    found.push(...context.amend.obstacles('taken', yield* read(statement, bag)))
  return found
}

/** Whoever may do nothing at all to a type is not told what became of it either. */
function refuseUntouchable(context: Context, actor: Actor, rows: readonly Row[]): void {
  const acts = ['update', 'delete', 'restore'] as const
  for (const entity of new Set(rows.map(([name]) => String(name)))) {
    const plan = context.plans.get(entity)
    if (plan !== undefined && !acts.some((act) => plan.view(actor).may[act] !== no))
      throw new Failure('forbidden')
  }
}

/** Nobody takes back their own account: who would be left to undo that? */
function refuseSelf(actor: Actor, reversals: readonly Reversal[], conflicts: Conflicts): void {
  if (actor.kind !== 'user') return
  for (const { plan, amendment } of reversals)
    if (amendment.kind === 'delete' && plan.type.name === actor.entity && amendment.id === actor.id)
      conflicts.set(`${actor.entity}/${actor.id}`, ['is the account of whoever asks for this'])
}

/** Whoever takes something back does what that takes. What depends on the Entity is looked at when it is done. */
function refuseForbidden(actor: Actor, reversals: readonly Reversal[]): void {
  for (const { plan, amendment } of reversals)
    if (plan.view(actor).may[amendment.kind] === no) throw refusal(plan, amendment.kind, actor, true)
}

/** What is the same for all types: who meets the rules as this actor does, and what may be named to them. */
function viewOf({ plans }: Context, actor: Actor): Pick<View, 'viewer' | 'naming'> {
  const [plan] = plans.values()
  if (plan === undefined) throw new Failure('not_found')
  return plan.view(actor)
}

/** No other one has the value: two of those that would come back do. */
function clash(sheaves: readonly Sheaf[]): Conflicts {
  const types = new Set(sheaves.map(({ type }) => type).filter((type) => uniquesOf(type).length > 0))
  return new Map(
    [...types].map(({ name }) => [name, ['would have two with the same value that must be unique']]),
  )
}

function cannot(conflicts: Conflicts): Failure {
  return new Failure('cannot_undo', { errors: new Map([...conflicts].slice(0, budget.namedChanges)) })
}

function changeOf({ plan, amendment: { id, kind }, changed, unmapped: all }: Reversal, actor: Actor): object {
  const view = plan.view(actor)
  const unmapped = all.filter((path) => view.naming.column(plan.type.name, path))
  return {
    entity: plan.type.name,
    id,
    kind,
    changed: kind === 'delete' ? {} : changed(view.fields),
    ...(unmapped.length > 0 && { unmapped }),
  }
}

function answerOf(
  actor: Actor,
  operation: string | null,
  undone: readonly string[],
  reversals: readonly Reversal[],
  skipped: Conflicts,
): KeptAnswer {
  const shown = reversals.slice(0, budget.namedChanges)
  const body = {
    operation,
    undone: undone.length,
    total: reversals.length,
    changes: shown.map((one) => changeOf(one, actor)),
    skipped: Object.fromEntries([...skipped].slice(0, budget.namedChanges)),
  }
  return {
    status: 200,
    body: JSON.stringify(body),
    ...(operation !== null && { headers: { 'Takeback-Operation': operation } }),
    shows: shown.map(({ plan, amendment }) => [plan.type.name, amendment.id]),
  }
}
