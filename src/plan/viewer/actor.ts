import type { Bound } from '../../store/dialect.ts'

/** Who acts. */
export type Actor =
  | { readonly kind: 'nobody' }
  | { readonly kind: 'system' }
  | { readonly kind: 'user'; readonly entity: string; readonly id: number; readonly admin: boolean }

export const nobody: Actor = Object.freeze({ kind: 'nobody' })
/** The command line and Takeback itself. */
export const system: Actor = Object.freeze({ kind: 'system' })

export function actorName(actor: Actor): string | null {
  return actor.kind === 'user' ? `${actor.entity}/${actor.id}` : actor.kind === 'system' ? 'system' : null
}

/** The same, from what the journal has of it. */
export function journalledActor(actor: Bound | undefined, id: Bound | undefined): string | null {
  if (actor === null || actor === undefined) return null
  return id === null || id === undefined ? String(actor) : `${actor}/${id}`
}

/** Who calls, by which token. */
export interface Caller {
  readonly actor: Actor
  /** Nobody has none. */
  readonly session: Session | undefined
  /** Whether the account must change its password before it can do anything else. */
  readonly expired: boolean
}

/** One login, as one of its tokens says. */
export interface Session {
  /** Tokens that come of refreshes share it; logout ends it. */
  readonly id: string
  /** The name of this token alone. */
  readonly token: string
  /** What ends all tokens of a user raises the user's own. */
  readonly epoch: number
  /** Of the login and of this token, in seconds since 1970. */
  readonly started: number
  readonly expires: number
}
