import type { AccountId } from '../../account/account-id.ts'
import { isKeyText, looksLikeKey } from '../../account/key-text.ts'
import type { AccessKey, AccessKeys } from '../../account/keys.ts'
import type { SecondFactors } from '../../account/second-factors.ts'
import type { Sessions } from '../../account/sessions.ts'
import { expiryOf, isExpired } from '../../account/temporary.ts'
import type { Claims, Tokens } from '../../account/tokens.ts'
import type { Model } from '../../declare/model.ts'
import { Failure } from '../../errors.ts'
import type { Plans } from '../../plan/compile.ts'
import { tokenColumns } from '../../plan/read/login.ts'
import {
  type Caller,
  type KeyActor,
  nobody,
  type Session,
  type User,
  userOf,
} from '../../plan/viewer/actor.ts'
import { keyScope } from '../../plan/viewer/key-scope.ts'
import type { Store } from '../../store/store.ts'

export const anonymous: Caller = Object.freeze({ actor: nobody, session: undefined, expired: false })

/** How long a user is cached at most: other servers may have ended a session. */
const RELIED_MS = 500
const KNOWN_MAX = 10_000

interface IdentityParts {
  readonly model: Model
  readonly plans: Plans
  readonly store: Store
  readonly tokens: Tokens
  readonly sessions: Sessions
  readonly keys: AccessKeys
  readonly factors: SecondFactors
}

type TokenState = Pick<Caller, 'expired' | 'lacksFactor'>

interface Known {
  readonly caller: Caller
  readonly age: number
  /** The expiry, by `performance.now()`. */
  readonly until: number
}

/**
 * Finds the caller of a token. The user must still exist, and the token must not be revoked. Users are cached for a
 * moment. When this server ends a token, or sees others do it, the cache is dropped: the token stops working at once
 * here, and within that moment on other servers.
 */
export class Identities {
  readonly #model: Model
  readonly #plans: Plans
  readonly #store: Store
  readonly #tokens: Tokens
  readonly #sessions: Sessions
  readonly #keys: AccessKeys
  readonly #factors: SecondFactors
  readonly #known = new Map<string, Known>()
  /** Callers by the name of their token, or by key. Not for authentication: a name proves nothing. */
  readonly #alive = new Map<string, Known>()
  #forgotten = 0

  constructor({ model, plans, store, tokens, sessions, keys, factors }: IdentityParts) {
    this.#model = model
    this.#plans = plans
    this.#store = store
    this.#tokens = tokens
    this.#sessions = sessions
    this.#keys = keys
    this.#factors = factors
  }

  /** Returns the caller of a token if the cache has them. */
  cached(token: string): Caller | undefined {
    const known = this.#known.get(token)
    if (known === undefined) return undefined
    if (known.age === this.#age && known.until > performance.now()) return known.caller
    this.#known.delete(token)
    return undefined
  }

  /** Must be called whenever a user or a session may have ended, before the answer is sent. */
  forget(): void {
    this.#forgotten++
  }

  /** Grows with every event that invalidates the cache. */
  get #age(): number {
    return this.#forgotten + this.#store.others
  }

  async identify(token: string): Promise<Caller> {
    const age = this.#age
    const looked = performance.now()
    if (looksLikeKey(token)) {
      const key = isKeyText(token) ? await this.#keys.find(token) : undefined
      const caller = key && (await this.#holderOf(key))
      if (key === undefined || caller === undefined) throw badToken()
      this.#keys.recordUse(key.id)
      keepKnown(this.#known, token, { caller, age, until: looked + reliedOnKeyMs(key) })
      return caller
    }
    const claims = await this.#tokens.verify(token)
    const caller = await this.callerOf(claims)
    keepKnown(this.#known, token, { caller, age, until: looked + reliedMs(caller) })
    return caller
  }

  /** The caller with this key; undefined if the user in whose name it acts is gone. */
  async #holderOf({ id, owner, can, limits, agent }: AccessKey): Promise<Caller | undefined> {
    const user = this.#userOf(owner.entity, owner.id)
    const state = await this.#stateOf(user, undefined)
    if (state === undefined) return undefined
    const scope = keyScope(this.#model, can, agent)
    const actor: KeyActor = Object.freeze({ kind: 'key', id, user, scope, limits })
    return Object.freeze({ actor, session: undefined, expired: state.expired })
  }

  /** Whether a key is valid and has the same rights as before: for long calls. */
  async #isKeyAlive({ id, scope }: KeyActor): Promise<boolean> {
    const age = this.#age
    const looked = performance.now()
    const name = `keys/${id}`
    const known = this.#alive.get(name)
    const isFresh = known?.age === age && known.until > looked
    const key = isFresh ? undefined : await this.#keys.alive(id)
    const caller = isFresh ? known.caller : key && (await this.#holderOf(key))
    if (caller === undefined || caller.expired || caller.actor.kind !== 'key') return false
    if (key !== undefined) keepKnown(this.#alive, name, { caller, age, until: looked + reliedOnKeyMs(key) })
    return caller.actor.scope?.shape === scope?.shape
  }

  /** Returns the caller whom the claims of a valid token or ticket name. Throws if the token has ended. */
  async callerOf(claims: Claims | undefined): Promise<Caller> {
    const caller = claims === undefined ? undefined : await this.#aliveOf(claims)
    if (caller === undefined) throw badToken()
    return Object.freeze(caller)
  }

  /** Whether the token of a caller is still valid: for long calls. */
  async isAlive({ actor, session }: Caller): Promise<boolean> {
    if (actor.kind === 'key') return this.#isKeyAlive(actor)
    const user = userOf(actor)
    if (session === undefined || user === undefined) return true
    const age = this.#age
    const looked = performance.now()
    const known = this.#alive.get(session.token)
    if (known?.age === age && known.until > looked) return true
    if (session.expires * 1000 <= Date.now()) return false
    const caller = await this.#aliveOf({ entity: user.entity, id: user.id, session, notBefore: 0 })
    if (caller === undefined || caller.expired || caller.lacksFactor) return false
    keepKnown(this.#alive, session.token, { caller, age, until: looked + reliedMs(caller) })
    return true
  }

  /** Throws if the session of a caller has ended. Ignores the cache. */
  async refuseEnded({ actor, session }: Caller): Promise<void> {
    const user = userOf(actor)
    if (user === undefined || session === undefined) return
    const { entity, id } = user
    if ((await this.#aliveOf({ entity, id, session, notBefore: 0 })) === undefined) throw badToken()
  }

  /** The caller of a token; undefined if it is no longer valid. If an admin acts as the user, both must exist. */
  async #aliveOf({ entity, id, session }: Claims): Promise<Caller | undefined> {
    const user = this.#userOf(entity, id)
    const state = await this.#stateOf(user, session)
    if (state === undefined) return undefined
    if (session.by === undefined) return { actor: { ...user, loginAt: session.started }, session, ...state }
    const by = this.#userOf(session.by.entity, session.by.id)
    const admin = await this.#stateOf(by, { ...session, epoch: session.by.epoch })
    if (admin === undefined || !by.admin || user.admin) return undefined
    return { actor: { kind: 'impersonation', by, user }, session, ...admin }
  }

  /** A token from before a rename has the type's old name. */
  #userOf(name: string, id: number): User {
    const { entities, logins, admins } = this.#model
    const entity = entities.has(name) ? name : (logins.find(({ was }) => was === name)?.name ?? name)
    return { kind: 'user', entity, id, admin: entity === admins }
  }

  /** Undefined if the user is gone, or the session is no longer valid. A key has no session. */
  async #stateOf({ entity, id }: User, session: Session | undefined): Promise<TokenState | undefined> {
    const login = this.#plans.get(entity)?.login
    if (login === undefined) return undefined
    const [row] = await this.#store.read(login.state, {
      $id: id,
      $session: session?.id ?? '',
      $token: session?.token ?? '',
    })
    const state = row === undefined ? undefined : tokenColumns.read(row)
    if (state === undefined) return undefined
    if (session !== undefined) {
      if (Number(state.epoch) !== session.epoch || state.ended !== null) return undefined
      this.#sessions.recordUse(session)
    }
    const expiry = expiryOf(state)
    return {
      expired: expiry !== undefined && isExpired(expiry),
      lacksFactor: await this.#lacksFactor({ entity, id }, session),
    }
  }

  /** Whether a second factor is required, but the user has none and this session did not use one. */
  async #lacksFactor(owner: AccountId, session: Session | undefined): Promise<boolean> {
    if (session === undefined || session.strong) return false
    if (this.#model.entities.get(owner.entity)?.login?.second !== 'required') return false
    return (await this.#factors.state(owner)) === undefined
  }
}

function reliedMs({ session }: Caller): number {
  return Math.min(RELIED_MS, (session?.expires ?? 0) * 1000 - Date.now())
}

function reliedOnKeyMs({ expires_at: expires }: AccessKey): number {
  return expires === null ? RELIED_MS : Math.min(RELIED_MS, Date.parse(expires) - Date.now())
}

function keepKnown(all: Map<string, Known>, key: string, known: Known): void {
  if (all.size >= KNOWN_MAX) all.clear()
  all.set(key, known)
}

export function badToken(): Failure {
  return new Failure('invalid_token', { headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' } })
}
