import type { EntityType } from '../model.ts'

export type Referrer = EntityType['referrers'][number]

/** Returns the filter that finds the referrers of an Entity through a field. */
export function filterFor({ path, list, member }: Referrer, id: number): string {
  if (!list) return `${path}.id == ${id}`
  return `${path}.exists(one, one${member === undefined ? '' : `.${member}`}.id == ${id})`
}
