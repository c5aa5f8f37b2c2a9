import type { Call } from '../../api/call.ts'
import type { AnyAnswer, Context, Preconditions } from '../../api/context.ts'
import type { EntityEndpoint, ServerEndpoint } from '../../api/endpoint.ts'
import type { Note } from '../../api/notes.ts'
import { Query } from '../../api/query.ts'
import type { Plan } from '../../plan/compile.ts'
import type { Caller } from '../../plan/viewer/actor.ts'
import type { HttpCall } from '../http/http-call.ts'

/** The input of an endpoint that a tool calls. */
export interface EndpointInput {
  readonly id?: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  readonly note?: Note | null
  /** The `Idempotency-Key`. */
  readonly key?: string | null
}

/** A call that a tool makes for the caller of the request: within the process, but otherwise as over HTTP. */
class ToolCall implements Call {
  readonly caller: Caller
  readonly id: string
  readonly query: Query
  readonly body: object
  readonly note: Note | null
  readonly target: string
  readonly signal: AbortSignal
  readonly stopping: AbortSignal
  readonly type = 'application/json'
  readonly when: Preconditions = { ifMatch: null }
  readonly device = null
  readonly key: string | null
  readonly lastEventId = null
  readonly #outer: HttpCall

  constructor(
    outer: HttpCall,
    { method, path, takes, plans }: ServerEndpoint | EntityEndpoint,
    { id = '', query = {}, body = {}, note = null, key = null }: EndpointInput,
    entity = '',
  ) {
    this.#outer = outer
    this.caller = outer.caller
    this.id = id
    this.query = new Query(Object.entries(query), takes, { plans: plans === 'apart' })
    this.body = body
    this.note = note
    this.key = key
    this.signal = outer.signal
    this.stopping = outer.stopping
    const parameters = new URLSearchParams(query)
    parameters.sort()
    const place = path.replace('{entity}', entity).replace('{id}', encodeURIComponent(id)).replace(/\/$/, '')
    this.target = `${method} ${place}?${parameters}`
  }

  get bytes(): ReadableStream<Uint8Array> {
    throw new Error('a tool sends no stream')
  }

  get address(): string {
    return this.#outer.address
  }

  get languages(): string | null {
    return this.#outer.languages
  }

  get agent(): string | null {
    return this.#outer.agent
  }

  cookie(): null {
    return null
  }

  recordAccount(digest: string): void {
    this.#outer.recordAccount(digest)
  }

  signUp(count: number): Promise<void> {
    return this.#outer.signUp(count)
  }

  waitLong(): void {
    this.#outer.waitLong()
  }

  keepOpen(caller: Caller): () => void {
    return this.#outer.keepOpen(caller)
  }

  hangUp(): void {
    this.#outer.hangUp()
  }
}

/** One use of a tool. */
export class ToolUse {
  readonly context: Context
  readonly call: HttpCall

  constructor(context: Context, call: HttpCall) {
    this.context = context
    this.call = call
  }

  async ofServer(endpoint: ServerEndpoint, input: EndpointInput): Promise<AnyAnswer> {
    this.#count(endpoint)
    return endpoint.run(this.context, new ToolCall(this.call, endpoint, input))
  }

  async ofEntity(endpoint: EntityEndpoint, plan: Plan, input: EndpointInput): Promise<AnyAnswer> {
    this.#count(endpoint)
    return endpoint.run(this.context, plan, new ToolCall(this.call, endpoint, input, plan.type.name))
  }

  /** Counts writes. Every request to `/mcp` counts as a read, and only here it is known whether it writes. */
  #count({ method, reads }: Pick<ServerEndpoint, 'method' | 'reads'>): void {
    if (method !== 'GET' && !reads) this.call.admitWrite()
  }
}
