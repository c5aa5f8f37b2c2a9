import type { Answer } from '../../api/context.ts'

/** Which web pages of other origins may call the API from a browser (CORS). None unless configured. */
export class Origins {
  readonly #allowed: ReadonlySet<string>
  /** Whether any origin is allowed. */
  readonly any: boolean

  constructor(allowed: readonly string[]) {
    this.#allowed = new Set(allowed)
    this.any = allowed.length > 0
  }

  allows(origin: string): boolean {
    return this.#allowed.has('*') || this.#allowed.has(origin)
  }

  /** Returns the CORS headers of an answer. `*` reveals nothing private: no call that returns data uses cookies. */
  headersFor(request: Request): Record<string, string> {
    const origin = request.headers.get('origin')
    if (!this.any || origin === null) return {}
    const any = this.#allowed.has('*')
    if (!any && !this.#allowed.has(origin)) return { Vary: 'Origin' }
    return {
      'Access-Control-Allow-Origin': any ? '*' : origin,
      'Access-Control-Expose-Headers':
        'ETag, Idempotent-Replay, Location, RateLimit, RateLimit-Policy, Retry-After, Request-Id, Takeback-Device, Takeback-Operation, Takeback-Position, Takeback-Unmapped',
      ...(!any && { Vary: 'Origin' }),
    }
  }

  /** The answer to a preflight request; undefined if it is not one. */
  preflight(request: Request, methods: readonly string[]): Answer | undefined {
    if (!this.any || !request.headers.has('access-control-request-method')) return undefined
    if (this.headersFor(request)['Access-Control-Allow-Origin'] === undefined) return undefined
    return {
      status: 204,
      headers: {
        'Access-Control-Allow-Methods': methods.join(', '),
        'Access-Control-Allow-Headers':
          'Accept, Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Takeback-Device, Takeback-Reason, Takeback-Run',
        'Access-Control-Max-Age': '7200',
      },
    }
  }
}
