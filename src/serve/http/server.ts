import type { Server } from 'bun'
import { budget } from '../../budget.ts'
import { Failure } from '../../errors.ts'
import type { MaybePromise } from '../../maybe-promise.ts'
import type { Observer } from '../../observe/observer.ts'
import { canonicalOf } from './address.ts'
import { answerFailure, renderFailure, responseOf } from './answer.ts'
import type { BunRequest } from './http-call.ts'
import { matcherOf } from './match.ts'
import type { Route } from './route.ts'
import { type Served, Service } from './service.ts'
import { shownPath } from './shown-path.ts'
import { targetOf } from './target.ts'

interface ListenAddress {
  readonly host: string
  readonly port: number
  readonly observer: Observer
}

/** A bound port on which nothing is served yet. Requests wait for a while, and then get a 503. */
export interface BoundServer {
  readonly url: string
  serve(served: Served, routes: readonly Route[]): Listening
  close(): Promise<void>
}

export interface Listening {
  /** Makes every answer from now on the last one on its connection. */
  endConnections(): void
  /** Accepts no more connections, finishes running requests, then closes. */
  drain(): Promise<void>
}

const DRAIN_MS = 10_000
const HOLD_MS = 50

/** Binds the port. Throws if it is taken. This is the first step of a start. */
export function bindServer({ host, port, observer }: ListenAddress): BoundServer {
  const { promise: ready, resolve: begin } = Promise.withResolvers<Dispatch>()
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: 30,
    // Bodies that are too large are refused by readBody, with our own answer.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    // Otherwise a second server could take half of the requests.
    reusePort: false,
    fetch: (request, server) => answerEarly(request as BunRequest, server, ready, observer),
  })
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`,
    serve(served, routes) {
      const service = new Service(served)
      let match: ReturnType<typeof matcherOf> | undefined
      begin((request, server) => {
        match ??= matcherOf(routes)
        return service.serve(match(request), request, server)
      })
      return serveRoutes(server, service, served.observer, routes)
    },
    close: () => server.stop(true),
  }
}

/** Hands the compiled routes to Bun. */
function serveRoutes(
  server: Server<undefined>,
  service: Service,
  observer: Observer,
  routes: readonly Route[],
): Listening {
  server.reload({
    routes: Object.fromEntries(routes.flatMap((route) => bothSpellings(route, service))),
    fetch: (request, server) => service.serve(undefined, request as BunRequest, server),
    error: (error) => answerError(error, service.newRequestId(), observer),
  })
  return { endConnections: () => service.endConnections(), drain: () => drain(server, service) }
}

/** Answers an error in the service itself, even if logging it fails. */
function answerError(error: unknown, requestId: string, observer: Observer): Response {
  let answer = renderFailure(new Failure('internal'), requestId)
  try {
    answer = answerFailure(error, requestId, observer, false)
  } catch {}
  return responseOf(answer, answer.status, requestId)
}

/** Serves a request that arrived before Bun's router had any routes. */
type Dispatch = (request: BunRequest, server: Server<undefined>) => MaybePromise<Response>

/**
 * Most starts take less time than a client waits, so requests wait for the server. A load balancer without health
 * checks then loses none of them. Health checks get the truth at once.
 */
async function answerEarly(
  request: BunRequest,
  server: Server<undefined>,
  ready: Promise<Dispatch>,
  observer: Observer,
): Promise<Response> {
  const asksHealth = /^\/api\/health(\/|$)/.test(targetOf(request.url).path)
  const dispatch = asksHealth ? undefined : await Promise.race([ready, Bun.sleep(budget.startWaitMs)])
  return dispatch === undefined ? answerStarting(request, server, observer) : dispatch(request, server)
}

/** Answers while the database is being migrated. */
function answerStarting(request: Request, server: Server<undefined>, observer: Observer): Response {
  const requestId = Bun.randomUUIDv7()
  const failure = new Failure('starting', { headers: { 'Retry-After': '1' } })
  const answer = renderFailure(failure, requestId)
  const { path, search } = targetOf(request.url)
  observer.emit({
    kind: 'request_answered',
    method: request.method,
    path: shownPath(path, search),
    status: answer.status,
    ms: 0,
    requestId,
    actor: null,
    address: canonicalOf(server.requestIP(request)?.address ?? ''),
  })
  return responseOf(answer, answer.status, requestId)
}

/** Serves a route at its path with and without the trailing slash. */
function bothSpellings(route: Route, service: Service) {
  const run = (request: BunRequest, server: Server<undefined>) => service.serve(route, request, server)
  const paths = /[/*]$/.test(route.path) ? [route.path] : [route.path, `${route.path}/`]
  return paths.map((path) => [path, run] as const)
}

/**
 * Stopping closes idle connections at once. Answers are held back for a moment before: a client without its answer
 * cannot send the next request yet, so only truly idle connections are closed.
 */
async function drain(server: Server<undefined>, service: Service): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  service.endConnections()
  service.endStreams()
  service.holdUntil(promise)
  await Bun.sleep(HOLD_MS)
  const stopped = server.stop()
  resolve()
  const deadline = performance.now() + DRAIN_MS
  while (service.underWay > 0 && performance.now() < deadline) await Bun.sleep(5)
  await Promise.race([stopped, Bun.sleep(DRAIN_MS / 10)])
  await server.stop(true)
}
