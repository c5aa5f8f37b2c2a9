import { didYouMean } from '../../declare/closest.ts'
import { type Errors, note } from '../../errors.ts'
import type { Bound } from '../../store/dialect.ts'
import { count, type Sql, sql, word } from '../../store/sql.ts'
import type { KeyLimits, KeyScope } from './key-scope.ts'

/** Somebody who can sign in. */
export interface User {
  readonly kind: 'user'
  readonly entity: string
  readonly id: number
  readonly admin: boolean
}

/** A key that was made for a program, which acts in the name of a user. */
export interface KeyActor {
  readonly kind: 'key'
  readonly id: number
  readonly user: User
  /** Without it, it may do what its user may. */
  readonly scope?: KeyScope
  readonly limits?: KeyLimits
}

/**
 * Who acts: as one text `users/3`, `system`, `keys/7`, `jobs/nightly`, `reactions/orders.update` or `admins/1 as users/5`. A new
 * kind is a line here, in `actorName`, `actorParams` and `parseActor`.
 */
export type Actor = (
  | { readonly kind: 'nobody' }
  /** The command line and Takeback itself. */
  | { readonly kind: 'system' }
  | User
  | KeyActor
  | { readonly kind: 'job'; readonly name: string }
  | { readonly kind: 'reaction'; readonly name: string }
  /** An admin in the name of somebody else. */
  | { readonly kind: 'impersonation'; readonly by: User; readonly user: User }
) & {
  /** The operation that made them act. */
  readonly cause?: string
}

export const nobody: Actor = Object.freeze({ kind: 'nobody' })
export const system: Actor = Object.freeze({ kind: 'system' })

/** What the names of keys, jobs and reactions begin with: no type that logs in is called so. */
const KEYS = 'keys'
const JOBS = 'jobs'
const REACTIONS = 'reactions'

/** In whose name they act: that user's rules hold. */
export function userOf(actor: Actor): User | undefined {
  if (actor.kind === 'user') return actor
  return actor.kind === 'key' || actor.kind === 'impersonation' ? actor.user : undefined
}

/** Whether they act in the name of a user without being that user: a program with a key, or an admin. */
export function isDelegate(actor: Actor): boolean {
  return actor.kind === 'key' || actor.kind === 'impersonation'
}

/** Whether it is a key under which only that is done which can be taken back. */
export function isAgent(actor: Actor): actor is KeyActor & { readonly cause?: string } {
  return actor.kind === 'key' && actor.scope?.agent === true
}

/** Whether they pass every rule: admins, and what the declaration itself has set up. */
export function passesRules(actor: Actor): boolean {
  // A key that is for some types only is none of an admin.
  if (actor.kind === 'key' && actor.scope?.entities !== undefined) return false
  return userOf(actor)?.admin ?? actor.kind !== 'nobody'
}

/** As one text; `null` for nobody. */
export function actorName(actor: Actor): string | null {
  switch (actor.kind) {
    case 'nobody':
      return null
    case 'system':
      return 'system'
    case 'user':
      return `${actor.entity}/${actor.id}`
    case 'key':
      return `${KEYS}/${actor.id}`
    case 'job':
      return `${JOBS}/${actor.name}`
    case 'reaction':
      return `${REACTIONS}/${actor.name}`
    case 'impersonation':
      return `${actorName(actor.by)} as ${actorName(actor.user)}`
  }
}

/**
 * What the journal keeps of them, as it is bound: in `actor` and `actor_id` the user in whose name they act, or else the
 * whole text; in `via` who or what acts in that name.
 */
export function actorParams(actor: Actor): Record<'$actor' | '$actor_id' | '$via' | '$cause', Bound> {
  const user = userOf(actor)
  return {
    $actor: user === undefined ? actorName(actor) : user.entity,
    $actor_id: user === undefined ? null : user.id,
    $via:
      actor.kind === 'key' ? actorName(actor) : actor.kind === 'impersonation' ? actorName(actor.by) : null,
    $cause: actor.cause ?? null,
  }
}

/** The text of `actorName` again, from a row of the journal. */
export function journalledActor(row: Sql): Sql {
  const user = sql`${row}."actor" || '/' || CAST(${row}."actor_id" AS text)`
  const isKey = sql`substr(${row}."via", 1, ${count(KEYS.length + 1)}) = ${word(`${KEYS}/`)}`
  return sql`CASE WHEN ${row}."actor_id" IS NULL THEN ${row}."actor" WHEN ${row}."via" IS NULL THEN ${user}
    WHEN ${isKey} THEN ${row}."via" ELSE ${row}."via" || ' as ' || ${user} END`
}

/** Whose operations: all that is given must hold. */
export interface ActorFilter {
  /** In whose name: a user, or what acts in nobody's. */
  readonly user?: { readonly name: string; readonly id: number | null } | undefined
  /** By whom or by what in that name. */
  readonly via?: string | undefined
}

/**
 * What an actor's text stands for; notes what is wrong with it. `users/3` is all that was done in the name of that user, by
 * keys and admins too.
 */
export function parseActor(
  text: string | undefined,
  logins: readonly string[],
  errors: Errors,
): ActorFilter | undefined {
  if (text === undefined) return undefined
  if (text === 'system') return { user: { name: text, id: null } }
  const [first = '', rest] = text.split(/\/(.*)/s)
  if (first === JOBS || first === REACTIONS)
    return WORK_NAME.test(rest ?? '')
      ? { user: { name: text, id: null } }
      : note(errors, 'actor', `must be ${first} and a name, such as ${first}/${SAMPLES[first]}`)
  if (first === KEYS)
    return ID.test(rest ?? '') ? { via: text } : note(errors, 'actor', 'must be a key, such as keys/7')
  const names = text.split(' as ')
  if (names.length > 2)
    return note(errors, 'actor', 'must be one user as another, such as admins/1 as users/5')
  const users = names.map((one) => parseUserName('actor', one, logins, errors))
  const user = users.at(-1)
  if (user === undefined || users.includes(undefined)) return undefined
  return { user: { name: user.entity, id: user.id }, via: names.length === 2 ? names[0] : undefined }
}

/** `users/3`; notes what is wrong with it. */
export function parseUserName(
  path: 'actor' | 'user',
  text: string,
  logins: readonly string[],
  errors: Errors,
): Pick<User, 'entity' | 'id'> | undefined {
  const [, name, id] = /^([a-z][a-z0-9_]*)\/([1-9]\d{0,15})$/.exec(text) ?? []
  if (name === undefined)
    return note(errors, path, `must be a user, such as users/3${path === 'actor' ? ', or system' : ''}`)
  if (logins.includes(name)) return { entity: name, id: Number(id) }
  return note(errors, path, () => `"${name}" is not a login type${didYouMean(name, logins)}`)
}

const ID = /^[1-9]\d{0,15}$/
/** Of jobs and reactions. */
const WORK_NAME = /^[a-z][a-z0-9_-]{0,62}(\.([a-z]+|\*))?$/
const SAMPLES = { [JOBS]: 'nightly', [REACTIONS]: 'orders.update' } as const

/** Who calls, by which token. */
export interface Caller {
  readonly actor: Actor
  /** Nobody has none. */
  readonly session: Session | undefined
  /** Whether the account must change its password before it can do anything else. */
  readonly expired: boolean
  /** Whether the account must set up a second factor before it can do anything else. */
  readonly lacksFactor?: boolean
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
  /** Whether it began with two factors, or with what counts as two. */
  readonly strong?: boolean
  /** The admin whose session it is, if they act as the user; `epoch` is then that of the user. */
  readonly by?: { readonly entity: string; readonly id: number; readonly epoch: number }
}
