import type { Server } from 'bun'
import type { Preconditions } from '../api/context.ts'
import type { Query } from '../api/query.ts'
import { parseIfMatch } from '../api/update.ts'
import type { Caller } from '../plan/actor.ts'
import type { Proxies } from './address.ts'
import type { Call } from './route.ts'

/** A request of Bun's router. */
export type BunRequest = Request & { readonly params?: Readonly<Record<string, string>> }

/** What the log says of a request beyond what was sent. */
export interface Seen {
  caller?: Caller
  /** The digest of the account, for a login. */
  account?: string
}

/** A request as an operation sees it. What few operations ask for is looked up only when they do. */
export class Incoming implements Call {
  readonly caller: Caller
  readonly query: Query
  readonly body: object
  readonly #request: BunRequest
  readonly #server: Server<undefined>
  readonly #proxies: Proxies
  readonly #seen: Seen

  constructor(
    request: BunRequest,
    { server, proxies, seen }: { server: Server<undefined>; proxies: Proxies; seen: Seen },
    checked: { caller: Caller; query: Query; body: object },
  ) {
    this.caller = checked.caller
    this.query = checked.query
    this.body = checked.body
    this.#request = request
    this.#server = server
    this.#proxies = proxies
    this.#seen = seen
  }

  get id(): string {
    return this.#request.params?.id ?? ''
  }

  get when(): Preconditions {
    return { ifMatch: parseIfMatch(this.#request.headers.get('if-match')) }
  }

  get key(): string | null {
    return this.#request.headers.get('idempotency-key')
  }

  get target(): string {
    const { pathname, searchParams } = new URL(this.#request.url)
    searchParams.delete('token')
    searchParams.sort()
    return `${this.#request.method} ${pathname.replace(/\/$/, '')}?${searchParams}`
  }

  get signal(): AbortSignal {
    return this.#request.signal
  }

  get device(): string | null {
    return this.#request.headers.get('takeback-device')
  }

  noteAccount(digest: string): void {
    this.#seen.account = digest
  }

  get address(): string {
    const peer = this.#server.requestIP(this.#request)?.address ?? ''
    return this.#proxies.clientOf(peer, this.#request.headers.get('x-forwarded-for'))
  }
}
