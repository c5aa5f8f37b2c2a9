import { expiryOf, isExpired } from '../account/temporary.ts'
import type { Claims, Tokens } from '../account/tokens.ts'
import type { Model } from '../declare/model.ts'
import { Failure } from '../errors.ts'
import type { Plans } from '../plan/compile.ts'
import { tokenColumns } from '../plan/read/login.ts'
import { type Actor, type Caller, nobody } from '../plan/viewer/actor.ts'
import type { Store } from '../store/store.ts'

export const anonymous: Caller = Object.freeze({ actor: nobody, session: undefined, expired: false })

/** How long a look at a user may be relied on at most: a Store may not see what others did. */
const RELIED_MS = 500
const KNOWN_MAX = 10_000

interface Known {
  readonly caller: Caller
  readonly age: number
  /** By `performance.now()`. */
  readonly until: number
}

/**
 * Who a token stands for. The user must still be there, and the token must not have been revoked. What is looked up is
 * relied on for a moment, but not past anything that this server does to end a token, or sees others do: that is over at
 * once here, and within the moment everywhere.
 */
export class Identities {
  readonly #model: Model
  readonly #plans: Plans
  readonly #store: Store
  readonly #tokens: Tokens
  readonly #known = new Map<string, Known>()
  #forgotten = 0

  constructor(model: Model, plans: Plans, store: Store, tokens: Tokens) {
    this.#model = model
    this.#plans = plans
    this.#store = store
    this.#tokens = tokens
  }

  /** The caller, where a fresh look is at hand. */
  recall(token: string): Caller | undefined {
    const known = this.#known.get(token)
    if (known === undefined) return undefined
    if (known.age === this.#age && known.until > performance.now()) return known.caller
    this.#known.delete(token)
    return undefined
  }

  /** To be called whenever a user may have been ended, or a session, before that is answered. */
  forget(): void {
    this.#forgotten++
  }

  /** Grows with whatever makes a look at a user too old. */
  get #age(): number {
    return this.#forgotten + this.#store.others
  }

  async identify(token: string): Promise<Caller> {
    const age = this.#age
    const looked = performance.now()
    const claims = await this.#tokens.verify(token)
    const state = claims === undefined ? undefined : await this.#stateOf(claims)
    if (claims === undefined || state === undefined) throw badToken()
    const { id, session } = claims
    const entity = this.#nameOf(claims)
    const actor: Actor = { kind: 'user', entity, id, admin: entity === this.#model.admins }
    const caller = Object.freeze({ actor, session, expired: state.expired })
    if (this.#known.size >= KNOWN_MAX) this.#known.clear()
    const left = session.expires * 1000 - Date.now()
    this.#known.set(token, { caller, age, until: looked + Math.min(RELIED_MS, left) })
    return caller
  }

  /** A type that was renamed is still the one that its tokens name. */
  #nameOf({ entity }: Claims): string {
    if (this.#model.entities.has(entity)) return entity
    return this.#model.logins.find(({ was }) => was === entity)?.name ?? entity
  }

  /** Undefined where the token is no longer good. */
  async #stateOf(claims: Claims): Promise<{ expired: boolean } | undefined> {
    const { id, session } = claims
    const login = this.#plans.get(this.#nameOf(claims))?.login
    if (login === undefined) return undefined
    const [row] = await this.#store.read(login.state, {
      $id: id,
      $session: session.id,
      $token: session.token,
    })
    const state = row === undefined ? undefined : tokenColumns.read(row)
    if (state === undefined || Number(state.epoch) !== session.epoch || state.ended !== null) return undefined
    const expiry = expiryOf(state)
    return { expired: expiry !== undefined && isExpired(expiry) }
  }
}

export function badToken(): Failure {
  return new Failure('invalid_token', { headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' } })
}
