/** The path of an SQLite database without a file. It ends with the process. */
export const MEMORY = ':memory:'

/** Where the data are. */
export type Location =
  | ({ readonly kind: 'sqlite'; readonly path: string } & Pick<Limits, 'statementMs'>)
  | ({ readonly kind: 'postgres'; readonly url: string } & Limits)

/** How much a server asks of a database. */
export interface Limits {
  /** The greatest number of connections. */
  readonly pool: number
  /** The longest that a statement may take. */
  readonly statementMs: number
  readonly connectMs: number
}

/** As `--database` takes it, password included. */
export function addressOf(location: Location): string {
  return location.kind === 'sqlite' ? `sqlite:${location.path}` : location.url
}

/** For people and logs: a password in it is nobody's business. */
export function describeLocation(location: Location): string {
  if (isMemory(location)) return 'memory, for as long as this process runs'
  return location.kind === 'sqlite' ? location.path : hidePassword(location.url)
}

export function isMemory(location: Location): boolean {
  return location.kind === 'sqlite' && location.path === MEMORY
}

export function hidePassword(url: string): string {
  return url.replace(/(:\/\/[^:]*?):.*@/s, '$1@').replace(/([?&](?:password|sslkey)=)[^&#]*/gi, '$1…')
}
