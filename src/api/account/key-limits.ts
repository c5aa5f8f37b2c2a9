import { countInWords } from '../../declare/with-article.ts'
import { addError, type Errors, Failure } from '../../errors.ts'
import { extentColumns } from '../../plan/past/extents.ts'
import { type Actor, actorName, type KeyActor } from '../../plan/viewer/actor.ts'
import { keyLimits } from '../../plan/viewer/key-scope.ts'
import { type Act, read, write } from '../../store/act.ts'
import type { Context, KeptAnswer } from '../context.ts'
import { badToken } from './identify.ts'

/** Returns the key of the actor if it has limits. */
export function limitedKey(actor: Actor): KeyActor | undefined {
  return actor.kind === 'key' && keyLimits.some((name) => actor.limits?.[name] !== undefined)
    ? actor
    : undefined
}

/**
 * Refuses an act whose operation exceeds the limits of the key. To be run in one transaction: its changes are counted
 * in the journal, while all other writes by the key wait.
 */
export function* withinLimits(context: Context, key: KeyActor, act: Act<KeptAnswer>): Act<KeptAnswer> {
  const answer = yield* act
  const operation = answer.headers?.['Takeback-Operation']
  if (operation !== undefined) yield* refuseExcess(context, key, operation)
  return answer
}

/** Throws if an operation of this transaction exceeds the limits of the key. */
export function* refuseExcess(context: Context, key: KeyActor, operation: string): Act<void> {
  const { extents } = context
  if (!(yield* write(extents.hold, { $key: key.id })).done) throw badToken()
  const [row = []] = yield* read(extents.operation, { $operation: operation })
  const { changes, deletes } = extentColumns.read(row)
  const errors: Errors = new Map()
  const waits = [
    addPerOperationError(key, Number(changes), errors),
    yield* addWindowErrors(context, key, { name: 'changes_per_hour', counted: Number(changes) }, errors),
    yield* addWindowErrors(context, key, { name: 'deletes_per_day', counted: Number(deletes) }, errors),
  ]
  if (errors.size === 0) return
  const seconds = Math.ceil(Math.max(...waits) / 1000)
  // There is no `Retry-After` if waiting does not help.
  const headers = Number.isFinite(seconds) ? { 'Retry-After': String(Math.max(1, seconds)) } : {}
  throw new Failure('over_budget', { errors, headers })
}

function addPerOperationError({ limits }: KeyActor, changes: number, errors: Errors): number {
  const limit = limits?.changes_per_operation
  if (limit === undefined || changes <= limit) return 0
  addError(
    errors,
    'changes_per_operation',
    `has ${countInWords(changes, 'changes')}, and at most ${limit} are allowed`,
  )
  return Number.POSITIVE_INFINITY
}

const windows = {
  changes_per_hour: { plan: 'changesPerHour', what: 'changes', time: 'hour' },
  deletes_per_day: { plan: 'deletesPerDay', what: 'deletes', time: 'day' },
} as const

/** Adds an error for an exceeded limit, and returns how many milliseconds to wait. */
function* addWindowErrors(
  context: Context,
  key: KeyActor,
  { name, counted }: { readonly name: keyof typeof windows; readonly counted: number },
  errors: Errors,
): Act<number> {
  const limit = key.limits?.[name]
  if (limit === undefined || counted === 0) return 0
  const { plan, what, time } = windows[name]
  const { count, leaves } = context.extents[plan]
  const $via = actorName(key)
  const [row = []] = yield* read(count, { $via, $most: limit + counted + 1 })
  const all = Number(row[0])
  if (all <= limit) return 0
  const before = all - counted
  addError(
    errors,
    name,
    `has ${countInWords(counted, what)}${before > 0 ? `, with ${before} before in this ${time},` : ''} and at most ${limit} in one ${time} are allowed`,
  )
  if (counted > limit) return Number.POSITIVE_INFINITY
  const [oldest = []] = yield* read(leaves, { $via, $place: all - limit - 1 })
  return Number(oldest[0] ?? 0)
}
