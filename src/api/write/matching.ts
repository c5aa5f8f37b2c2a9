import { budget } from '../../budget.ts'
import { countInWords } from '../../declare/with-article.ts'
import { addError, type Errors, Failure, invalid, invalidAt } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import type { Filter } from '../../plan/condition/filter.ts'
import { type Actor, isAgent } from '../../plan/viewer/actor.ts'
import { type Act, read } from '../../store/act.ts'
import type { Call } from '../call.ts'
import {
  type Answer,
  allow,
  type Context,
  callerParams,
  denialOf,
  type KeptAnswer,
  signInFirst,
} from '../context.ts'
import { refTo, type Success } from '../description.ts'
import { performOnce } from '../idempotency.ts'
import { writing } from '../parameters.ts'
import { parseFlag } from '../query.ts'
import { isUnplanned, runPlanned } from './planned.ts'
import { asPlanned, type PreviewRequest, plannedAnswer, previewPlace } from './preview.ts'

/** The parameters of writes by a filter. */
export const MANY = ['matching', 'dry_run', 'plan', 'cursor', ...writing] as const

/** The failures of writes by a filter, besides refusals by rules. */
export const MANY_CODES = ['busy', 'plan_changed', 'disk_full'] as const

type Changing = 'update' | 'delete'

/** A write of all Entities that match a filter. */
export interface ManyRequest extends PreviewRequest {
  readonly filter: Filter
}

export type ManyCall = Call<'filter' | 'dry_run' | 'plan' | 'cursor'>

/** Throws if the caller may never do this, or if a parameter is wrong. `errors` has errors of the body. */
export function parseMany(
  plan: Plan,
  action: Changing,
  call: ManyCall,
  errors: Errors = new Map(),
): ManyRequest {
  const { actor } = call.caller
  allow(plan, 'read', actor, true)
  allow(plan, action, actor, true)
  const given = call.query.take(errors)
  if (given.filter === undefined) addError(errors, 'filter', 'is required; true means all')
  const filter = given.filter === undefined ? undefined : plan.view(actor).lists.parse(given.filter, errors)
  const place = previewPlace(given.plan, given.cursor, errors)
  const flag = parseFlag('dry_run', given.dry_run, errors)
  const dryRun = flag || (isAgent(actor) && isUnplanned(place))
  if (place.offset > 0 && !dryRun) addError(errors, 'cursor', 'works only with dry_run')
  if (call.when.ifMatch !== null)
    addError(errors, 'If-Match', 'is not possible for many; use dry_run and plan')
  if (errors.size > 0 || filter === undefined) throw invalid(errors)
  return { filter, dryRun, ...place }
}

/** A matching Entity. */
export interface Matched {
  readonly id: number
  readonly version: number
}

/** Finds the matching Entities that the caller sees, by id. Throws if there are too many, or forbidden ones. */
export function* matchedBy(
  plan: Plan,
  actor: Actor,
  action: Changing,
  filter: Filter,
): Act<readonly Matched[]> {
  const { lists } = plan.view(actor)
  const most = budget.filteredEntities
  const { statement, params } = lists.matching(filter, action, most)
  const rows = yield* read(statement, { ...params, ...callerParams(actor) })
  if (rows.length > most) {
    const total = lists.total({ ...lists.plain, filters: [filter] })
    const [counted] = yield* read(total.statement, { ...total.params, ...callerParams(actor) })
    const number = counted?.[0] ?? rows.length
    throw invalidAt('filter', `matches ${number} ${plan.type.name}: at most ${most} can be changed at once`)
  }
  const forbidden = rows.filter(([, , may]) => Number(may) !== 1).length
  if (forbidden > 0) throw forbiddenMany(plan, actor, action, forbidden)
  return rows.map(([id, version]) => ({ id: Number(id), version: Number(version) }))
}

/** The failure if the caller may not change some of the matching Entities. */
export function forbiddenMany(plan: Plan, actor: Actor, action: Changing, number: number): Failure {
  const denied = denialOf(plan, action)
  if (actor.kind === 'nobody') return signInFirst(denied)
  const { name } = plan.type
  const done = action === 'update' ? 'change' : 'delete'
  const errors = new Map([['filter', [`matches ${countInWords(number, name)} that you may not ${done}`]]])
  return new Failure('forbidden', { errors, denied })
}

/** The answer to every write by a filter. */
export const changedMany: Success = {
  status: 200,
  description: 'What has changed, or would. `operation` is `null` if nothing was written.',
  headers: ['Takeback-Operation', 'Idempotent-Replay'],
  schema: refTo('ChangedMany'),
  example: { operation: null, matched: 0, total: 0, changes: [], plan: 'rC3u…', next: null },
}

/** What a write by a filter has done. */
export interface DoneMany {
  /** `null` if nothing has changed. */
  readonly operation: string | null
}

/** Thrown if others have changed one of the Entities since it was matched. */
export class MovedMany extends Error {}

/** Makes the answer. A preview does the same in a transaction that is rolled back. */
export function answerMany(
  context: Context,
  call: ManyCall,
  { filter: _, ...options }: ManyRequest,
  { matched, act }: { readonly matched: number; act(): Act<DoneMany> },
): Promise<Answer> {
  const make = function* (): Act<KeptAnswer> {
    const { operation } = yield* asPlanned(options.plan, act())
    return yield* plannedAnswer(context, call.caller.actor, {
      ...options,
      operation,
      covers: matched,
      tell: (page) => ({ matched, ...page }),
    })
  }
  return options.dryRun || options.plan !== undefined
    ? runPlanned(context, call, options, make)
    : performOnce(context, call, make)
}
