/** What is kept between calls. */
export interface KeptSession {
  readonly token?: string
  /** When to get a new token, in milliseconds since 1970. */
  readonly refreshAt?: number
  /** The `Takeback-Device` of a login. It outlives the session. */
  readonly device?: string | undefined
}

/** Where the session is kept. */
export interface SessionStore {
  read(): KeptSession | undefined | Promise<KeptSession | undefined>
  write(session: KeptSession): void | Promise<void>
}

/** Until this page or process ends. */
function inMemory(): SessionStore {
  let kept: KeptSession = {}
  return {
    read: () => kept,
    write(session) {
      kept = session
    },
  }
}

/** In the browser: for all pages of this origin, until somebody logs out. */
function inLocalStorage(name: string): SessionStore {
  return {
    read: () => JSON.parse(localStorage.getItem(name) ?? '{}') as KeptSession,
    write: (session) => localStorage.setItem(name, JSON.stringify(session)),
  }
}

/** What a login, a refresh and a change of password answer. */
interface Issued {
  readonly token: string
  readonly expires_at: string
}

/** Gets a new token for the one that it is given; undefined if that is dead. */
type Refresh = (token: string) => Promise<Issued | undefined>

/** Keeps the token, and renews it before it expires: once, however many calls want it. */
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
    const { token, refreshAt = Number.POSITIVE_INFINITY } = await this.#read()
    if (token === undefined || Date.now() < refreshAt) return token
    this.#renewing ??= this.#renew(token).finally(() => {
      this.#renewing = undefined
    })
    // Without an answer, the old token is used for as long as it lasts.
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

  /** Forgets a token, or whatever there is. False if there is a newer one by now. */
  async drop(token?: string): Promise<boolean> {
    await this.#renewing?.catch(() => {})
    const { device, token: known } = await this.#read()
    if (token !== undefined && known !== undefined && known !== token) return false
    await this.#store.write({ device })
    return true
  }

  async #read(): Promise<KeptSession> {
    return (await this.#store.read()) ?? {}
  }

  /** A refresh ends the old token, so of several pages with one session only one may do it. */
  async #renew(old: string): Promise<void> {
    const run = async () => {
      if ((await this.#read()).token !== old) return
      const issued = await this.#refresh(old)
      const { device } = await this.#read()
      await (issued ? this.keep(issued) : this.#store.write({ device }))
    }
    const { locks } = globalThis.navigator ?? {}
    await (locks === undefined ? run() : locks.request(this.#name, run))
  }
}

/** By the server's clock, which the one of this machine may not agree with. */
function issuedAt(token: string): number {
  let at = 0
  try {
    const [, claims = ''] = token.split('.')
    at = JSON.parse(atob(claims.replace(/-/g, '+').replace(/_/g, '/'))).iat * 1000
  } catch {
    // Not a token of the server's own.
  }
  return at || Date.now()
}
