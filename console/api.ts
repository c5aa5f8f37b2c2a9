import { authOf } from '../client/auth.ts'
import { Unauthenticated } from '../client/errors.ts'
import { type ApiRequest, type ApiResponse, Transport } from '../client/transport.ts'
import { signedInAgain } from './session-end.ts'

export * from '../client/errors.ts'

/** The transport of the person who is signed in, even while they act as somebody else. */
export const own = new Transport(location.origin, { session: 'localStorage' })
export const auth = authOf(own, (token) => token)

/** The user that an admin acts as, and the token for it. Stored until the tab is closed. */
export interface Acting {
  readonly user: string
  readonly token: string
  readonly expires_at: string
}

const ACTING = 'takeback acting'

export function actingAs(): Acting | undefined {
  const kept = sessionStorage.getItem(ACTING)
  return kept === null ? undefined : (JSON.parse(kept) as Acting)
}

/** Makes all later calls as another user; with undefined, as oneself again. Reloads the console. */
export function actAs(acting: Acting | undefined): void {
  if (acting === undefined) sessionStorage.removeItem(ACTING)
  else sessionStorage.setItem(ACTING, JSON.stringify(acting))
  location.assign('/console/')
}

const acting = actingAs()
export const transport = acting === undefined ? own : own.with({ token: acting.token })

/** Calls the API: `send('GET', 'bookings/5/')`. Returns the body and the headers, or throws an `ApiError`. */
export async function send(method: string, path: string, sent?: ApiRequest): Promise<ApiResponse> {
  try {
    return await sendOnce(method, path, sent)
  } catch (error) {
    // A token for acting as somebody expires, and no password renews it.
    const isOver = error instanceof Unauthenticated && !path.startsWith('auth/log')
    if (isOver && acting !== undefined) actAs(undefined)
    const again = isOver && acting === undefined ? signedInAgain(error) : undefined
    if (again === undefined) throw error
    await again
    return sendOnce(method, path, sent)
  }
}

async function sendOnce(method: string, path: string, sent?: ApiRequest): Promise<ApiResponse> {
  const received = await transport.send(method, path, sent)
  position ??= received.headers.get('takeback-position') ?? undefined
  if (position !== undefined) known.resolve()
  return received
}

let position: string | undefined
const known = Promise.withResolvers<void>()

/** Resolves once the first position is known. */
export const positionKnown = known.promise

/** The position at which the first answer was read. The feed continues from here. */
export function firstPosition(): string | undefined {
  return position
}

/** Forgets the position, because the journal does not go back that far any more. */
export function forgetPosition(): void {
  position = undefined
}

/** Returns the body of a GET. */
export async function get<T>(path: string, query: object = {}, signal?: AbortSignal): Promise<T> {
  const { body } = await send('GET', path, { query, options: signal === undefined ? {} : { signal } })
  return body as T
}

/** A page of any list of the API. */
export interface Page<T> {
  readonly data: readonly T[]
  readonly next: string | null
  readonly total?: number
}

/** An Entity, or a part of one. */
export type Json = Record<string, unknown>

export interface EntityData extends Json {
  readonly id: number
  readonly version: number
  readonly created_at: string
  readonly updated_at: string
  readonly deleted_at?: string | null
}
