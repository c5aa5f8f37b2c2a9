import { authOf } from '../client/auth.ts'
import { Unauthenticated } from '../client/errors.ts'
import { type Received, type Sent, Transport } from '../client/transport.ts'
import { signedInAgain } from './session-end.ts'

export * from '../client/errors.ts'

/** Calls as whoever is signed in, also while they act as somebody else. */
export const own = new Transport(location.origin, { session: 'localStorage' })
export const auth = authOf(own, (token) => token)

/** While an admin acts as a user: that user's name and token. Lasts as long as the tab. */
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

/** From now on all calls are those of somebody else; with undefined, one's own again. Loads the console anew. */
export function actAs(acting: Acting | undefined): void {
  if (acting === undefined) sessionStorage.removeItem(ACTING)
  else sessionStorage.setItem(ACTING, JSON.stringify(acting))
  location.assign('/console/')
}

const acting = actingAs()
export const transport = acting === undefined ? own : own.with({ token: acting.token })

/** One call of the API: `send('GET', 'bookings/5/')`. The answer and its headers, or an `ApiError`. */
export async function send(method: string, path: string, sent?: Sent): Promise<Received> {
  try {
    return await sendOnce(method, path, sent)
  } catch (error) {
    // A token to act as somebody ends by itself, and no password renews it.
    const isOver = error instanceof Unauthenticated && !path.startsWith('auth/log')
    if (isOver && acting !== undefined) actAs(undefined)
    const again = isOver && acting === undefined ? signedInAgain(error) : undefined
    if (again === undefined) throw error
    await again
    return sendOnce(method, path, sent)
  }
}

async function sendOnce(method: string, path: string, sent?: Sent): Promise<Received> {
  const received = await transport.send(method, path, sent)
  position ??= received.headers.get('takeback-position') ?? undefined
  if (position !== undefined) known.resolve()
  return received
}

let position: string | undefined
const known = Promise.withResolvers<void>()

/** Resolves once there is a first position. */
export const positionKnown = known.promise

/** The place in the journal before which the first answer was read: what changes later, the feed tells from here. */
export function firstPosition(): string | undefined {
  return position
}

/** The journal does not go back that far any more. */
export function forgetPosition(): void {
  position = undefined
}

/** The answer of a GET. */
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
