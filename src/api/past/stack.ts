import { budget } from '../../budget.ts'
import { Failure } from '../../errors.ts'
import { type StackChange, stackOf } from '../../journal/stack.ts'
import type { Plan } from '../../plan/compile.ts'
import { kindColumns } from '../../plan/past/history.ts'
import type { EntityState } from '../../plan/view/entity-row.ts'
import type { Actor } from '../../plan/viewer/actor.ts'
import { type Act, read, write } from '../../store/act.ts'
import {
  type Answer,
  allowed,
  type Context,
  callerParams,
  isMatch,
  type KeptAnswer,
  operationOf,
  type Preconditions,
  refusal,
  signInFirst,
  stateOf,
  TRIES,
} from '../context.ts'
import { refTo } from '../description.ts'
import { entityEndpoint } from '../endpoint.ts'
import { parseId } from '../id.ts'
import { type IdempotentRequest, transactOnce } from '../idempotency.ts'
import { undoneParams } from '../notes.ts'
import { writing } from '../parameters.ts'
import { Query } from '../query.ts'
import { runPlanned } from '../write/planned.ts'
import { undoAnswer } from '../write/preview.ts'
import { remove, removeEntity } from '../write/remove.ts'
import { MovedOn, type TakenBack, takeBack } from './take-back.ts'
import { parseUndo, UNDO_PARAMETERS, type UndoQuery, type UndoRequest, undone } from './undo.ts'

/** The direction of a step through the changes of an Entity. */
export type StackWay = 'undo' | 'redo'

/** Consecutive versions of an Entity that one operation has made. */
interface VersionStep extends StackChange {
  readonly first: number
  readonly last: number
  /** Whether the Entity was live before and after. Undefined before its create, or if that is no longer known. */
  readonly before: boolean | undefined
  readonly after: boolean
}

/** Without parameters for several changes: there is only one. */
const PARAMETERS_OF_ONE = UNDO_PARAMETERS.filter(
  (name) => name !== 'skip_conflicts' && name !== 'with_effects',
)

interface StackRequest {
  readonly way: StackWay
  readonly id: number
  readonly when: Preconditions
  readonly query: UndoQuery
}

/** `POST /api/<entity>/<id>/undo/` and `…/redo/`: takes back one change, or makes it again. */
export function takeOneBack(
  context: Context,
  plan: Plan,
  request: IdempotentRequest,
  { way, id, when, query }: StackRequest,
): Promise<Answer> {
  const { actor } = request.caller
  const options = parseUndo(request, query, PARAMETERS_OF_ONE)
  const make = () => takeStep(context, plan, actor, { way, id, when, options })
  return options.dryRun || options.plan !== undefined
    ? runPlanned(context, request, options, make)
    : transactOnce(context, request, make)
}

function* takeStep(
  context: Context,
  plan: Plan,
  actor: Actor,
  { way, id, when, options }: { way: StackWay; id: number; when: Preconditions; options: UndoRequest },
): Act<KeptAnswer> {
  for (let tries = 0; tries < TRIES; tries++) {
    const { version } = yield* seen(plan, actor, id)
    if (!isMatch(when.ifMatch, version)) throw new Failure('stale')
    const stack = (yield* stackIn(context, plan, id))[way]
    try {
      // A change that changed nothing is taken back together with the one before it.
      for (let depth = 1; depth <= stack.length; depth++) {
        const steps = stack.slice(-depth)
        if (!steps.every(isKnown)) break
        const taken = yield* reverseSteps(context, plan, actor, { id, version, steps, options })
        if (taken.operation === null && taken.skipped.size === 0) continue
        const { dryRun, plan: token, offset } = options
        const undone = steps.map(({ operation }) => operation)
        return yield* undoAnswer(context, actor, { taken, undone, dryRun, plan: token, offset })
      }
      throw new Failure(way === 'undo' ? 'nothing_to_undo' : 'nothing_to_redo')
    } catch (error) {
      if (error instanceof Failure && error.code === 'forbidden' && actor.kind === 'nobody')
        throw signInFirst()
      // Others have changed the Entity since the stack was read.
      if (!(error instanceof MovedOn) && !(error instanceof Failure && error.code === 'stale')) throw error
    }
  }
  throw new Failure('busy')
}

/** Returns the Entity if the caller may see its history. A deleted one is only for callers who may restore it. */
function* seen(plan: Plan, actor: Actor, id: number): Act<EntityState> {
  const found = yield* stateOf(plan.view(actor), { ...callerParams(actor), $id: id })
  const state = allowed(plan, 'history', actor, found)
  if (state.deletion !== null && !state.may('restore')) throw refusal(plan, 'restore', actor, false)
  return state
}

/** Returns what can be undone and redone, from the newest versions. */
function* stackIn(context: Context, plan: Plan, id: number) {
  const found = yield* read(plan.history.kinds(budget.stackVersions), { $id: id })
  const rows = found.map(kindColumns.read)
  if (rows[0]?.kind === 'purge') throw new Failure('not_found')
  const steps = stepsOf(rows.toReversed())
  const operations = steps.map(({ operation }) => operation)
  const links = yield* read(context.notes.undone, { $operations: JSON.stringify(operations) })
  const own = new Set(operations)
  // If older versions were not read, the undone operation may be among them. Else it did not change this Entity.
  const isWhole = rows.length < budget.stackVersions
  return stackOf(
    steps.map((one) => ({
      ...one,
      undoes: links.flatMap(([undone, by]) =>
        by === one.operation && (own.has(String(undone)) || !isWhole) ? [String(undone)] : [],
      ),
    })),
  )
}

/** Groups versions into steps, oldest first. */
function stepsOf(rows: readonly ReturnType<typeof kindColumns.read>[]): VersionStep[] {
  const steps: VersionStep[] = []
  let before: { readonly version: number; readonly isLive: boolean } | undefined
  for (const { version: number, kind, operation, deletion } of rows) {
    const version = Number(number)
    const isLive = kind !== 'delete' && kind !== 'purge' && deletion === null
    const last = steps.at(-1)
    if (last?.operation === operation && last?.last === version - 1)
      steps[steps.length - 1] = { ...last, last: version, after: isLive }
    else
      steps.push({
        operation: String(operation),
        undoes: [],
        first: version,
        last: version,
        before: before?.version === version - 1 ? before.isLive : undefined,
        after: isLive,
      })
    before = { version, isLive }
  }
  return steps
}

/** Whether the journal still has the version before the step, and there is something to take back. */
function isKnown({ first, before, after }: VersionStep): boolean {
  return first === 1 ? after : before !== undefined
}

/** Restores a deletion, deletes what was restored or created, else sets values back. Only `steps[0]` had effects. */
function* reverseSteps(
  context: Context,
  plan: Plan,
  actor: Actor,
  {
    id,
    version,
    steps,
    options,
  }: { id: number; version: number; steps: readonly VersionStep[]; options: UndoRequest },
): Act<TakenBack> {
  const [taken] = steps
  if (taken === undefined) throw new Failure('nothing_to_undo')
  const { first, last, before, after } = taken
  const operations = steps.map(({ operation }) => operation)
  const deletes = after && (first === 1 || before === false)
  const restores = before === true && !after
  if (!(deletes || restores) || (last > first && first > 1))
    return yield* takeBack(context, actor, {
      operations,
      skipConflicts: false,
      with: options.with,
      foreign: false,
      only: { entity: plan.type.name, id, version },
    })
  const own = operationOf(actor)
  const flags: [string, string][] = restores ? [['restore', '1']] : []
  if (options.with.has('targets')) flags.push(['with', 'targets'])
  const query = new Query(flags, removeEntity.takes)
  yield* remove(context, plan, actor, {
    id,
    query,
    when: { ifMatch: `|${version}|` },
    operation: own.$operation,
  })
  yield* write([context.notes.undo], { ...own, ...undoneParams(operations) })
  return { operation: own.$operation, skipped: new Map(), unmapped: new Map(), secrets: new Map() }
}

function stepEndpoint(way: StackWay, { summary, does }: { summary: string; does: string }) {
  return entityEndpoint({
    name: way,
    method: 'POST',
    path: `/api/{entity}/{id}/${way}/`,
    parameters: ['id', 'dry_run', 'with', 'plan', 'cursor', 'If-Match', ...writing],
    plans: 'itself',
    body: 'optional',
    rule: { all: ['history'] },
    describe: (about) => ({
      summary: `${summary} to ${about.one}`,
      description: `${does} ${about.access('history')} The caller must also be allowed to make the resulting change. Parameters may be sent in the query or in the body, which is optional.`,
      body: { schema: refTo('UndoLast'), example: { dry_run: true } },
      answers: [undone],
      codes: [
        'unauthenticated',
        'forbidden',
        'not_found',
        way === 'undo' ? 'nothing_to_undo' : 'nothing_to_redo',
        'cannot_undo',
        'in_use',
        'target_deleted',
        'busy',
        'plan_changed',
        'stale',
        'disk_full',
      ],
    }),
    run(context, plan, call) {
      const { when, query } = call
      return takeOneBack(context, plan, call, { way, id: parseId(call.id), when, query })
    },
  })
}

export const undoLast = stepEndpoint('undo', {
  summary: 'Undo the last change',
  does: 'Takes back the last change to the Entity. Repeat it to go further back. Undoing a delete restores exactly what it deleted; undoing a restore deletes again.',
})

export const redoLast = stepEndpoint('redo', {
  summary: 'Redo the last undone change',
  does: 'Makes the last undone change again. After any other change there is nothing to redo.',
})
