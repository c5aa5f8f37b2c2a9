import { SQL } from 'bun'
import { Failure, outdated } from '../../errors.ts'

/**
 * What a driver error means to us: the only place that reads PostgreSQL's codes.
 * `again`: the transaction is rolled back because of others who ran beside it, and can be tried once more.
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
  // A table or column that is not there any more: somebody has moved on.
  if (state === '42P01' || state === '42703') return { kind: 'failure', failure: outdated(error) }
  if (state === undefined || AWAY.test(state)) return { kind: 'failure', failure: unavailable(error) }
  return { kind: 'unknown' }
}

/** Prepared before a table was changed, and not run at all. The code alone may also mean what an engine cannot do. */
function isStalePlan(error: unknown): boolean {
  return sqlStateOf(error) === '0A000' && (error as { routine?: string }).routine === 'RevalidateCachedQuery'
}

/** Connections, resources, shutdowns, cancelled, read-only, rights that were taken away and internal errors: nothing that the request could have done otherwise. */
const AWAY = /^(08|53|57|58|XX|25006|25P03|42501|55P03|28|3D000)/

/** PostgreSQL's own code; undefined where the connection failed and no server has said anything. */
export function sqlStateOf(error: unknown): string | undefined {
  const { errno } = error as { errno?: unknown }
  const state = String(errno ?? '')
  return /^[0-9A-Z]{5}$/.test(state) ? state : undefined
}
