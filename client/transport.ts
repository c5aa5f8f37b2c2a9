import { ApiError, errorOf, NetworkError, PlanFirst } from './errors.ts'
import { Session, type SessionStore } from './session.ts'
import type { ListStream } from './streamed-list.ts'

export interface ConnectOptions {
  /** Where the session is kept. Default: in memory. */
  readonly session?: 'memory' | 'localStorage' | SessionStore
  /** A token, or an API key, of one's own: nothing is kept or refreshed then. */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>)
  /** In place of the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** How often a call that failed is sent again, if that is safe. Default: 4. */
  readonly retries?: number
  /** How long to wait for an answer, in milliseconds. Default: 60,000. */
  readonly timeout?: number
  /** Marks all writes as part of a run (`Takeback-Run`). */
  readonly run?: string
}

/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal
  /** The `Idempotency-Key`. Default: a new one for each call, the same for all of its retries. */
  readonly key?: string
  /** Marks the write as part of a run (`Takeback-Run`). */
  readonly run?: string
  /** Why it is written (`Takeback-Reason`). */
  readonly reason?: string
  /** The `plan` of a preview: does exactly that, or nothing (`PlanChanged`). */
  readonly plan?: string
}

/** A request. */
export interface ApiRequest {
  readonly query?: object
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** A `plan` is part of the query. */
  readonly options?: Omit<CallOptions, 'plan'> | undefined
  /** Whether it may be sent again: always, never, or with an `Idempotency-Key`. Default: GET always, `SENT_ONCE` never, others with a key. */
  readonly repeat?: 'always' | 'never' | 'key'
  /** A stream: it has no time limit. */
  readonly stream?: boolean
  /** In place of the token of the session. */
  readonly token?: string
}

export interface ApiResponse {
  readonly body: unknown
  readonly headers: Headers
}

/** The server could not do it now, but may be able to soon. */
const PASSING = /429|50[234]|busy/
/** These are sent once: most of them answer a token or a secret, which the server does not keep. Invitations do not. */
const SENT_ONCE = /^POST (auth\/(?!inv)|login\b)/

interface Prepared {
  readonly method: string
  readonly path: string
  readonly sent: ApiRequest
  readonly headers: NonNullable<ApiRequest['headers']>
}

/** An answer and, unless it is a stream, what it says. */
interface HttpAnswer {
  readonly response: Response
  readonly text: string
}

interface Variant {
  /** Writes are only shown: it gets what they would do. */
  readonly show?: ((body: unknown) => void) | undefined
  readonly session?: Session
}

/** Sends requests: with the token, again if the answer is lost, and errors as exceptions. */
export class Transport {
  readonly session: Session
  /** The stream of its live lists, if there have been any. */
  stream?: ListStream
  readonly #url: string
  readonly #options: ConnectOptions
  readonly #show: Variant['show']

  constructor(url: string, options: ConnectOptions, { show, session }: Variant = {}) {
    this.#url = url.replace(/\/$/, '')
    this.#options = options
    this.#show = show
    this.session =
      session ?? new Session(this.#url, options.session ?? 'memory', (token) => this.#refresh(token))
  }

  /** The same with another token, or with writes that are only shown. */
  with(options: ConnectOptions, show?: Variant['show']): Transport {
    return new Transport(this.#url, { ...this.#options, ...options }, { show, session: this.session })
  }

  async send(method: string, path: string, sent: ApiRequest = {}): Promise<ApiResponse> {
    const shows = method === 'GET' ? undefined : this.#show
    const request = shows ? { ...sent, query: { ...sent.query, dry_run: true } } : sent
    const { response, text } = await this.open(method, path, request)
    const body = text ? JSON.parse(text) : undefined
    shows?.(body)
    // Nobody has asked for a preview: it is the key of an agent. Entities have an id.
    const { dry_run } = (request.query ?? {}) as { dry_run?: boolean }
    if (body?.changes && body.plan && !body.id && !dry_run)
      throw Object.assign(new PlanFirst('Nothing is written yet'), { preview: body })
    // There is no Entity yet.
    return { body: shows ? { data: [], results: [] } : body, headers: response.headers }
  }

  /** The answer, once there is a good one. */
  async open(method: string, path: string, sent: ApiRequest): Promise<HttpAnswer> {
    const repeat =
      sent.repeat ?? (method === 'GET' ? 'always' : SENT_ONCE.test(`${method} ${path}`) ? 'never' : 'key')
    const { retries = 4 } = this.#options
    const headers = this.#headers(sent, method, repeat)
    const { signal } = sent.options ?? {}
    for (let tries = 0; ; tries++) {
      const mayRetry = repeat !== 'never' && tries < retries
      let wait = 0
      try {
        const answer = await this.#try({ method, path, sent, headers })
        const { response, text } = answer
        if (response.ok) return answer
        const error = errorOf(response.status, text)
        // A date, which some proxies send, counts as no time.
        wait = Number(response.headers.get('retry-after')) * 1000 || 0
        const isPassing = PASSING.test(error.status + error.code)
        // If the server asks for more than a minute, the caller decides.
        if (!isPassing || !mayRetry || wait > 60_000) throw error
      } catch (error) {
        if (error instanceof ApiError || !mayRetry || signal?.aborted) throw error
      }
      await pause(wait || growing(tries), signal)
    }
  }

  #headers(sent: ApiRequest, method: string, repeat: string): Prepared['headers'] {
    const { key, reason, run = this.#options.run } = sent.options ?? {}
    return {
      Accept: 'application/json',
      'Content-Type': sent.body === undefined ? undefined : 'application/json',
      'Idempotency-Key': key ?? (repeat === 'key' ? randomKey() : undefined),
      'Takeback-Run': method === 'GET' ? undefined : run,
      'Takeback-Reason': reason && encodeURIComponent(reason),
      ...sent.headers,
    }
  }

  async #try(request: Prepared, isFirst = true): Promise<HttpAnswer> {
    const { method, path, sent, headers } = request
    const { fetch: send = fetch, timeout = 60_000 } = this.#options
    const { signal } = sent.options ?? {}
    signal?.throwIfAborted()
    const used = sent.token ? undefined : await this.#token()
    const token = sent.token ?? used
    const ended = new AbortController()
    const abort = () => ended.abort(signal?.reason)
    signal?.addEventListener('abort', abort)
    const timer = setTimeout(() => ended.abort(new NetworkError('No answer in time')), timeout)
    try {
      const response = await send(`${this.#url}/api/${path}${queryOf(sent.query)}`, {
        method,
        // JSON leaves out what is undefined.
        headers: JSON.parse(JSON.stringify({ ...headers, Authorization: token && `Bearer ${token}` })),
        signal: ended.signal,
        body: JSON.stringify(sent.body),
      })
      // Refused before it was run. With a token of the session that was replaced meanwhile, it is sent with the new one.
      if (response.status === 401 && used && !(await this.session.drop(used)) && isFirst)
        return this.#try(request, false)
      return { response, text: sent.stream && response.ok ? '' : await response.text() }
    } catch (error) {
      signal?.throwIfAborted()
      throw error instanceof NetworkError ? error : new NetworkError('No answer', { cause: error })
    } finally {
      clearTimeout(timer)
      if (!sent.stream) signal?.removeEventListener('abort', abort)
    }
  }

  async #token(): Promise<string | undefined> {
    const { token } = this.#options
    return typeof token === 'function' ? token() : (token ?? this.session.token())
  }

  async #refresh(token: string) {
    const answer = await this.send('POST', 'auth/refresh', { token }).catch((error) => {
      if (error.status === 401) return undefined
      throw error
    })
    return answer?.body as { token: string; expires_at: string } | undefined
  }
}

/** `?a=1&b=x,y`: lists with commas, `true` as 1, without what is not there. */
export function queryOf(query: object = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === false
      ? []
      : [[name, `${value === true ? 1 : value}`] as [string, string]],
  )
  return given.length ? `?${new URLSearchParams(given)}` : ''
}

/** 128 random bits. `randomUUID` is only in pages with TLS. */
function randomKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-')
}

/** Twice as long each time, up to ten seconds, and not the same for all clients. */
export function growing(tries: number): number {
  return Math.min(10_000, 250 * 2 ** tries) * (0.5 + Math.random() / 2)
}

export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, ms)
    signal?.addEventListener('abort', end)
    if (signal?.aborted) end()
  })
}
