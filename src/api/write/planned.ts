import { type Errors, invalid, note } from '../../errors.ts'
import { isAgent } from '../../plan/viewer/actor.ts'
import type { Act } from '../../store/act.ts'
import type { Call } from '../call.ts'
import type { Answer, Context, KeptAnswer } from '../context.ts'
import { performOnce, type Repeatable, transactOnce } from '../once.ts'
import { planning } from '../parameters.ts'
import { rehearse } from '../perform.ts'
import { parseFlag } from '../query.ts'
import { asPlanned, type PreviewRequest, plannedAnswer, previewPlace } from './preview.ts'

/**
 * A write that can be shown before it is done. `dry_run=1` runs it in a transaction that is rolled back, and answers what
 * the journal then says, with a plan. With that plan it is done, unless it would now do something else. Agents write only
 * so: without a plan, it is a dry run.
 */
export function performPlanned(context: Context, call: Call, make: () => Act<KeptAnswer>): Promise<Answer> {
  const asked = askedOf(call)
  return asked === undefined ? performOnce(context, call, make) : writePlanned(context, call, asked, make)
}

/** The same, always in one transaction. */
export function transactPlanned(context: Context, call: Call, make: () => Act<KeptAnswer>): Promise<Answer> {
  const asked = askedOf(call)
  return asked === undefined ? transactOnce(context, call, make) : writePlanned(context, call, asked, make)
}

/** Runs what makes its own answer of a plan: shows it, or does it in one transaction. */
export function runPlanned(
  context: Context,
  request: Repeatable,
  { dryRun }: PreviewRequest,
  make: () => Act<KeptAnswer>,
): Promise<Answer> {
  if (dryRun) return rehearse(context.store, make)
  const { caller, address, key, target, body, note: noted, signal } = request
  const planned = { caller, address, key, target, body, note: noted, signal, planned: true }
  return transactOnce(context, planned, make)
}

function writePlanned(
  context: Context,
  call: Call,
  asked: PreviewRequest,
  make: () => Act<KeptAnswer>,
): Promise<Answer> {
  const covers = [unplannedTarget(call.target), call.body]
  return runPlanned(context, call, asked, function* () {
    const answer = yield* asPlanned(asked.plan, make())
    const operation = answer.headers?.['Takeback-Operation'] ?? null
    const told = { ...asked, operation, covers, tell: (page: object) => page }
    const shown = yield* plannedAnswer(context, call.caller.actor, told)
    return asked.dryRun ? shown : answer
  })
}

/** The request without the parameters of its plan: the same for the preview and for the write. */
function unplannedTarget(target: string): string {
  const [path = '', search = ''] = target.split('?')
  const parameters = new URLSearchParams(search)
  for (const name of planning) parameters.delete(name)
  return `${path}?${parameters}`
}

/** Undefined for a plain write. */
function askedOf({ caller, query }: Call): PreviewRequest | undefined {
  const given = query.planning
  const agent = isAgent(caller.actor)
  if (given.size === 0 && !agent) return undefined
  const errors: Errors = new Map()
  const place = previewPlace(given.get('plan'), given.get('cursor'), errors)
  const flag = parseFlag('dry_run', given.get('dry_run'), errors)
  const dryRun = flag || (agent && isUnplanned(place))
  if (place.offset > 0 && !dryRun) note(errors, 'cursor', 'works only with dry_run')
  if (errors.size > 0) throw invalid(errors)
  return dryRun || place.plan !== undefined ? { ...place, dryRun } : undefined
}

/** Whether an agent asks for a preview: it has no plan, or wants another page of it. */
export function isUnplanned({ plan, offset }: Pick<PreviewRequest, 'plan' | 'offset'>): boolean {
  return plan === undefined || offset > 0
}
