import { didYouMean } from '../../declare/closest.ts'
import { addError, type Errors } from '../../errors.ts'
import type { Bound } from '../../store/dialect.ts'
import { intLiteral, quoted, type Sql, sql } from '../../store/sql.ts'
import type { KeyLimits, KeyScope } from './key-scope.ts'

/** A user: an Entity of a login type. */
export interface User {
  readonly kind: 'user'
  readonly entity: string
  readonly id: number
  readonly admin: boolean
  /** When they logged in, in seconds since 1970; undefined if they act without a login of their own. */
  readonly loginAt?: number
}

/** A key of a program that acts in the name of a user. */
export interface KeyActor {
  readonly kind: 'key'
  readonly id: number
  readonly user: User
  /** Without a scope, the key may do what its user may. */
  readonly scope?: KeyScope
  readonly limits?: KeyLimits
}

/**
 * Who acts. As text: `users/3`, `system`, `keys/7`, `jobs/nightly`, `reactions/orders.update` or `admins/1 as users/5`.
 * A new kind needs a line here, in `actorName`, `actorParams` and `parseActor`.
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
  /** The operation that caused them to act. */
  readonly cause?: string
}

export const nobody: Actor = Object.freeze({ kind: 'nobody' })
export const system: Actor = Object.freeze({ kind: 'system' })

/** The prefixes of keys, jobs and reactions. No login type can have such a name. */
const KEYS = 'keys'
const JOBS = 'jobs'
const REACTIONS = 'reactions'

/** The user in whose name they act. The rules of that user apply. */
export function userOf(actor: Actor): User | undefined {
  if (actor.kind === 'user') return actor
  return actor.kind === 'key' || actor.kind === 'impersonation' ? actor.user : undefined
}

/** Whether they act in the name of a user without being that user: a program with a key, or an admin. */
export function isDelegate(actor: Actor): boolean {
  return actor.kind === 'key' || actor.kind === 'impersonation'
}

/** Whether it is a key that may only do what can be taken back. */
export function isAgent(actor: Actor): actor is KeyActor & { readonly cause?: string } {
  return actor.kind === 'key' && actor.scope?.agent === true
}

/** Whether they pass every rule: admins, the system, jobs and reactions. */
export function passesRules(actor: Actor): boolean {
  // A key limited to some types is not an admin, even if its user is.
  if (actor.kind === 'key' && actor.scope?.entities !== undefined) return false
  return userOf(actor)?.admin ?? actor.kind !== 'nobody'
}

/** The actor as a text; `null` for nobody. */
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
 * The journal's columns for an actor. `actor` and `actor_id`: the user in whose name they act, or else the whole text.
 * `via`: the key or admin that acts in that name.
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

/** The text of `actorName`, from a row of the journal. */
export function journalledActor(row: Sql): Sql {
  const user = sql`${row}."actor" || '/' || CAST(${row}."actor_id" AS text)`
  const isKey = sql`substr(${row}."via", 1, ${intLiteral(KEYS.length + 1)}) = ${quoted(`${KEYS}/`)}`
  return sql`CASE WHEN ${row}."actor_id" IS NULL THEN ${row}."actor" WHEN ${row}."via" IS NULL THEN ${user}
    WHEN ${isKey} THEN ${row}."via" ELSE ${row}."via" || ' as ' || ${user} END`
}

/** A filter for operations by their actors. All given conditions must hold. */
export interface ActorFilter {
  /** The user in whose name it was done, or an actor that is not a user. */
  readonly user?: { readonly name: string; readonly id: number | null } | undefined
  /** The key or admin that acted in that name. */
  readonly via?: string | undefined
}

/**
 * Parses the text of an actor; reports errors. `users/3` means everything done in the name of that user, also by keys
 * and admins.
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
      : addError(errors, 'actor', `must be ${first} and a name, such as ${first}/${SAMPLES[first]}`)
  if (first === KEYS)
    return ID.test(rest ?? '') ? { via: text } : addError(errors, 'actor', 'must be a key, such as keys/7')
  const names = text.split(' as ')
  if (names.length > 2)
    return addError(errors, 'actor', 'must be one user as another, such as admins/1 as users/5')
  const users = names.map((one) => parseUserName('actor', one, logins, errors))
  const user = users.at(-1)
  if (user === undefined || users.includes(undefined)) return undefined
  return { user: { name: user.entity, id: user.id }, via: names.length === 2 ? names[0] : undefined }
}

/** Parses `users/3`; reports errors. */
export function parseUserName(
  path: 'actor' | 'user',
  text: string,
  logins: readonly string[],
  errors: Errors,
): Pick<User, 'entity' | 'id'> | undefined {
  const [, name, id] = /^([a-z][a-z0-9_]*)\/([1-9]\d{0,15})$/.exec(text) ?? []
  if (name === undefined)
    return addError(errors, path, `must be a user, such as users/3${path === 'actor' ? ', or system' : ''}`)
  if (logins.includes(name)) return { entity: name, id: Number(id) }
  return addError(errors, path, () => `"${name}" is not a login type${didYouMean(name, logins)}`)
}

const ID = /^[1-9]\d{0,15}$/
/** The names of jobs and reactions. */
const WORK_NAME = /^[a-z][a-z0-9_-]{0,62}(\.([a-z]+|\*))?$/
const SAMPLES = { [JOBS]: 'nightly', [REACTIONS]: 'orders.update' } as const

/** The caller, as its token identifies it. */
export interface Caller {
  readonly actor: Actor
  /** Undefined if nobody has logged in: for strangers, keys and the server itself. */
  readonly session: Session | undefined
  /** Whether the account must change its password before it can do anything else. */
  readonly expired: boolean
  /** Whether the account must set up a second factor before it can do anything else. */
  readonly lacksFactor?: boolean
}

/** One login, as one of its tokens describes it. */
export interface Session {
  /** Shared by all tokens from refreshes of one login. Logout ends it. */
  readonly id: string
  /** The id of this token. */
  readonly token: string
  /** The user's epoch when the token was made. Raising the user's epoch ends all of their tokens. */
  readonly epoch: number
  /** When the login began and when this token expires, in seconds since 1970. */
  readonly started: number
  readonly expires: number
  /** Whether the login used two factors, or one that counts as two. */
  readonly strong?: boolean
  /** The admin who acts as the user, if any. `epoch` outside is then that of the user. */
  readonly by?: { readonly entity: string; readonly id: number; readonly epoch: number }
}
