import type { CallOptions, Sent } from './transport.ts'

// Here the types of the app are not known: `types.ts` says what each call takes and gives.
export type Json = Record<string, unknown>

/** What a call is given besides its body: parameters of the query, and what all calls take. */
export interface Asked extends CallOptions {
  readonly version?: number
  readonly where?: object
  readonly [parameter: string]: unknown
}

/** `dryRun` is `dry_run` in a URL. */
const parameterOf = (name: string) => name.replace(/[A-Z]/g, (one) => `_${one.toLowerCase()}`)

/** The options of a call as a request. */
export function sentBy(asked: Asked = {}, body?: unknown): Sent {
  const { signal, key, run, reason, version, where, ...query } = asked
  const options = { signal, key, run, reason } as CallOptions
  const named = Object.entries(query).map(([name, value]) => [parameterOf(name), value])
  return {
    query: { ...where, ...Object.fromEntries(named) },
    options,
    ...(version !== undefined && { headers: { 'If-Match': `"${version}"` } }),
    ...(body !== undefined && { body }),
  }
}
