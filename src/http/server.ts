import type { Server } from 'bun'
import { answerFailure, headersOf } from './answer.ts'
import type { BunRequest } from './incoming.ts'
import type { Route } from './route.ts'
import { type Served, Service } from './service.ts'

interface HttpOptions extends Served {
  readonly host: string
  readonly port: number
  readonly routes: readonly Route[]
}

interface Listening {
  readonly url: string
  /** Takes no more connections, answers what is under way, closes. */
  drain(): Promise<void>
}

const DRAIN_MS = 10_000
const HOLD_MS = 50

/** Listens. From here on nothing is made, only run. */
export function listen(options: HttpOptions): Listening {
  const service = new Service(options)
  const server = Bun.serve({
    hostname: options.host,
    port: options.port,
    idleTimeout: 30,
    // What is larger than we take is answered by us, in our own words: see readBody.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    // Without this a second server could take half of the requests of the first.
    reusePort: false,
    routes: Object.fromEntries(options.routes.flatMap((route) => bothSpellings(route, service))),
    fetch: (request, server) => service.serve(undefined, request as BunRequest, server),
    error(error) {
      const requestId = service.newRequestId()
      const answer = answerFailure(error, requestId, options.log, false)
      return new Response(answer.body, { status: answer.status, headers: headersOf(answer, requestId) })
    },
  })
  const host = options.host.includes(':') ? `[${options.host}]` : options.host
  return { url: `http://${host}:${server.port}`, drain: () => drain(server, service) }
}

/** With and without the trailing slash. */
function bothSpellings(route: Route, service: Service) {
  const run = (request: BunRequest, server: Server<undefined>) => service.serve(route, request, server)
  const paths = route.path === '/' ? ['/'] : [route.path, `${route.path}/`]
  return paths.map((path) => [path, run] as const)
}

/**
 * Stopping closes idle connections at once. Answers are held back for a moment before, so that whoever is about to ask
 * again has not got an answer yet, and only the truly idle are closed.
 */
async function drain(server: Server<undefined>, service: Service): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  service.holdUntil(promise)
  await Bun.sleep(HOLD_MS)
  const stopped = server.stop()
  resolve()
  const deadline = Date.now() + DRAIN_MS
  while (service.underWay > 0 && Date.now() < deadline) await Bun.sleep(5)
  await Promise.race([stopped, Bun.sleep(DRAIN_MS / 10)])
  await server.stop(true)
}
