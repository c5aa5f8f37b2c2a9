/** The path of an SQLite database without a file. It exists as long as the process. */
export const MEMORY = ':memory:'

/** Where the data is. */
export type Location =
  | ({ readonly kind: 'sqlite'; readonly path: string } & Pick<Limits, 'statementMs'>)
  | ({ readonly kind: 'postgres'; readonly url: string } & Limits)

/** Limits for the use of a database. */
export interface Limits {
  /** The maximum number of connections. */
  readonly pool: number
  /** The maximum time of a statement. */
  readonly statementMs: number
  readonly connectMs: number
}

/** The address in the form of `--database`, with the password. */
export function addressOf(location: Location): string {
  return location.kind === 'sqlite' ? `sqlite:${location.path}` : location.url
}

/** The address for people and logs, without the password. */
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
