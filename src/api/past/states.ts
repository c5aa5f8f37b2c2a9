import type { Now } from '../../journal/reversal.ts'
import { Snapshot } from '../../journal/versions.ts'
import { type Act, read } from '../../store/act.ts'
import type { Context } from '../context.ts'

/** Returns Entities as they are now, by name (`bookings/7`). Purged ones are absent. */
export function* statesOf(
  context: Context,
  entities: readonly { readonly entity: string; readonly id: number }[],
): Act<Map<string, Now>> {
  const ids = new Map<string, number[]>()
  for (const { entity, id } of entities) {
    const known = ids.get(entity)
    if (known === undefined) ids.set(entity, [id])
    else known.push(id)
  }
  const states = new Map<string, Now>()
  for (const [entity, of] of ids) {
    const plan = context.plans.get(entity)
    if (plan === undefined) continue
    for (const [id, version, deletion, data] of yield* read(plan.history.now, { $ids: JSON.stringify(of) }))
      states.set(`${entity}/${id}`, {
        id: Number(id),
        version: Number(version),
        deletion: deletion === null || deletion === undefined ? null : String(deletion),
        snapshot: new Snapshot(String(data)),
      })
  }
  return states
}
