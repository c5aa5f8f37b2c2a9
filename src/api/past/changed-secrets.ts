import type { Actor } from '../../plan/viewer/actor.ts'
import { type Act, read } from '../../store/act.ts'
import type { Context } from '../context.ts'

/** Which secrets a version has changed: dot paths, for those who may know that there are such fields. */
export type ChangedSecrets = (entity: string, id: number, version: number) => readonly string[]

/**
 * The secrets that versions of these Entities have changed. The journal has no secrets, so they are found by the former
 * values that are kept for an undo: each belongs to the last version that had it.
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

/** As an answer has them: left out if there are none. */
export function toldSecrets(paths: readonly string[]): { secrets?: readonly string[] } {
  return paths.length === 0 ? {} : { secrets: paths }
}
