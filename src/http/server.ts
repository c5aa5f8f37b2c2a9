import type { Server } from 'bun'
import type { Answer, Context } from '../api/context.ts'
import { anonymous } from '../api/identify.ts'
import { Query } from '../api/query.ts'
import { catalogue, Failure } from '../errors.ts'
import { type Caller, nameOf } from '../plan/actor.ts'
import { admitsJson } from './accept.ts'
import type { Proxies } from './address.ts'
import { readBody } from './body.ts'
import { type BunRequest, Incoming } from './incoming.ts'
import type { Log } from './log.ts'
import type { Origins } from './origins.ts'
import type { Handler, Method, Route } from './route.ts'
import { shownPath } from './shown-path.ts'

export interface HttpOptions {
  readonly host: string
  readonly port: number
  readonly context: Context
  readonly routes: readonly Route[]
  readonly pages: readonly Route[]
  readonly proxies: Proxies
  readonly origins: Origins
  readonly log: Log
}

export interface Listening {
  readonly url: string
  /** Takes no more connections, answers what is under way, closes. */
  drain(): Promise<void>
}

const DRAIN_MS = 10_000
const HOLD_MS = 50
const NONE: object = Object.freeze({})
const nothing = { caller: anonymous, query: Query.empty, body: NONE }

/** Listens. From here on nothing is made, only run. */
export function listen(options: HttpOptions): Listening {
  const { context, proxies, origins, log } = options
  const { identities } = context
  const prefix = Bun.randomUUIDv7().slice(-12)
  let count = 0
  let underWay = 0
  let released: Promise<void> | undefined

  /** The whole way of a request, top to bottom. */
  async function perform(
    route: Route | undefined,
    request: BunRequest,
    { server, search, seen }: { server: Server<undefined>; search: string; seen: { caller?: Caller } },
  ): Promise<Answer> {
    const handler = handlerOf(route, request.method)
    if (handler.page) return handler.run(new Incoming(request, { server, proxies }, nothing))
    if (!admitsJson(request.headers.get('accept'))) throw new Failure('not_acceptable')
    const parameters = search === '' ? undefined : new URLSearchParams(search)
    const token = tokenOf(request.headers.get('authorization'), parameters)
    seen.caller = await callerOf(token)
    const body = handler.body ? await readBody(request) : NONE
    // A body may take its time, and the token may have died meanwhile.
    const caller = handler.body ? await callerOf(token) : seen.caller
    const query = parameters === undefined ? Query.empty : new Query(parameters)
    return handler.run(new Incoming(request, { server, proxies }, { caller, query, body }))
  }

  function callerOf(token: string | undefined): Caller | Promise<Caller> {
    return token === undefined ? anonymous : (identities.recall(token) ?? identities.identify(token))
  }

  /** Around that: whatever happens is answered, and stands in the log. */
  async function serve(
    route: Route | undefined,
    request: BunRequest,
    server: Server<undefined>,
  ): Promise<Response> {
    const started = performance.now()
    const requestId = `${prefix}-${(++count).toString(36)}`
    const { path, search } = splitUrl(request.url)
    const seen: { caller?: Caller } = {}
    let answer: Answer
    underWay++
    try {
      const preflight = request.method === 'OPTIONS' && route && origins.preflight(request, methodsOf(route))
      answer = preflight || (await perform(route, request, { server, search, seen }))
    } catch (error) {
      answer = answerFailure(error, requestId, log)
    }
    if (released !== undefined) await released
    underWay--
    const status = isUnchanged(request, answer) ? 304 : answer.status
    const actor = seen.caller === undefined ? null : nameOf(seen.caller.actor)
    const ms = performance.now() - started
    log.request({ method: request.method, path: shownPath(path, search), status, ms, requestId, actor })
    const headers = headersOf(answer, requestId)
    if (origins.any) Object.assign(headers, origins.headersFor(request))
    if (released !== undefined) headers.Connection = 'close'
    return new Response(status === 304 ? null : answer.body, { status, headers })
  }

  const server = Bun.serve({
    hostname: options.host,
    port: options.port,
    idleTimeout: 30,
    // What is larger than we take is answered by us, in our own words: see readBody.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    // Without this a second server could take half of the requests of the first.
    reusePort: false,
    routes: {
      ...Object.fromEntries(
        [...options.routes, ...options.pages].flatMap((route) => {
          const run = (request: BunRequest, server: Server<undefined>) => serve(route, request, server)
          return [
            [route.path, run],
            [route.path === '/' ? '/' : `${route.path}/`, run],
          ]
        }),
      ),
    },
    fetch: (request, server) => serve(undefined, request as BunRequest, server),
    error: (error) => {
      log.error('A request failed outside of its handler', error)
      const { status, body, ...answer } = answerFailure(error, '', log)
      return new Response(body, { status, headers: headersOf({ status, ...answer }, '') })
    },
  })

  return {
    url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${server.port}`,
    async drain() {
      // Stopping closes idle connections at once. Answers are held back for a moment before, so that whoever is
      // about to ask again has not got an answer yet, and only the truly idle are closed.
      const { promise, resolve } = Promise.withResolvers<void>()
      released = promise
      await Bun.sleep(HOLD_MS)
      const stopped = server.stop()
      resolve()
      const deadline = Date.now() + DRAIN_MS
      while (underWay > 0 && Date.now() < deadline) await Bun.sleep(5)
      await Promise.race([stopped, Bun.sleep(DRAIN_MS / 10)])
      await server.stop(true)
    },
  }
}

function handlerOf(route: Route | undefined, method: string): Handler {
  if (route === undefined) throw new Failure('not_found')
  const handler = route.methods[(method === 'HEAD' ? 'GET' : method) as Method]
  if (handler !== undefined) return handler
  throw new Failure('method_not_allowed', { headers: { Allow: methodsOf(route).join(', ') } })
}

function methodsOf(route: Route): string[] {
  return Object.keys(route.methods).flatMap((one) => (one === 'GET' ? ['GET', 'HEAD'] : [one]))
}

/** The header wins; one that is no Bearer token is a bad token, not none. */
function tokenOf(authorization: string | null, parameters: URLSearchParams | undefined): string | undefined {
  if (authorization !== null) return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? ''
  return parameters?.get('token') ?? undefined
}

function splitUrl(url: string): { path: string; search: string } {
  const start = url.indexOf('/', 8)
  const mark = url.indexOf('?', start)
  return mark < 0
    ? { path: url.slice(start), search: '' }
    : { path: url.slice(start, mark), search: url.slice(mark + 1) }
}

function answerFailure(error: unknown, requestId: string, log: Log): Answer {
  const failure = error instanceof Failure ? error : new Failure('internal', { cause: error })
  const { status, message } = catalogue[failure.code]
  if (status >= 500) log.error(message, failure.cause ?? failure, requestId)
  const body = {
    message,
    ...(failure.errors !== undefined && { errors: Object.fromEntries(failure.errors) }),
    code: failure.code,
    ...(status >= 500 && { request_id: requestId }),
  }
  return { status, body: JSON.stringify(body), headers: { ...failure.headers } }
}

/** `If-None-Match` (RFC 9110, section 13.1.2): weak comparison, on reads only. */
function isUnchanged(request: Request, { status, headers }: Answer): boolean {
  const header =
    status === 200 && (request.method === 'GET' || request.method === 'HEAD')
      ? request.headers.get('if-none-match')
      : null
  if (header === null || headers?.ETag === undefined) return false
  return (
    header.trim() === '*' || header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === headers.ETag)
  )
}

/** The headers that all answers have, put to those of this one: an answer is made for one request, so nobody else sees it. */
function headersOf({ body, headers = {} }: Answer, requestId: string): Record<string, string> {
  headers['Cache-Control'] ??= 'no-store'
  headers['X-Content-Type-Options'] = 'nosniff'
  headers['Referrer-Policy'] = 'no-referrer'
  headers['Request-Id'] = requestId
  if (body !== undefined) headers['Content-Type'] ??= 'application/json'
  return headers
}
