import { budget } from '../budget.ts'
import { Failure } from '../errors.ts'
import { journalledDifference } from '../journal/difference.ts'
import type { Upcaster } from '../journal/upcast.ts'
import { changeColumns } from '../plan/past/operations.ts'
import type { Knowledge } from '../plan/view/known.ts'
import { type Actor, actorName } from '../plan/viewer/actor.ts'
import { type Act, read } from '../store/act.ts'
import type { Context, KeptAnswer } from './context.ts'
import { knowledgeOf } from './knowledge.ts'
import { operationById } from './operations.ts'
import type { TakenBack } from './take-back.ts'

interface Previewed {
  readonly taken: TakenBack
  readonly undone: readonly string[]
  readonly dryRun: boolean
  /** The plan that it must match. */
  readonly plan: string | undefined
  readonly offset: number
}

/**
 * What an undo has changed, read from the journal; for a preview, from the rows that are rolled back afterwards. Throws
 * if it does not match the plan that was sent.
 */
export function* undoAnswer(
  context: Context,
  actor: Actor,
  { taken, undone, dryRun, plan, offset }: Previewed,
): Act<KeptAnswer> {
  const { operation, skipped } = taken
  const { total, changes } = yield* changesOf(context, actor, operation, offset)
  const token = dryRun || plan !== undefined ? yield* planToken(context, actor, taken, undone) : undefined
  const end = offset + changes.length
  const body = {
    operation: dryRun ? null : operation,
    undone: undone.length,
    total,
    changes: changes.map((one) => withMore(one, taken)),
    skipped: Object.fromEntries([...skipped].slice(0, budget.namedChanges)),
    ...(dryRun && { plan: token, next: end < total ? previewCursor(String(token), end) : null }),
  }
  if (plan !== undefined && plan !== token) {
    const preview = offset === 0 && { preview: { ...body, operation: null, plan: token } }
    throw new Failure('plan_changed', { more: { ...preview } })
  }
  return {
    status: 200,
    body: JSON.stringify(body),
    ...(operation !== null && !dryRun && { headers: { 'Takeback-Operation': operation } }),
    shows: changes.map(({ entity, id }) => [entity, id]),
  }
}

export interface ShownChange {
  readonly entity: string
  readonly id: number
  readonly kind: string
  readonly changed: object
}

/** A page of the changes of an operation, with the values that the actor may see. */
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
  const changed =
    known === undefined || data === null || before === null
      ? {}
      : journalledDifference(known.fields, upcaster, before, data)
  return { entity: String(entity), id: Number(id), kind: String(kind), changed }
}

/** Adds what the journal does not have: values that no longer have a place, and that secrets are set. */
function withMore(change: ShownChange, taken: TakenBack): object {
  const name = `${change.entity}/${change.id}`
  const [unmapped, secrets] = [taken.unmapped.get(name), taken.secrets.get(name)]
  return {
    ...change,
    ...(secrets !== undefined && { secrets }),
    ...(unmapped !== undefined && { unmapped }),
  }
}

/**
 * A digest of everything that would be done, the same for every caller: the operations that are taken back, and for every
 * Entity its version, the kind of change and all new values. Times are left out, since they are those of the preview.
 */
function* planToken(
  context: Context,
  actor: Actor,
  { operation, skipped }: TakenBack,
  undone: readonly string[],
): Act<string> {
  const digest = context.tokens.digest('undo plan')
  digest.update(JSON.stringify([actorName(actor), undone, [...skipped.keys()]]))
  const rows = operation === null ? [] : yield* read(context.operations.whole, { $operation: operation })
  for (const [entity, id, version, kind, data] of rows) {
    const { updated_at: _, deleted_at: deleted, ...values } = JSON.parse(String(data))
    digest.update(JSON.stringify([entity, id, version, kind, values, deleted === null]))
  }
  return digest.digest('base64url')
}

function previewCursor(plan: string, offset: number): string {
  return Buffer.from(`${plan} ${offset}`).toString('base64url')
}

export function openPreviewCursor(cursor: string): { plan: string; offset: number } | undefined {
  const [, plan, offset] = /^([\w-]{43}) (\d{1,9})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  return plan === undefined ? undefined : { plan, offset: Number(offset) }
}
