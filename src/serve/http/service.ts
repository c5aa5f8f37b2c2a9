import { anonymous, type Identities } from '../../api/account/identify.ts'
import type { AnyAnswer, Context } from '../../api/context.ts'
import type { Method } from '../../api/endpoint.ts'
import { Query } from '../../api/query.ts'
import { Failure, invalidAt } from '../../errors.ts'
import type { Observer } from '../../observe/observer.ts'
import { actorName, type Caller } from '../../plan/viewer/actor.ts'
import { preferredOf } from './accept.ts'
import { admit, admitSignUps } from './admission.ts'
import { addRates, addTo, answerFailure, isUnchanged, responseOf } from './answer.ts'
import { readBody } from './body.ts'
import type { Clients, Peers } from './clients.ts'
import { type BunRequest, Incoming } from './incoming.ts'
import type { Origins } from './origins.ts'
import type { Handler, Route } from './route.ts'
import type { RequestFacts } from './seen.ts'
import { shownPath } from './shown-path.ts'
import { watched } from './stream.ts'
import { refuseHost, targetOf } from './target.ts'

const NOT_IN_ADDRESS = 'is not accepted in the URL: send the header Authorization: Bearer <token>'
/** Of a server that is no proxy. */
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
const NONE_YET: RequestFacts['standings'] = Object.freeze([])
const NONE: object = Object.freeze({})
const nothing = { caller: anonymous, query: Query.empty, body: NONE, type: 'text/html' }

/** Finds out who is behind a token. */
export type Recognising = Pick<Identities, 'recall' | 'identify'>

/** Handles all requests. */
export interface Served {
  readonly context: Context
  readonly clients: Clients
  readonly origins: Origins
  readonly observer: Observer
  /** Who is behind a token. Default: as the context has it. */
  readonly identities?: Recognising
  /** Whether `?token=` is taken. */
  readonly queryToken: boolean
}

/** Turns requests into answers. */
export class Service {
  readonly #identities: Recognising
  readonly #served: Served
  readonly #prefix = Bun.randomUUIDv7().slice(-12)
  #count = 0
  #underWay = 0
  #held: Promise<void> | undefined
  #lastAnswers = false
  readonly #stopping = new AbortController()

  constructor(served: Served) {
    this.#served = served
    this.#identities = served.identities ?? served.context.identities
  }

  /** The number of requests without an answer yet. */
  get underWay(): number {
    return this.#underWay
  }

  /** From now on every answer is the last one on its connection. */
  endConnections(): void {
    this.#lastAnswers = true
  }

  /** From now on every answer waits for this. */
  holdUntil(released: Promise<void>): void {
    this.#held = released
  }

  /** Streams are told to end. */
  endStreams(): void {
    this.#stopping.abort()
  }

  newRequestId(): string {
    return `${this.#prefix}-${(++this.#count).toString(36)}`
  }

  /** Every outcome is answered and logged. */
  async serve(route: Route | undefined, request: BunRequest, server: Peers): Promise<Response> {
    this.#underWay++
    try {
      const seen = this.#look(request, server)
      let answer: AnyAnswer
      try {
        answer = await this.#perform(route, request, seen)
      } catch (error) {
        const { observer, context } = this.#served
        answer = answerFailure(error, seen.requestId, observer, context.explainsDenials)
      }
      if (this.#held !== undefined) await this.#held
      const status = isUnchanged(request, answer) ? 304 : answer.status
      const { started } = seen
      const ms = performance.now() - started
      this.#served.context.requests.add(route, request.method, { status, started, ms })
      if (answer.body instanceof ReadableStream) return this.#stream(request, { ...answer, status }, seen)
      this.#note(request, status, seen)
      return this.#respond(request, answer, status, seen)
    } finally {
      this.#underWay--
    }
  }

  #look(request: BunRequest, server: Peers): RequestFacts {
    const { path, search } = targetOf(request.url)
    return {
      path,
      search,
      started: performance.now(),
      requestId: this.newRequestId(),
      client: this.#served.clients.clientOf(request, server),
      rates: this.#served.context.rates,
      standings: NONE_YET,
      server,
      stopping: this.#stopping.signal,
    }
  }

  /** Under way until its end, which the log tells: whether that comes by itself, or because nobody reads on. */
  #stream(request: BunRequest, { body, ...answer }: AnyAnswer, seen: RequestFacts): Response {
    const { status } = answer
    const stream = body as ReadableStream<Uint8Array>
    if (request.method === 'HEAD' || status === 304) {
      void stream.cancel()
      this.#note(request, status, seen)
      return this.#respond(request, { ...answer, body: '' }, status, seen)
    }
    this.#underWay++
    const sent = watched(stream, request.signal, (error) => {
      this.#underWay--
      if (error !== undefined) {
        const { requestId } = seen
        this.#served.observer.emit({
          kind: 'request_failed',
          message: 'A stream was broken off.',
          error,
          requestId,
        })
      }
      this.#note(request, status, seen)
    })
    return this.#respond(request, { ...answer, body: sent }, status, seen)
  }

  /** A line in the log. */
  #note({ method }: BunRequest, status: number, seen: RequestFacts): void {
    const { path, search, started, requestId, client, caller, account, tool } = seen
    this.#served.observer.emit({
      kind: 'request_answered',
      method,
      path: shownPath(path, search),
      status,
      ms: performance.now() - started,
      requestId,
      actor: caller === undefined ? null : actorName(caller.actor),
      address: client.address,
      account,
      tool,
    })
  }

  #respond(
    request: BunRequest,
    answer: AnyAnswer,
    status: number,
    { requestId, standings }: RequestFacts,
  ): Response {
    const { origins } = this.#served
    const { method } = request
    const response = responseOf(answer, status, requestId)
    if (standings.length > 0) addRates(response.headers, standings)
    if (origins.any) addTo(response.headers, origins.headersFor(request))
    // Bun treats everything after CONNECT as the bytes of a tunnel.
    if (this.#lastAnswers || method === 'CONNECT') response.headers.set('Connection', 'close')
    return response
  }

  /** The whole way of a request, top to bottom. */
  async #perform(route: Route | undefined, request: BunRequest, seen: RequestFacts): Promise<AnyAnswer> {
    refuseHost(request.headers.get('host'))
    const preflight = request.method === 'OPTIONS' && this.#preflight(route, request)
    if (preflight) return preflight
    const handler = handlerOf(route, request.method)
    admit(seen, handler, request.method, 'address')
    if (handler.page)
      return handler.run(new Incoming(request, seen, { ...nothing, query: pageQuery(seen, handler) }))
    const type = preferredOf(request.headers.get('accept'), handler.produces)
    if (type === undefined) throw new Failure('not_acceptable')
    const parameters = seen.search === '' ? undefined : new URLSearchParams(seen.search)
    const token = this.#tokenOf(request.headers.get('authorization'), parameters)
    seen.caller = await this.#callerOf(token)
    admit(seen, handler, request.method, 'user')
    if (token === undefined && handler.signsUp?.()) await admitSignUps(seen, 1)
    refuseUnsettled(handler, seen.caller)
    const reads = handler.body !== undefined && handler.body !== 'bytes'
    const body = reads ? await readBody(request, handler.body) : NONE
    // A body may take its time, and the token may have died meanwhile.
    const caller = reads ? await this.#callerOf(token) : seen.caller
    refuseUnsettled(handler, caller)
    const { maxBytes, takes, plans } = handler
    const query = parameters === undefined ? Query.empty : new Query(parameters, takes, { plans, url: true })
    return handler.run(new Incoming(request, seen, { caller, query, body, type, maxBytes }))
  }

  #preflight(route: Route | undefined, request: BunRequest): AnyAnswer | undefined {
    return route && this.#served.origins.preflight(request, methodsOf(route))
  }

  /** The header wins; one that is no Bearer token is a bad token, not none. */
  #tokenOf(authorization: string | null, parameters: URLSearchParams | undefined): string | undefined {
    if (!this.#served.queryToken && parameters?.has('token')) throw invalidAt('token', NOT_IN_ADDRESS)
    if (authorization !== null) return bearerOf(authorization)
    return parameters?.get('token') ?? undefined
  }

  #callerOf(token: string | undefined): Caller | Promise<Caller> {
    if (token === undefined) return anonymous
    return this.#identities.recall(token) ?? this.#identities.identify(token)
  }
}

function pageQuery({ search }: RequestFacts, { takes }: Handler): Query {
  return search === '' ? Query.empty : new Query(new URLSearchParams(search), takes, { url: true })
}

function refuseUnsettled(handler: Handler, { expired, lacksFactor }: Caller): void {
  if (expired && !handler.expired) throw new Failure('password_change_required')
  if (lacksFactor && !handler.withoutFactor) throw new Failure('second_factor_setup_required')
}

/** Nearly everybody writes it as the standard does: a regular expression would take longer than all that follows. */
function bearerOf(authorization: string): string {
  if (authorization.startsWith('Bearer ') && authorization.indexOf(' ', 7) < 0) return authorization.slice(7)
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? ''
}

function handlerOf(route: Route | undefined, method: string): Handler {
  if (method === 'CONNECT') throw new Failure('method_not_allowed', { headers: { Allow: METHODS } })
  if (route === undefined) throw new Failure('not_found')
  const handler = route.methods[(method === 'HEAD' ? 'GET' : method) as Method]
  if (handler !== undefined) return handler
  throw new Failure('method_not_allowed', { headers: { Allow: methodsOf(route).join(', ') } })
}

function methodsOf(route: Route): string[] {
  return Object.keys(route.methods).flatMap((one) => (one === 'GET' ? ['GET', 'HEAD'] : [one]))
}
