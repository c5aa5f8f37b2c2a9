import { isIP } from 'node:net'
import type { Server } from 'bun'
import type { Observer } from '../../observe/observer.ts'
import { type Client, canonicalOf, isLocal, Proxies } from './address.ts'

/** The part of Bun's server that knows the connection of a request. */
export type Peers = Pick<Server<undefined>, 'requestIP' | 'timeout'>

/** Finds out who sent a request. */
export class Clients {
  readonly #proxies: Proxies
  readonly #observer: Observer
  /** The only possible peer of a server on a loopback address. Asking Bun would take a microsecond. */
  readonly #peer: string | undefined
  #warned = false

  constructor({ host, trusted, observer }: { host: string; trusted: readonly string[]; observer: Observer }) {
    const address = canonicalOf(host)
    this.#proxies = new Proxies(trusted)
    this.#observer = observer
    this.#peer = isIP(address) !== 0 && isLocal(address) ? address : undefined
  }

  clientOf(request: Request, server: Peers): Client {
    const peer = this.#peer ?? server.requestIP(request)?.address ?? ''
    const forwarded = request.headers.get('x-forwarded-for')
    if (forwarded !== null && !this.#proxies.any) this.#warn(peer)
    return this.#proxies.clientOf(peer, forwarded)
  }

  /** Warns only once: anyone can send the header, and could fill the log. */
  #warn(peer: string): void {
    if (this.#warned) return
    this.#warned = true
    this.#observer.emit({ kind: 'proxy_not_trusted', peer: canonicalOf(peer) })
  }
}
