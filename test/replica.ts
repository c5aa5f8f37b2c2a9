import { deepEquals } from 'bun'
import type { EntityCalls } from '../client/entities.ts'
import type { TestServer } from './harness.ts'

/** The data that a replica follows. */
export interface ReplicaOptions {
  readonly entities: readonly string[]
  readonly token: string | null
  /** A filter for the only type. */
  readonly filter?: string
  readonly fields?: string
  readonly way: 'stream' | 'poll' | 'live'
  /** For `live`: a client, whose lists share one stream. It follows one type. */
  readonly api?: { readonly entities: Readonly<Record<string, EntityCalls>> }
}

type Event = {
  type: 'upsert' | 'remove' | 'reset'
  entity: string
  id: number
  data: Record<string, unknown>
}
type Entities = Map<number, Record<string, unknown>>

/** A copy of what a user sees, kept up to date only by the feed of changes. */
export class Replica {
  readonly options: ReplicaOptions
  readonly copy = new Map<string, Entities>()
  readonly told: string[] = []
  #server: TestServer
  #position = ''
  #cut = new AbortController()
  #running: Promise<void> = Promise.resolve()
  failure: unknown

  constructor(server: TestServer, options: ReplicaOptions) {
    this.#server = server
    this.options = options
  }

  async start(): Promise<void> {
    for (const name of this.options.entities) {
      const position = await this.#load(name)
      if (this.#position === '') this.#position = position
    }
    this.resume()
  }

  /** Continues from where it was, at any instance. */
  resume(server = this.#server): void {
    this.#server = server
    const cut = new AbortController()
    this.#cut = cut
    const ways = { stream: this.#stream, poll: this.#poll, live: this.#live }
    this.#running = ways[this.options.way].call(this, cut.signal).catch((error) => {
      if (!cut.signal.aborted) this.failure = error
    })
  }

  /** Cuts the connection, at any point. */
  async cut(): Promise<void> {
    this.#cut.abort()
    await this.#running
  }

  get #query(): URLSearchParams {
    const { entities, filter, fields } = this.options
    const query = new URLSearchParams({ entity: entities.join(',') })
    if (filter !== undefined) query.set('filter', filter)
    if (fields !== undefined) query.set('fields', fields)
    return query
  }

  async #fetch(path: string, accept: string, signal: AbortSignal | null = null): Promise<Response> {
    const { token } = this.options
    const headers = { Accept: accept, ...(token !== null && { Authorization: `Bearer ${token}` }) }
    const response = await fetch(`${this.#server.url}${path}`, { headers, signal })
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response
  }

  async #list(name: string): Promise<{ entities: Entities; position: string }> {
    const { filter, fields } = this.options
    const query = new URLSearchParams({ limit: '200' })
    if (filter !== undefined) query.set('filter', filter)
    if (fields !== undefined) query.set('fields', fields)
    const response = await this.#fetch(`/api/${name}/?${query}`, 'application/json')
    const { data, next } = (await response.json()) as { data: Record<string, unknown>[]; next: unknown }
    if (next !== null) throw new Error(`${name} has more than a page`)
    return {
      entities: new Map(data.map((one) => [Number(one.id), one])),
      position: response.headers.get('Takeback-Position') ?? '',
    }
  }

  async #load(name: string): Promise<string> {
    const { entities, position } = await this.#list(name)
    this.copy.set(name, entities)
    return position
  }

  async #apply(events: readonly Event[]): Promise<void> {
    for (const event of events) {
      this.told.push(JSON.stringify(event))
      const entities = this.copy.get(event.entity)
      if (event.type === 'upsert') entities?.set(event.id, event.data)
      else if (event.type === 'remove') entities?.delete(event.id)
      else await this.#load(event.entity)
    }
  }

  /** As a live list of the client, which reads the list itself. */
  async #live(signal: AbortSignal): Promise<void> {
    const { api, entities, filter, fields } = this.options
    const [name = ''] = entities
    await new Promise<void>((resolve, reject) => {
      signal.addEventListener('abort', () => resolve())
      api?.entities[name]?.follow(
        { ...(filter !== undefined && { filter }), ...(fields !== undefined && { fields }) },
        {
          signal,
          told: (rows, _, isNew, changes = []) => {
            this.copy.set(name, new Map(rows))
            this.told.push(`${isNew} ${JSON.stringify(changes)}`)
          },
          onError: reject,
        },
      )
    })
  }

  async #poll(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const query = this.#query
      query.set('since', this.#position)
      query.set('wait', '20')
      query.set('limit', String(1 + Math.floor(Math.random() * 20)))
      const response = await this.#fetch(`/api/changes/?${query}`, 'application/json', signal)
      const { data, next } = (await response.json()) as { data: Event[]; next: string }
      await this.#apply(data)
      this.#position = next
    }
  }

  async #stream(signal: AbortSignal): Promise<void> {
    const query = this.#query
    query.set('since', this.#position)
    const response = await this.#fetch(`/api/changes/?${query}`, 'text/event-stream', signal)
    let text = ''
    let events: Event[] = []
    for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(
      new TextDecoderStream() as never,
    )) {
      text += chunk
      const frames = text.split('\n\n')
      text = frames.pop() ?? ''
      for (const frame of frames) {
        const data = /^data: (.*)$/m.exec(frame)?.[1]
        if (data !== undefined) events.push(JSON.parse(data))
        const id = /^id: (.*)$/m.exec(frame)?.[1]
        if (id === undefined) continue
        // Only whole operations are applied.
        await this.#apply(events)
        events = []
        this.#position = id
      }
    }
    if (!signal.aborted) throw new Error('the stream has ended')
  }

  /** Returns the difference to a fresh list, if there is one. */
  async difference(): Promise<string | undefined> {
    if (this.failure !== undefined) throw this.failure
    for (const name of this.options.entities) {
      const { entities } = await this.#list(name)
      const mine = this.copy.get(name)
      if (deepEquals(mine, entities)) continue
      const ids = new Set([...(mine?.keys() ?? []), ...entities.keys()])
      const wrong = [...ids].filter((id) => !deepEquals(mine?.get(id), entities.get(id)))
      const shown = wrong.map((id) => ({ id, mine: mine?.get(id), list: entities.get(id) }))
      const { api: _, ...options } = this.options
      return `${JSON.stringify(options)} ${name}: ${JSON.stringify(shown)}`
    }
    return undefined
  }
}
