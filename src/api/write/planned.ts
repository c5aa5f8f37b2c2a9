import { addError, type Errors, invalid } from '../../errors.ts'
import { isAgent } from '../../plan/viewer/actor.ts'
import type { Act } from '../../store/act.ts'
import type { Call } from '../call.ts'
import type { Answer, Context, KeptAnswer } from '../context.ts'
import { type IdempotentRequest, performOnce, transactOnce } from '../idempotency.ts'
import { planning } from '../parameters.ts'
import { performDryRun } from '../perform.ts'
import { parseFlag } from '../query.ts'
import { asPlanned, type PreviewRequest, plannedAnswer, previewPlace } from './preview.ts'

/**
 * Runs a write that can be previewed. `dry_run=1` runs it in a transaction that is rolled back, and answers with its
 * changes in the journal and a plan. With that plan the write is done, unless it would now do something else. Agents
 * must write this way: without a plan, they get a dry run.
 */
export function performPlanned(context: Context, call: Call, make: () => Act<KeptAnswer>): Promise<Answer> {
  const preview = previewRequestOf(call)
  return preview === undefined ? performOnce(context, call, make) : writePlanned(context, call, preview, make)
}

/** The same, always in one transaction. */
export function transactPlanned(context: Context, call: Call, make: () => Act<KeptAnswer>): Promise<Answer> {
  const preview = previewRequestOf(call)
  return preview === undefined
    ? transactOnce(context, call, make)
    : writePlanned(context, call, preview, make)
}

/** The same for an act that makes its own answer: previews it, or runs it in one transaction. */
export function runPlanned(
  context: Context,
  request: IdempotentRequest,
  { dryRun }: PreviewRequest,
  make: () => Act<KeptAnswer>,
): Promise<Answer> {
  if (dryRun) return performDryRun(context.store, make)
  const { caller, address, key, target, body, note: noted, signal } = request
  const planned = { caller, address, key, target, body, note: noted, signal, planned: true }
  return transactOnce(context, planned, make)
}

function writePlanned(
  context: Context,
  call: Call,
  preview: PreviewRequest,
  make: () => Act<KeptAnswer>,
): Promise<Answer> {
  const covers = [unplannedTarget(call.target), call.body]
  return runPlanned(context, call, preview, function* () {
    const answer = yield* asPlanned(preview.plan, make())
    const operation = answer.headers?.['Takeback-Operation'] ?? null
    const told = { ...preview, operation, covers, tell: (page: object) => page }
    const shown = yield* plannedAnswer(context, call.caller.actor, told)
    return preview.dryRun ? shown : answer
  })
}

/** The request without the parameters of previews: the same for the preview and for the write. */
function unplannedTarget(target: string): string {
  const [path = '', search = ''] = target.split('?')
  const parameters = new URLSearchParams(search)
  for (const name of planning) parameters.delete(name)
  return `${path}?${parameters}`
}

/** Reads the parameters of previews; undefined for a plain write. */
function previewRequestOf({ caller, query }: Call): PreviewRequest | undefined {
  const given = query.planning
  const agent = isAgent(caller.actor)
  if (given.size === 0 && !agent) return undefined
  const errors: Errors = new Map()
  const place = previewPlace(given.get('plan'), given.get('cursor'), errors)
  const flag = parseFlag('dry_run', given.get('dry_run'), errors)
  const dryRun = flag || (agent && isUnplanned(place))
  if (place.offset > 0 && !dryRun) addError(errors, 'cursor', 'works only with dry_run')
  if (errors.size > 0) throw invalid(errors)
  return dryRun || place.plan !== undefined ? { ...place, dryRun } : undefined
}

/** Whether an agent gets a preview: it has no plan, or wants another page of one. */
export function isUnplanned({ plan, offset }: Pick<PreviewRequest, 'plan' | 'offset'>): boolean {
  return plan === undefined || offset > 0
}
