export function digestOfSources(root: string): string | undefined
export function isUpToDate(folder: string, sources: string | undefined): boolean
export function markAsBuilt(folder: string, sources: string | undefined): void
