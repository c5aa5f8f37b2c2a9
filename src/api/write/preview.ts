import { budget } from '../../budget.ts'
import { countInWords } from '../../declare/with-article.ts'
import { addError, type Errors, Failure } from '../../errors.ts'
import { journalledDifference } from '../../journal/difference.ts'
import type { Upcaster } from '../../journal/upcast.ts'
import { changeColumns, kindCountColumns } from '../../plan/past/operations.ts'
import type { Knowledge } from '../../plan/view/known.ts'
import { type Actor, isAgent } from '../../plan/viewer/actor.ts'
import { type Act, read } from '../../store/act.ts'
import { limitedKey, refuseExcess } from '../account/key-limits.ts'
import type { Context, KeptAnswer, ShownEntity } from '../context.ts'
import { knowledgeOf } from '../knowledge.ts'
import type { CausedOperation } from '../past/effects.ts'
import { operationById } from '../past/operations.ts'
import type { TakenBack } from '../past/take-back.ts'
import { planToken } from './plan-token.ts'

/** Whether a request wants its changes shown or done, and if done, according to which plan. */
export interface PreviewRequest {
  readonly dryRun: boolean
  /** The `plan` of a preview. */
  readonly plan: string | undefined
  /** The first change of the page. */
  readonly offset: number
}

interface Previewed extends PreviewRequest {
  /** The operation that was written; `null` if nothing was. */
  readonly operation: string | null
  /** What the plan covers besides the changes. */
  readonly covers: unknown
  /** Makes the answer, without the operation and the plan. */
  tell(changes: ChangesPage): object
}

/** A page of changes. */
interface ChangesPage {
  readonly total: number
  readonly changes: readonly ShownChange[]
}

/**
 * Answers with what an operation has changed, from the journal. For a preview, these rows are rolled back afterwards.
 * Throws if the changes do not match the plan that was sent.
 */
export function* plannedAnswer(
  context: Context,
  actor: Actor,
  { operation, covers, tell, dryRun, plan, offset }: Previewed,
): Act<KeptAnswer> {
  if (operation !== null) yield* refuseForKey(context, actor, operation, dryRun)
  const page = yield* changesOf(context, actor, operation, offset)
  const { total, changes } = page
  const token = dryRun || plan !== undefined ? yield* planToken(context, actor, operation, covers) : undefined
  const end = offset + changes.length
  const shown = { plan: token, next: end < total ? previewCursor(String(token), end) : null }
  const body = {
    operation: dryRun ? null : operation,
    ...tell(dryRun || plan !== undefined ? { ...page, changes: changes.map(unmade) } : page),
    ...(dryRun && shown),
  }
  if (plan !== undefined && plan !== token) {
    const preview = offset === 0 && { preview: { ...body, operation: null, ...shown } }
    throw new Failure('plan_changed', { more: { ...preview } })
  }
  return {
    status: 200,
    body: JSON.stringify(body),
    ...(operation !== null && !dryRun && { headers: { 'Takeback-Operation': operation } }),
    shows: changes.flatMap(({ entity, id }): ShownEntity[] => (id === null ? [] : [[entity, id]])),
  }
}

/** An Entity that is not created yet has no id. */
function unmade(change: ShownChange): ShownChange {
  return change.kind === 'create' ? { ...change, id: null } : change
}

/** Answers an undo. */
export function undoAnswer(
  context: Context,
  actor: Actor,
  {
    taken,
    undone,
    effects = [],
    ...request
  }: PreviewRequest & {
    taken: TakenBack
    undone: readonly string[]
    /** The operations that these have caused. */
    effects?: readonly CausedOperation[]
  },
): Act<KeptAnswer> {
  const { operation, skipped } = taken
  return plannedAnswer(context, actor, {
    ...request,
    operation,
    covers: [undone, [...skipped.keys()]],
    tell: ({ total, changes }) => ({
      undone: undone.length,
      total,
      changes: changes.map((one) => withMore(one, taken)),
      skipped: Object.fromEntries([...skipped].slice(0, budget.namedChanges)),
      ...(effects.length > 0 && { effects: effects.slice(0, budget.namedChanges) }),
    }),
  })
}

/** If there are obstacles that did not exist when the plan was made, the plan has changed. */
export function* asPlanned<T>(plan: string | undefined, act: Act<T>): Act<T> {
  try {
    return yield* act
  } catch (error) {
    if (plan === undefined || !(error instanceof Failure) || error.errors === undefined) throw error
    throw new Failure('plan_changed', { errors: error.errors })
  }
}

export interface ShownChange {
  readonly entity: string
  /** `null` in the preview of a create. */
  readonly id: number | null
  readonly kind: string
  readonly changed: object
}

/** Throws if a key may not do this at all, or not this much. If it is done, the transaction itself checks limits. */
function* refuseForKey(context: Context, actor: Actor, operation: string, dryRun: boolean): Act<void> {
  if (isAgent(actor)) yield* refuseAccounts(context, operation)
  const limited = dryRun ? limitedKey(actor) : undefined
  if (limited !== undefined) yield* refuseExcess(context, limited, operation)
}

/** An agent must not change accounts, even if a delete only cascades to them: accounts let people in. */
function* refuseAccounts({ operations, plans }: Context, operation: string): Act<void> {
  const rows = yield* read(operations.kinds, { $operations: JSON.stringify([operation]) })
  const errors: Errors = new Map()
  for (const { entity, number } of rows.map(kindCountColumns.read))
    if (plans.get(String(entity))?.login !== undefined)
      addError(
        errors,
        String(entity),
        `would change, ${countInWords(Number(number), String(entity))}: an agent cannot change accounts`,
      )
  if (errors.size > 0) throw new Failure('forbidden', { errors })
}

/** Returns a page of the changes of an operation, with the values that the actor may see. */
export function* changesOf(
  context: Context,
  actor: Actor,
  operation: string | null,
  offset = 0,
): Act<{ total: number; changes: ShownChange[] }> {
  if (operation === null) return { total: 0, changes: [] }
  const head = yield* operationById(context, operation)
  const params = { $operation: operation, $offset: offset }
  const found = yield* read(context.operations.slice(budget.namedChanges), params)
  const rows = found.map(changeColumns.read)
  const entities = rows.map(({ entity, id }) => [String(entity), Number(id)] as const)
  const known = yield* knowledgeOf(context, actor, entities)
  return {
    total: Number(head?.changes ?? 0),
    changes: rows.map((row) =>
      previewChange(row, known.get(`${row.entity}/${row.id}`), context.upcasterOf(String(row.entity))),
    ),
  }
}

function previewChange(
  { entity, id, kind, data, before }: ReturnType<typeof changeColumns.read>,
  known: Knowledge | undefined,
  upcaster: Upcaster,
): ShownChange {
  const isKnown = known !== undefined && data !== null && (kind === 'create' || before !== null)
  const changed = isKnown ? journalledDifference(known.fields, upcaster, before, data) : {}
  return { entity: String(entity), id: Number(id), kind: String(kind), changed }
}

/** Adds what the journal does not have: values of fields that are no longer declared, and which secrets are set. */
function withMore(change: ShownChange, taken: TakenBack): object {
  const name = `${change.entity}/${change.id}`
  const [unmapped, secrets] = [taken.unmapped.get(name), taken.secrets.get(name)]
  return {
    ...change,
    ...(secrets !== undefined && { secrets }),
    ...(unmapped !== undefined && { unmapped }),
  }
}

/** Reads `plan` and `cursor`. A cursor belongs to one preview. */
export function previewPlace(
  plan: string | undefined,
  cursor: string | undefined,
  errors: Errors,
): Pick<PreviewRequest, 'plan' | 'offset'> {
  if (cursor === undefined) return { plan, offset: 0 }
  const opened = openPreviewCursor(cursor)
  if (opened === undefined) addError(errors, 'cursor', 'is not a cursor of a preview')
  return opened ?? { plan, offset: 0 }
}

function previewCursor(plan: string, offset: number): string {
  return Buffer.from(`${plan} ${offset}`).toString('base64url')
}

function openPreviewCursor(cursor: string): { plan: string; offset: number } | undefined {
  const [, plan, offset] = /^([\w-]{43}) (\d{1,9})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  return plan === undefined ? undefined : { plan, offset: Number(offset) }
}
