import type { ApiRequest, CallOptions } from './transport.ts'

// This file knows nothing of the app's types: `types.ts` says what each call takes and returns.
export type Json = Record<string, unknown>

/** The options of a call: query parameters, and the options that all calls have. */
export interface RequestOptions extends CallOptions {
  readonly version?: number
  readonly where?: Json
  readonly [parameter: string]: unknown
}

/** Returns the name of an option as it is in a URL: `dry_run` for `dryRun`. */
const parameterOf = (name: string) => name.replace(/[A-Z]/g, (one) => `_${one.toLowerCase()}`)

/** `If-Match`, as a header or in a batch. */
export const tagOf = (version?: number) => (version === undefined ? version : `"${version}"`)

/** The path of an Entity type, or of something below it. */
export const pathOf = (name: string, rest: unknown) => `${name}/${rest && `${rest}/`}`

/** Turns the options and the body of a call into a request. */
export function requestOf(options: RequestOptions = {}, body?: unknown): ApiRequest {
  const { signal, key, run, reason, version, where, ...rest } = options
  const query: Json = {}
  for (const name in rest) query[parameterOf(name)] = rest[name]
  for (const path in where) {
    const value = where[path]
    // In a URL, `null` would be the text "null".
    if (value === null) query.filter = `${path} == null && (${query.filter ?? true})`
    // As a text, because `queryOf` leaves out a `false`.
    else if (value !== undefined) query[path] = `${value}`
  }
  return {
    query,
    options,
    body,
    headers: { 'If-Match': tagOf(version) },
  }
}
