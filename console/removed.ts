/** Entities that are known to be gone from their address, so that nobody reads them there: most are in the trash. */
const removed = new Set<string>()

export function markRemoved(entity: string, id: number): void {
  removed.add(`${entity}/${id}`)
}

export function markPresent(entity: string, id: number): void {
  removed.delete(`${entity}/${id}`)
}

export function isRemoved(entity: string, id: number): boolean {
  return removed.has(`${entity}/${id}`)
}
