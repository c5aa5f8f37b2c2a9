import { budget } from '../../budget.ts'
import { applyOperators } from '../../declare/apply-operators.ts'
import type { HookName } from '../../declare/code.ts'
import { isRecord } from '../../declare/record.ts'
import type { Values } from '../../declare/values.ts'
import { type Errors, Failure, invalid, placed } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { entityRow } from '../../plan/view/entity-row.ts'
import { system } from '../../plan/viewer/actor.ts'
import type { Call } from '../call.ts'
import {
  allow,
  allowed,
  type Context,
  callerParams,
  isMatch,
  type Preconditions,
  stateOf,
} from '../context.ts'
import { refuseUnchangeable } from '../live.ts'
import { perform } from '../perform.ts'
import { refuseNumber, together } from '../read/list-body.ts'
import type { HookCaller } from './hook-run.ts'
import { withStandIns } from './references.ts'

/** A body after the hook. */
export interface HookedBody {
  readonly body: object
  /** The body that the caller sent. The caller's rules apply to this, not to what the hook has added. */
  readonly sent: object
}

/** The body of an update after the hook. */
export interface HookedChanges {
  /** The part that the hook did not change. */
  readonly body: object
  /** The body that the caller sent. */
  readonly sent: object
  /** What the hook sets. The caller's rules do not apply to it. */
  readonly own: Values
}

export function hasHook({ type }: Plan, hook: HookName): boolean {
  return type.before?.[hook] !== undefined
}

export function hookCallerOf({ caller, depth = 0 }: Pick<Call, 'caller' | 'depth'>): HookCaller {
  return { caller, depth, until: AbortSignal.timeout(budget.hookMs) }
}

/** Checks the rule and the types of the body, then runs the hook. The create checks the result. */
export async function beforeCreate(
  context: Context,
  plan: Plan,
  hookCaller: HookCaller,
  sent: unknown,
): Promise<HookedBody> {
  allow(plan, 'create', hookCaller.caller.actor, true)
  const given = checkedTypes(plan, hookCaller, { mode: 'draft', sent })
  const made = await context.runHook(context, { ...hookCaller, plan, hook: 'create', given })
  return { body: made, sent: given }
}

/** Runs hooks for the items of a list, in order. All failures are reported together. */
export async function beforeEach<T>(
  items: readonly unknown[],
  run: (item: unknown) => Promise<T>,
): Promise<readonly T[]> {
  refuseNumber(items.length)
  const hooked: T[] = []
  const failures: Failure[] = []
  for (const [at, item] of items.entries())
    try {
      hooked.push(await run(item))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      failures.push(placed(error, at))
      if (error.code !== 'invalid_data') break
    }
  if (failures.length > 0) throw together(failures, new Map())
  return hooked
}

/** Checks the types of a body, so that a hook can rely on them. The hook may add what is missing. */
function checkedTypes(
  plan: Plan,
  { caller, isBatch }: HookCaller,
  { mode, sent, errors = new Map() }: { mode: 'draft' | 'partial'; sent: unknown; errors?: Errors },
): object {
  plan.view(caller.actor).check(mode, isBatch ? withStandIns(sent) : sent, errors)
  if (errors.size > 0) throw invalid(errors)
  return sent as object
}

interface UpdateRequest {
  readonly id: number
  readonly body: unknown
  readonly when: Preconditions
}

/** Checks the rule first: 404 and 403 come before 422, and a hook reveals nothing that the caller cannot see. */
export async function beforeUpdate(
  context: Context,
  plan: Plan,
  hookCaller: HookCaller,
  { id, body, when }: UpdateRequest,
): Promise<HookedChanges> {
  const { actor } = hookCaller.caller
  allow(plan, 'update', actor)
  await perform(context.store, refuseUnchangeable(plan, actor, id))
  const before = await presentEntity(context, plan, id, when)
  const errors: Errors = new Map()
  const fields = plan.view(actor).shown.fields ?? plan.type.fields
  const sent = isRecord(body) ? body : {}
  const results = applyOperators(fields, sent, before, { errors, places: new Map() })
  const changes = { mode: 'partial', sent: isRecord(body) ? results : body, errors } as const
  const given = checkedTypes(plan, hookCaller, changes) as Values
  const made = await context.runHook(context, { ...hookCaller, plan, hook: 'update', given, before })
  return split({ sent, given, made: made as Values })
}

/** Keys that the hook did not change are written as sent, so that `$add` is still an addition. */
function split({ sent, given, made }: Record<'sent' | 'given' | 'made', Values>): HookedChanges {
  const body: Record<string, unknown> = {}
  const own: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(made))
    if (Object.hasOwn(given, name) && Bun.deepEquals(value, given[name])) body[name] = sent[name]
    else own[name] = value
  return { body, own, sent }
}

/** A hook before a delete can only refuse. */
export async function beforeDelete(
  context: Context,
  plan: Plan,
  hookCaller: HookCaller,
  { id, when }: Omit<UpdateRequest, 'body'>,
): Promise<void> {
  const { actor } = hookCaller.caller
  allow(plan, 'delete', actor)
  const state = await perform(context.store, stateOf(plan.view(actor), { ...callerParams(actor), $id: id }))
  // Deleting a deleted Entity changes nothing.
  if (allowed(plan, 'delete', actor, state).deletion !== null) return
  const given = await presentEntity(context, plan, id, when)
  await context.runHook(context, { ...hookCaller, plan, hook: 'delete', given })
}

/** Returns the Entity as the system sees it. */
async function presentEntity(context: Context, plan: Plan, id: number, when: Preconditions): Promise<object> {
  const [row] = await context.store.read(plan.view(system).lists.read, { ...callerParams(system), $id: id })
  const entity = entityRow(row)
  if (entity === undefined) throw new Failure('not_found')
  if (!isMatch(when.ifMatch, entity.version)) throw new Failure('stale')
  return JSON.parse(entity.json)
}
