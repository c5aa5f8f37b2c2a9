/** Where the data are. */
export type Location =
  | { readonly kind: 'sqlite'; readonly path: string }
  | ({ readonly kind: 'postgres'; readonly url: string } & Limits)

/** How much a server asks of a database that it shares with others. */
export interface Limits {
  /** The greatest number of connections. */
  readonly pool: number
  readonly statementMs: number
  readonly connectMs: number
}

/** For people and logs: a password in it is nobody's business. */
export function describe(location: Location): string {
  return location.kind === 'sqlite' ? location.path : hidePassword(location.url)
}

export function hidePassword(url: string): string {
  return url.replace(/(:\/\/[^:]*?):.*@/s, '$1@').replace(/([?&](?:password|sslkey)=)[^&#]*/gi, '$1…')
}
