import { SQL } from 'bun'
import { Failure, outdated } from '../../errors.ts'

/**
 * The meaning of a driver error. This is the only place that reads PostgreSQL's codes. `again`: the transaction was
 * rolled back because of concurrent ones, and can be retried.
 */
export type Meaning =
  | { readonly kind: 'unique' }
  | { readonly kind: 'again' }
  | { readonly kind: 'failure'; readonly failure: Failure }
  | { readonly kind: 'unknown' }

const RETRY_SOON = { 'Retry-After': '1' }

export function unavailable(cause: unknown): Failure {
  return new Failure('unavailable', { cause, headers: RETRY_SOON })
}

export function meaningOf(error: unknown): Meaning {
  if (!(error instanceof SQL.SQLError)) return { kind: 'unknown' }
  const state = sqlStateOf(error)
  if (state === '23505') return { kind: 'unique' }
  if (state === '40001' || state === '40P01' || isStalePlan(error)) return { kind: 'again' }
  if (state === '53100') return { kind: 'failure', failure: new Failure('disk_full', { cause: error }) }
  // A table or column no longer exists: another server has migrated the database.
  if (state === '42P01' || state === '42703') return { kind: 'failure', failure: outdated(error) }
  if (state === undefined || AWAY.test(state)) return { kind: 'failure', failure: unavailable(error) }
  return { kind: 'unknown' }
}

/** Whether it was prepared before a table changed, and did not run. The code alone may mean something unsupported. */
function isStalePlan(error: unknown): boolean {
  return sqlStateOf(error) === '0A000' && (error as { routine?: string }).routine === 'RevalidateCachedQuery'
}

/** Connections, resources, shutdowns, cancelled, read-only, revoked rights, internal errors: no fault of requests. */
const AWAY = /^(08|53|57|58|XX|25006|25P03|42501|55P03|28|3D000)/

/** PostgreSQL's code; undefined if the connection failed and the server said nothing. */
export function sqlStateOf(error: unknown): string | undefined {
  const { errno } = error as { errno?: unknown }
  const state = String(errno ?? '')
  return /^[0-9A-Z]{5}$/.test(state) ? state : undefined
}
