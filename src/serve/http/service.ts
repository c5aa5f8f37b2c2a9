import { anonymous, type Identities } from '../../api/account/identify.ts'
import type { AnyAnswer, Context } from '../../api/context.ts'
import type { BodyKind, Method } from '../../api/endpoint.ts'
import { isDecodable, malformedIn, Query } from '../../api/query.ts'
import { Failure, invalidAt } from '../../errors.ts'
import { type MaybePromise, whenResolved } from '../../maybe-promise.ts'
import type { Observer } from '../../observe/observer.ts'
import { actorName, type Caller } from '../../plan/viewer/actor.ts'
import { notAcceptable, preferredOf } from './accept.ts'
import { admit, admitSignUps } from './admission.ts'
import { addRates, addTo, answerFailure, isUnchanged, responseOf } from './answer.ts'
import { readBody } from './body.ts'
import type { Clients, Peers } from './clients.ts'
import { type BunRequest, HttpCall } from './http-call.ts'
import type { Origins } from './origins.ts'
import type { RequestFacts } from './request-facts.ts'
import type { Handler, Route } from './route.ts'
import { shownPath } from './shown-path.ts'
import { watched } from './stream.ts'
import { refuseHost, targetOf } from './target.ts'

const NOT_IN_ADDRESS = 'is not accepted in the URL: send the header Authorization: Bearer <token>'
/** The methods of a server that is no proxy. */
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
const NONE_YET: RequestFacts['rateLimits'] = Object.freeze([])
const NONE: object = Object.freeze({})
const nothing = { caller: anonymous, query: Query.empty, body: NONE, type: 'text/html' }

/** Finds the caller of a token. */
export type CallerLookup = Pick<Identities, 'cached' | 'identify'>

/** What is needed to handle requests. */
export interface Served {
  readonly context: Context
  readonly clients: Clients
  readonly origins: Origins
  readonly observer: Observer
  /** Finds the caller of a token. Default: the identities of the context. */
  readonly identities?: CallerLookup
  /** Whether `?token=` is accepted. */
  readonly queryToken: boolean
}

/** A request that is being handled. */
interface Exchange {
  readonly route: Route | undefined
  readonly request: BunRequest
  readonly facts: RequestFacts
}

/** A request whose body was not read yet. */
interface Sending {
  readonly request: BunRequest
  readonly facts: RequestFacts
  readonly handler: Handler
  readonly token: string | undefined
  readonly body: Exclude<BodyKind, 'bytes'>
}

/** Turns requests into answers. */
export class Service {
  readonly #identities: CallerLookup
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

  /** The number of requests that are not answered yet, and of open streams. */
  get underWay(): number {
    return this.#underWay
  }

  /** Makes every answer from now on the last one on its connection. */
  endConnections(): void {
    this.#lastAnswers = true
  }

  /** Makes every answer from now on wait for this promise. */
  holdUntil(released: Promise<void>): void {
    this.#held = released
  }

  /** Tells streams to end. */
  endStreams(): void {
    this.#stopping.abort()
  }

  newRequestId(): string {
    return `${this.#prefix}-${(++this.#count).toString(36)}`
  }

  /** Answers and logs every outcome, at once if there is nothing to wait for. */
  serve(route: Route | undefined, request: BunRequest, server: Peers): MaybePromise<Response> {
    const exchange = { route, request, facts: this.#factsOf(request, server) }
    this.#underWay++
    let answer: MaybePromise<AnyAnswer>
    try {
      answer = this.#perform(exchange)
    } catch (error) {
      answer = this.#answerFailure(error, exchange)
    }
    if (this.#held === undefined && !(answer instanceof Promise)) return this.#send(answer, exchange)
    return this.#sendLater(answer, exchange)
  }

  async #sendLater(promise: MaybePromise<AnyAnswer>, exchange: Exchange): Promise<Response> {
    let answer: AnyAnswer
    try {
      answer = await promise
    } catch (error) {
      answer = this.#answerFailure(error, exchange)
    }
    if (this.#held !== undefined) await this.#held
    return this.#send(answer, exchange)
  }

  #answerFailure(error: unknown, { facts }: Exchange): AnyAnswer {
    const { observer, context } = this.#served
    return answerFailure(error, facts.requestId, observer, context.explainsDenials)
  }

  #send(answer: AnyAnswer, { route, request, facts }: Exchange): Response {
    try {
      const status = isUnchanged(request, answer) ? 304 : answer.status
      const { started } = facts
      const ms = performance.now() - started
      this.#served.context.requests.add(route, request.method, { status, started, ms })
      if (answer.body instanceof ReadableStream) return this.#stream(request, { ...answer, status }, facts)
      this.#logRequest(request, status, facts)
      return this.#respond(request, answer, status, facts)
    } finally {
      this.#underWay--
    }
  }

  #factsOf(request: BunRequest, server: Peers): RequestFacts {
    const { path, search } = targetOf(request.url)
    return {
      path,
      search,
      started: performance.now(),
      requestId: this.newRequestId(),
      client: this.#served.clients.clientOf(request, server),
      rates: this.#served.context.rates,
      rateLimits: NONE_YET,
      server,
      stopping: this.#stopping.signal,
    }
  }

  /** Sends a stream. It is under way until it ends, by itself or because nobody reads it. Then it is logged. */
  #stream(request: BunRequest, { body, ...answer }: AnyAnswer, facts: RequestFacts): Response {
    const { status } = answer
    const stream = body as ReadableStream<Uint8Array>
    if (request.method === 'HEAD' || status === 304) {
      void stream.cancel()
      this.#logRequest(request, status, facts)
      return this.#respond(request, { ...answer, body: '' }, status, facts)
    }
    this.#underWay++
    const sent = watched(stream, request.signal, (error) => {
      this.#underWay--
      if (error !== undefined) {
        const { requestId } = facts
        this.#served.observer.emit({
          kind: 'request_failed',
          message: 'A stream was broken off.',
          error,
          requestId,
        })
      }
      this.#logRequest(request, status, facts)
    })
    return this.#respond(request, { ...answer, body: sent }, status, facts)
  }

  /** Logs the answer. */
  #logRequest({ method }: BunRequest, status: number, facts: RequestFacts): void {
    const { path, search, started, requestId, client, caller, account, tool } = facts
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
    { requestId, rateLimits }: RequestFacts,
  ): Response {
    const { origins } = this.#served
    const { method } = request
    const response = responseOf(answer, status, requestId)
    if (rateLimits.length > 0) addRates(response.headers, rateLimits)
    if (origins.any) addTo(response.headers, origins.headersFor(request))
    // Bun treats everything after CONNECT as the bytes of a tunnel.
    if (this.#lastAnswers || method === 'CONNECT') response.headers.set('Connection', 'close')
    return response
  }

  /** Handles a request from top to bottom. */
  #perform({ route, request, facts }: Exchange): MaybePromise<AnyAnswer> {
    refuseHost(request.headers.get('host'))
    const preflight = request.method === 'OPTIONS' && this.#preflight(route, request)
    if (preflight) return preflight
    // Bun's router reads U+FFFD for bytes that are not UTF-8.
    const handler = handlerOf(isDecodable(facts.path) ? route : undefined, request.method)
    admit(facts, handler, request.method, 'address')
    if (handler.page)
      return handler.run(new HttpCall(request, facts, { ...nothing, query: pageQuery(facts, handler) }))
    const type = preferredOf(request.headers.get('accept'), handler.produces)
    if (type === undefined) throw notAcceptable(handler.produces)
    const parameters = facts.search === '' ? undefined : new URLSearchParams(facts.search)
    const token = this.#tokenOf(request.headers.get('authorization'), parameters)
    const { maxBytes, takes, plans } = handler
    const query =
      parameters === undefined
        ? Query.empty
        : new Query(parameters, takes, { plans, url: true, malformed: malformedIn(facts.search) })
    const run = (caller: Caller, body: object) =>
      handler.run(new HttpCall(request, facts, { caller, query, body, type, maxBytes }))
    return whenResolved(this.#callerOf(token), (caller) => {
      facts.caller = caller
      admit(facts, handler, request.method, 'user')
      if (handler.body !== undefined && handler.body !== 'bytes')
        return this.#withBody({ request, facts, handler, token, body: handler.body }, run)
      refuseUnsettled(handler, caller)
      return run(caller, NONE)
    })
  }

  /** Reads the body, then runs. Sign-ups are counted here, since each has a body. */
  async #withBody(
    { request, facts, handler, token, body: kind }: Sending,
    run: (caller: Caller, body: object) => MaybePromise<AnyAnswer>,
  ): Promise<AnyAnswer> {
    if (token === undefined && handler.signsUp?.()) await admitSignUps(facts, 1)
    refuseUnsettled(handler, facts.caller)
    const body = await readBody(request, kind)
    // Reading a body may take long, and the token may have ended meanwhile.
    const caller = await this.#callerOf(token)
    refuseUnsettled(handler, caller)
    return run(caller, body)
  }

  #preflight(route: Route | undefined, request: BunRequest): AnyAnswer | undefined {
    return route && this.#served.origins.preflight(request, methodsOf(route))
  }

  /** The header wins. If it is no Bearer token, that is a bad token, not a missing one. */
  #tokenOf(authorization: string | null, parameters: URLSearchParams | undefined): string | undefined {
    if (!this.#served.queryToken && parameters?.has('token')) throw invalidAt('token', NOT_IN_ADDRESS)
    if (authorization !== null) return bearerOf(authorization)
    return parameters?.get('token') ?? undefined
  }

  #callerOf(token: string | undefined): MaybePromise<Caller> {
    if (token === undefined) return anonymous
    return this.#identities.cached(token) ?? this.#identities.identify(token)
  }
}

function pageQuery({ search }: RequestFacts, { takes }: Handler): Query {
  if (search === '') return Query.empty
  return new Query(new URLSearchParams(search), takes, { url: true, malformed: malformedIn(search) })
}

function refuseUnsettled(handler: Handler, caller: Caller | undefined): void {
  if (caller?.expired && !handler.expired) throw new Failure('password_change_required')
  if (caller?.lacksFactor && !handler.withoutFactor) throw new Failure('second_factor_setup_required')
}

/** Nearly all clients write it as the standard does: a regular expression would take longer than all that follows. */
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
