import type { CallOptions, Sent } from './transport.ts'

// Here the types of the app are not known: `types.ts` says what each call takes and gives.
export type Json = Record<string, unknown>

/** What a call is given besides its body: parameters of the query, and what all calls take. */
export interface Asked extends CallOptions {
  readonly version?: number
  readonly where?: Json
  readonly [parameter: string]: unknown
}

/** `dryRun` is `dry_run` in a URL. */
const parameterOf = (name: string) => name.replace(/[A-Z]/g, (one) => `_${one.toLowerCase()}`)

/** The options of a call as a request. */
export function sentBy(asked: Asked = {}, body?: unknown): Sent {
  const { signal, key, run, reason, version, where, ...rest } = asked
  const query: Json = {}
  for (const name in rest) query[parameterOf(name)] = rest[name]
  for (const path in where) {
    const value = where[path]
    // In a URL, `null` is a text for texts.
    if (value === null) query.filter = `${path} == null && (${query.filter ?? true})`
    // A flag that is `false` is left out, but here it is a value.
    else if (value !== undefined) query[path] = `${value}`
  }
  return {
    query,
    options: asked,
    headers: { 'If-Match': version === undefined ? version : `"${version}"` },
    body,
  }
}
