import type { Knowledge } from '../plan/view/known.ts'
import type { Actor } from '../plan/viewer/actor.ts'
import { type Act, read } from '../store/act.ts'
import { type Context, callerParams } from './context.ts'

/** Returns what an actor may know now, by Entity (`bookings/7`). Entities that no longer exist are absent. */
export function* knowledgeOf(
  context: Context,
  actor: Actor,
  entities: readonly (readonly [type: string, id: number])[],
): Act<ReadonlyMap<string, Knowledge>> {
  const known = new Map<string, Knowledge>()
  for (const type of new Set(entities.map(([name]) => name))) {
    const view = context.plans.get(type)?.view(actor)
    if (view === undefined) continue
    const ids = new Set(entities.filter(([name]) => name === type).map(([, id]) => id))
    const params = { ...callerParams(actor), $ids: JSON.stringify([...ids]) }
    for (const row of yield* read(view.known, params)) {
      const { id, ...knowledge } = view.readKnown(row)
      known.set(`${type}/${id}`, knowledge)
    }
  }
  return known
}
