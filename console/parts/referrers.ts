import type { EntityType } from '../model.ts'

export type Referrer = EntityType['referrers'][number]

/** The condition that finds what refers to an Entity through a field. */
export function filterFor({ path, list, member }: Referrer, id: number): string {
  if (!list) return `${path}.id == ${id}`
  return `${path}.exists(one, one${member === undefined ? '' : `.${member}`}.id == ${id})`
}
