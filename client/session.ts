/** The part of a session that the client stores between calls. */
export interface KeptSession {
  readonly token?: string
  /** When to refresh the token, in milliseconds since 1970. */
  readonly refreshAt?: number
  /** The `Takeback-Device` of a login. It outlives the session. */
  readonly device?: string | undefined
}

/** Stores the session. */
export interface SessionStore {
  read(): KeptSession | undefined | Promise<KeptSession | undefined>
  write(session: KeptSession): void | Promise<void>
}

/** Stores the session until this page or process ends. */
function inMemory(): SessionStore {
  let kept: KeptSession = {}
  return {
    read: () => kept,
    write(session) {
      kept = session
    },
  }
}

/** Stores the session for all pages of this origin, until the user logs out. */
function inLocalStorage(name: string): SessionStore {
  return {
    read: () => JSON.parse(localStorage.getItem(name) ?? '{}') as KeptSession,
    write: (session) => localStorage.setItem(name, JSON.stringify(session)),
  }
}

/** The answer to a login, a refresh and a change of password. */
interface Issued {
  readonly token: string
  readonly expires_at: string
}

/** Exchanges a token for a new one. Returns undefined if the token is no longer valid. */
type Refresh = (token: string) => Promise<Issued | undefined>

/** Stores the token, and refreshes it before it expires: once, no matter how many calls need it. */
export class Session {
  readonly #store: SessionStore
  readonly #name: string
  readonly #refresh: Refresh
  #renewing: Promise<void> | undefined

  constructor(url: string, kept: 'memory' | 'localStorage' | SessionStore, refresh: Refresh) {
    this.#name = `takeback ${url}`
    this.#store =
      typeof kept === 'object' ? kept : kept === 'memory' ? inMemory() : inLocalStorage(this.#name)
    this.#refresh = refresh
  }

  async token(): Promise<string | undefined> {
    // By default, at the end of all time.
    const { token, refreshAt = 8e15 } = await this.#read()
    if (!token || Date.now() < refreshAt) return token
    this.#renewing ??= this.#renew(token).finally(() => {
      this.#renewing = undefined
    })
    // If there is no answer, the old token is used until it expires.
    await this.#renewing.catch(() => {})
    return (await this.#read()).token
  }

  async device(): Promise<string | undefined> {
    return (await this.#read()).device
  }

  async keep({ token, expires_at }: Issued, device?: string | null): Promise<void> {
    await this.#store.write({
      token,
      refreshAt: Date.now() + 0.8 * (Date.parse(expires_at) - issuedAt(token)),
      device: device ?? (await this.device()),
    })
  }

  /** Forgets the given token, or any token. Returns false if there is a newer one by now. */
  async drop(token?: string): Promise<boolean> {
    await this.#renewing?.catch(() => {})
    const { device, token: known } = await this.#read()
    if (token && known && known !== token) return false
    await this.#store.write({ device })
    return true
  }

  async #read(): Promise<KeptSession> {
    return (await this.#store.read()) ?? {}
  }

  /** A refresh ends the old token, so only one of the pages that share a session may send it. */
  async #renew(old: string): Promise<void> {
    const run = async () => {
      if ((await this.#read()).token !== old) return
      const issued = await this.#refresh(old)
      const { device } = await this.#read()
      await (issued ? this.keep(issued) : this.#store.write({ device }))
    }
    const locks = globalThis.navigator?.locks
    await (locks ? locks.request(this.#name, run) : run())
  }
}

/** Returns when the token was issued, by the server's clock: the clock of this machine may be wrong. */
function issuedAt(token: string): number {
  let at = 0
  try {
    const [, claims] = token.split('.') as [string, string]
    at = JSON.parse(atob(claims.replace(/-/g, '+').replace(/_/g, '/'))).iat * 1000
  } catch {
    // The token is not a JWT.
  }
  return at || Date.now()
}
