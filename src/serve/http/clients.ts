import { isIP } from 'node:net'
import type { Server } from 'bun'
import { type Client, canonicalOf, isLocal, Proxies } from './address.ts'
import type { Log } from './log.ts'

/** Who sent a request, as far as that can be known. */
export class Clients {
  readonly #proxies: Proxies
  readonly #log: Log
  /** Who listens on a loopback address is called from there only: Bun need not be asked, which takes a microsecond. */
  readonly #peer: string | undefined
  #warned = false

  constructor({ host, trusted, log }: { host: string; trusted: readonly string[]; log: Log }) {
    const address = canonicalOf(host)
    this.#proxies = new Proxies(trusted)
    this.#log = log
    this.#peer = isIP(address) !== 0 && isLocal(address) ? address : undefined
  }

  clientOf(request: Request, server: Server<undefined>): Client {
    const peer = this.#peer ?? server.requestIP(request)?.address ?? ''
    const forwarded = request.headers.get('x-forwarded-for')
    if (forwarded !== null && !this.#proxies.any) this.#warn(peer)
    return this.#proxies.clientOf(peer, forwarded)
  }

  /** Once: whoever sees it needs no second, and whoever sends the header could fill the log with it. */
  #warn(peer: string): void {
    if (this.#warned) return
    this.#warned = true
    this.#log.warn(
      `A request has X-Forwarded-For, but no proxy is trusted: everybody behind a proxy counts as one address. If ${canonicalOf(peer)} is your proxy, start with --trusted-proxies ${canonicalOf(peer)}.`,
    )
  }
}
