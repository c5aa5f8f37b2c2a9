import type { Claims, Tokens } from '../auth/tokens.ts'
import type { Model } from '../declare/model.ts'
import { Failure } from '../errors.ts'
import { type Actor, type Caller, nobody } from '../plan/actor.ts'
import type { Plans } from '../plan/compile.ts'
import type { Store } from '../store/store.ts'

export const anonymous: Caller = Object.freeze({ actor: nobody, session: undefined, epoch: undefined })

/** How long a look at a user may be relied on where nothing was committed: a Store may not see at once what others did. */
const RELIED_MS = 250
const KNOWN_MAX = 10_000

interface Known {
  readonly caller: Caller
  readonly commits: number
  readonly until: number
}

/**
 * Who a token stands for. The user must still be there, and the token must not have been revoked. That is looked up
 * anew after every commit, so what is ended is over at once, and after a moment in any case.
 */
export class Identities {
  readonly #model: Model
  readonly #plans: Plans
  readonly #store: Store
  readonly #tokens: Tokens
  readonly #known = new Map<string, Known>()

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
    if (known.commits === this.#store.commits && known.until > Date.now()) return known.caller
    this.#known.delete(token)
    return undefined
  }

  async identify(token: string): Promise<Caller> {
    const { commits } = this.#store
    const claims = await this.#tokens.verify(token)
    if (claims === undefined || !(await this.#isLive(claims))) throw badToken()
    const { entity, id, session, epoch, expires } = claims
    const actor: Actor = { kind: 'user', entity, id, admin: entity === this.#model.admins }
    const caller = Object.freeze({ actor, session, epoch })
    if (this.#known.size >= KNOWN_MAX) this.#known.clear()
    this.#known.set(token, { caller, commits, until: Math.min(Date.now() + RELIED_MS, expires * 1000) })
    return caller
  }

  async #isLive({ entity, id, session, epoch }: Claims): Promise<boolean> {
    const login = this.#plans.get(entity)?.login
    if (login === undefined) return false
    const [row] = await this.#store.read(login.state, { $id: id, $session: session })
    return row !== undefined && Number(row[0]) === epoch && row[1] === null
  }
}

export function badToken(): Failure {
  return new Failure('invalid_token', { headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' } })
}
