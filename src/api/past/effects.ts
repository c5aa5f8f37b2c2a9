import { budget } from '../../budget.ts'
import { Failure, invalidAt } from '../../errors.ts'
import { operationColumns } from '../../plan/past/operations.ts'
import { type Actor, passesRules } from '../../plan/viewer/actor.ts'
import { type Act, read } from '../../store/act.ts'
import type { Context } from '../context.ts'
import { notesOf } from '../notes.ts'

/** An operation that another one has caused. */
export interface CausedOperation {
  readonly operation: string
  readonly at: string
  readonly actor: string | null
  readonly changes: number
}

/**
 * Returns the operations that these have caused, directly or not, newest first, without those that were taken back.
 * Only admins see them: others do not know what reactions do.
 */
export function* effectsOf(
  context: Context,
  actor: Actor,
  operations: readonly string[],
): Act<readonly CausedOperation[]> {
  if (!passesRules(actor) || operations.length === 0) return []
  const params = { $operations: JSON.stringify(operations) }
  const rows = yield* read(context.operations.effects(budget.undoOperations + 1), params)
  const found = rows.map(operationColumns.read).map(({ operation, at, actor, changes }) => ({
    operation: String(operation),
    at: String(at),
    actor: actor === null ? null : String(actor),
    changes: Number(changes),
  }))
  const notes = yield* notesOf(
    context,
    found.map(({ operation }) => operation),
  )
  return found.filter(({ operation }) => notes.get(operation)?.undone_by === undefined)
}

/** Returns the operations to take back, including those that they have caused. */
export function withEffects(
  actor: Actor,
  operations: readonly string[],
  effects: readonly CausedOperation[],
): readonly string[] {
  if (!passesRules(actor)) throw new Failure('forbidden')
  if (effects.length > budget.undoOperations)
    throw invalidAt('with_effects', `would take back more than ${budget.undoOperations} operations`)
  return [...new Set([...effects.map(({ operation }) => operation), ...operations])]
}
