import type { Call } from '../../api/call.ts'
import type { Preconditions } from '../../api/context.ts'
import { type Note, parseNote } from '../../api/notes.ts'
import type { Query } from '../../api/query.ts'
import { isTagList, TAGS_EXPECTED } from '../../api/tags.ts'
import { parseIfMatch } from '../../api/write/update.ts'
import { budget } from '../../budget.ts'
import { Failure } from '../../errors.ts'
import type { Caller } from '../../plan/viewer/actor.ts'
import { admit, admitSignUps, admitStream } from './admission.ts'
import { bodyStream } from './body.ts'
import type { RequestFacts } from './request-facts.ts'
import { targetOf } from './target.ts'

/** A request from Bun's router. */
export type BunRequest = Request & { readonly params?: Readonly<Record<string, string>> }

/** What was checked before an endpoint runs. */
interface CheckedRequest {
  readonly caller: Caller
  readonly query: Query
  readonly body: object
  readonly type: string
  readonly maxBytes?: number | undefined
}

/** A request as an endpoint sees it. Rarely needed parts are read only on demand. */
export class HttpCall implements Call {
  readonly caller: Caller
  readonly query: Query
  readonly body: object
  readonly type: string
  readonly #request: BunRequest
  readonly #facts: RequestFacts
  readonly #maxBytes: number

  constructor(request: BunRequest, facts: RequestFacts, checked: CheckedRequest) {
    this.caller = checked.caller
    this.query = checked.query
    this.body = checked.body
    this.type = checked.type
    this.#maxBytes = checked.maxBytes ?? budget.bodyBytes
    this.#request = request
    this.#facts = facts
  }

  get bytes(): ReadableStream<Uint8Array> {
    return bodyStream(this.#request, this.#maxBytes)
  }

  get stopping(): AbortSignal {
    return this.#facts.stopping
  }

  get params(): Readonly<Record<string, string>> {
    return { ...this.#request.params }
  }

  get id(): string {
    return this.#request.params?.id ?? ''
  }

  get when(): Preconditions {
    const ifMatch = this.#request.headers.get('if-match')
    if (ifMatch !== null && !isTagList(ifMatch))
      throw new Failure('malformed_header', { errors: new Map([['If-Match', [TAGS_EXPECTED]]]) })
    return { ifMatch: parseIfMatch(ifMatch) }
  }

  get note(): Note | null {
    const { headers } = this.#request
    return parseNote(headers.get('takeback-run'), headers.get('takeback-reason'))
  }

  get key(): string | null {
    return this.#request.headers.get('idempotency-key')
  }

  get lastEventId(): string | null {
    return this.#request.headers.get('last-event-id')
  }

  get target(): string {
    const { path, search } = targetOf(this.#request.url)
    const parameters = new URLSearchParams(search)
    parameters.delete('token')
    parameters.sort()
    return `${this.#request.method} ${path.replace(/\/$/, '')}?${parameters}`
  }

  get signal(): AbortSignal {
    return this.#request.signal
  }

  cookie(name: string): string | null {
    for (const one of (this.#request.headers.get('cookie') ?? '').split(';')) {
      const [key = '', value = ''] = one.split(/=(.*)/s)
      if (key.trim() === name) return value.trim()
    }
    return null
  }

  get device(): string | null {
    return this.#request.headers.get('takeback-device')
  }

  get languages(): string | null {
    return this.#request.headers.get('accept-language')
  }

  get agent(): string | null {
    return this.#request.headers.get('user-agent')
  }

  recordAccount(digest: string): void {
    this.#facts.account = digest
  }

  async signUp(count: number): Promise<void> {
    await admitSignUps(this.#facts, count)
  }

  keepOpen(caller: Caller): () => void {
    const close = admitStream(this.#facts, caller)
    this.waitLong()
    return close
  }

  get headers(): Headers {
    return this.#request.headers
  }

  get requestId(): string {
    return this.#facts.requestId
  }

  /** Notes for the log which tool was used, and its status. */
  recordTool(name: string, status: number): void {
    this.#facts.tool = { name, status }
  }

  /** Counts the request as a write too. For requests that only their body shows to be writes. */
  admitWrite(): void {
    for (const whose of ['address', 'user'] as const) admit(this.#facts, {}, 'POST', whose)
  }

  waitLong(): void {
    this.#facts.server.timeout(this.#request, 0)
  }

  hangUp(): void {
    this.#facts.server.timeout(this.#request, 1)
  }

  get address(): string {
    return this.#facts.client.network
  }
}
