import type { Actor } from '../../plan/viewer/actor.ts'
import { type Act, read } from '../../store/act.ts'
import type { Context } from '../context.ts'

/** Returns the dot paths of the secrets that a version has changed, as far as the caller may know of these fields. */
export type ChangedSecrets = (entity: string, id: number, version: number) => readonly string[]

/**
 * Finds the secrets that versions of these Entities have changed. The journal has no secrets, so this looks at the
 * former values that are kept for an undo. Each belongs to the last version that had it.
 */
export function* changedSecrets(
  context: Context,
  actor: Actor,
  entities: readonly (readonly [type: string, id: number])[],
): Act<ChangedSecrets> {
  const changed = new Map<string, string[]>()
  for (const type of new Set(entities.map(([name]) => name))) {
    const plan = context.plans.get(type)
    if (plan?.seals === undefined) continue
    const { disclosure } = plan.view(actor)
    const ids = new Set(entities.filter(([name]) => name === type).map(([, id]) => id))
    const rows = yield* read(plan.seals.former, { $ids: JSON.stringify([...ids]) })
    for (const [id, column, version] of rows) {
      if (!disclosure.column(type, String(column))) continue
      const place = `${type}/${id} ${Number(version) + 1}`
      changed.set(place, [...(changed.get(place) ?? []), String(column)])
    }
  }
  return (entity, id, version) => changed.get(`${entity}/${id} ${version}`) ?? []
}

/** The secrets for an answer; left out if there are none. */
export function shownSecrets(paths: readonly string[]): { secrets?: readonly string[] } {
  return paths.length === 0 ? {} : { secrets: paths }
}
