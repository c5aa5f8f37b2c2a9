import type { AnyAnswer } from '../../api/context.ts'
import type { RateLimitStatus } from '../../api/limits/token-bucket.ts'
import { catalogue, Failure, shownFailure } from '../../errors.ts'
import type { Observer } from '../../observe/observer.ts'

/** Answers an error. One outside the catalogue is a fault of the server: its cause is only in the log. */
export function answerFailure(
  error: unknown,
  requestId: string,
  observer: Observer,
  explains: boolean,
): AnyAnswer {
  const failure = error instanceof Failure ? error : new Failure('internal', { cause: error })
  const { status, message } = catalogue[failure.code]
  // Stopping is not a fault.
  if (status >= 500 && failure.code !== 'stopping')
    observer.emit({ kind: 'request_failed', message, error: failure.cause ?? failure, requestId })
  return renderFailure(failure, requestId, explains)
}

/** Answers a failure without logging anything. */
export function renderFailure(failure: Failure, requestId: string, explains = false): AnyAnswer {
  const { status } = catalogue[failure.code]
  const body = { ...shownFailure(failure, explains), ...(status >= 500 && { request_id: requestId }) }
  return { status, body: JSON.stringify(body), headers: { ...failure.headers } }
}

/** `If-None-Match` (RFC 9110, section 13.1.2): weak comparison, on reads only. */
export function isUnchanged(request: Request, { status, headers }: AnyAnswer): boolean {
  const reads = status === 200 && (request.method === 'GET' || request.method === 'HEAD')
  const header = reads ? request.headers.get('if-none-match') : null
  if (header === null || headers?.ETag === undefined) return false
  return (
    header.trim() === '*' || header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === headers.ETag)
  )
}

/** The headers of all answers. Copying them for each is faster than making new ones. */
const withoutBody = new Headers({
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
})
const withBody = new Headers([...withoutBody, ['Content-Type', 'application/json']])

export function responseOf({ body, type, headers }: AnyAnswer, status: number, requestId: string): Response {
  const common = body === undefined ? withoutBody : withBody
  const response = new Response(status === 304 ? null : body, { status, headers: common })
  if (type !== undefined) response.headers.set('Content-Type', type)
  addTo(response.headers, headers)
  response.headers.set('Request-Id', requestId)
  return response
}

export function addTo(headers: Headers, more: Readonly<Record<string, string>> = {}): void {
  for (const name in more) headers.set(name, more[name] ?? '')
}

/** Adds the headers of the IETF draft `ratelimit-headers`. A refusal has those of the limit that refused. */
export function addRates(headers: Headers, rateLimits: readonly RateLimitStatus[]): void {
  if (headers.has('RateLimit')) return
  headers.set('RateLimit-Policy', rateLimits.map(({ policy }) => policy).join(', '))
  headers.set('RateLimit', rateLimits.map(({ state }) => state).join(', '))
}
