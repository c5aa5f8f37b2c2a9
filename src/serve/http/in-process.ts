import type { BunRequest } from './http-call.ts'
import { matcherOf } from './match.ts'
import type { Route } from './route.ts'
import type { BoundServer, Listening } from './server.ts'
import { type CallerLookup, type Served, Service } from './service.ts'

/** All requests come from this process, without a connection that could be idle. */
const PEERS = { requestIP: () => null, timeout() {} }

/** A server without a port, for tests that call it in their own process. */
export class InProcess implements BoundServer {
  readonly url: string
  readonly #recognise: (usual: CallerLookup) => CallerLookup
  #match: ReturnType<typeof matcherOf> = () => undefined
  #service: Service | undefined

  /** `recognise` replaces how the caller of a token is found. */
  constructor(url: string, recognise: (usual: CallerLookup) => CallerLookup) {
    this.url = url
    this.#recognise = recognise
  }

  serve(served: Served, routes: readonly Route[]): Listening {
    const service = new Service({ ...served, identities: this.#recognise(served.context.identities) })
    this.#service = service
    this.#match = matcherOf(routes)
    return {
      endConnections() {},
      async drain() {
        service.endStreams()
      },
    }
  }

  async fetch(request: Request): Promise<Response> {
    if (this.#service === undefined) throw new Error('The server has not started yet.')
    const known = request as BunRequest
    // As `fetch` does over HTTP: without a length or `transfer-encoding` there is no body.
    const { headers } = request
    if (!headers.has('accept')) headers.set('accept', '*/*')
    if (request.body !== null && !headers.has('content-length')) headers.set('transfer-encoding', 'chunked')
    return this.#service.serve(this.#match(known), known, PEERS)
  }

  async close(): Promise<void> {}
}
