import type { ChangesPage, ChangesQuery } from '../client/answers.ts'
import type { Json, RequestOptions } from '../client/api-request.ts'
import type { AnyHandle, EntityCalls } from '../client/entities.ts'
import { ApiError, NetworkError } from '../client/errors.ts'
import { growing, pause } from '../client/transport.ts'
import { inLocalStorage, inMemory, type QueueStore } from './queue-store.ts'
import { type QueuedPart, type QueuedWrite, rebased, type WriteAnswer, withIds } from './queued-write.ts'

export interface OfflineOptions {
  /**
   * Distinguishes queues of one origin. Include the user: writes are sent as whoever is logged in when the network is
   * back.
   */
  readonly name: string
  /** Default: `localStorage`. */
  readonly store?: QueueStore
  /** Called for each write that the server refused. It is rolled back. Default: `console.error`. */
  onRefused?(error: unknown, write: QueuedWrite): void
  /** Called with the number of writes that are not answered yet. */
  onPending?(count: number): void
}

/** A client without the types of an app. */
export interface AnyApi {
  readonly entities: { readonly [name: string]: EntityCalls }
  changes(query: ChangesQuery): Promise<ChangesPage>
  batch(
    build: (batch: { readonly [name: string]: BatchCalls }) => unknown[],
    options: RequestOptions,
  ): Promise<{ operation: string | null; results: (AnyHandle | null)[] }>
}

interface BatchCalls {
  create(body: unknown): { readonly id: string }
  update(id: unknown, body: unknown, options: RequestOptions): unknown
  delete(id: unknown): unknown
}

/** A write, and its answer. */
export interface Entry {
  readonly write: QueuedWrite
  readonly kept: Promise<void>
  readonly answered: Promise<WriteAnswer>
  answer(answer: WriteAnswer): void
  refuse(error: unknown): void
}

/** More writes than anybody makes before the feed shows the first of them. */
const ANSWERS_KEPT = 200

/** Sends writes one after the other, in the order in which they were made. */
export class WriteQueue {
  readonly #api: AnyApi
  readonly #store: QueueStore
  readonly #options: Partial<OfflineOptions>
  /** Whether a write that gets no answer is retried. Without offline options it is refused. */
  readonly #isPatient: boolean
  readonly #entries: Entry[] = []
  /** The latest answers. Later writes are based on them, even if the feed has not shown them yet. */
  readonly #answers: { readonly part: QueuedPart; readonly state: Json }[] = []
  readonly #ids = new Map<number, number>()
  #isSending = false
  #isClosed = false
  #failures = 0
  #wake: () => void = () => {}
  /** Resolves when the stored writes have been read. */
  readonly ready: Promise<void>

  constructor(api: object, options: OfflineOptions | undefined) {
    this.#api = api as AnyApi
    this.#isPatient = options !== undefined
    this.#options = options ?? { onRefused: () => {} }
    this.#store = options === undefined ? inMemory() : (options.store ?? inLocalStorage(options.name))
    this.ready = this.#load()
    globalThis.addEventListener?.('online', this.retry)
  }

  /** Sends the waiting writes now. */
  readonly retry = (): void => {
    this.#failures = 0
    this.#wake()
  }

  /** Stops sending. Stored writes stay stored. */
  close(): void {
    this.#isClosed = true
    globalThis.removeEventListener?.('online', this.retry)
    this.#wake()
  }

  /** The writes that are not answered yet, in their order. */
  get pending(): readonly QueuedWrite[] {
    return this.#entries.map(({ write }) => write)
  }

  /** Returns the real id of a new row, once the server has given it one; any other id as it is. */
  readonly idOf = (id: number): number => this.#ids.get(id) ?? id

  add(parts: readonly QueuedPart[]): Pick<Entry, 'write' | 'answered'> {
    const known = parts.map((part) => this.#afterAnswers(part, this.#answers))
    const write = { id: newId(), parts: known }
    const entry = entryOf(write, Promise.resolve(this.#store.put(write)))
    this.#entries.push(entry)
    this.#tellPending()
    void this.#run()
    return entry
  }

  find(id: string): Pick<Entry, 'write' | 'answered'> | undefined {
    return this.#entries.find(({ write }) => write.id === id)
  }

  #afterAnswers(part: QueuedPart, answers: readonly { part: QueuedPart; state: Json }[]): QueuedPart {
    return answers.reduce(
      (rest, { part: earlier, state }) => rebased(rest, earlier, state),
      this.#named(part),
    )
  }

  /** Replaces temporary ids by those that the server has given. */
  #named(part: QueuedPart): QueuedPart {
    return withIds(part, this.idOf)
  }

  async #load(): Promise<void> {
    const read = async () => this.#store.read()
    const kept = await read().catch((error) => {
      console.error(error)
      return []
    })
    const known = new Set(this.pending.map(({ id }) => id))
    const older = kept.filter(({ id }) => !known.has(id)).sort((a, b) => (a.id < b.id ? -1 : 1))
    this.#entries.unshift(...older.map((write) => entryOf(write, Promise.resolve())))
    this.#tellPending()
    void this.#run()
  }

  async #run(): Promise<void> {
    if (this.#isSending) return
    this.#isSending = true
    // Stored writes are sent first.
    await this.ready
    for (let entry = this.#entries[0]; entry !== undefined && !this.#isClosed; entry = this.#entries[0])
      await this.#try(entry)
    this.#isSending = false
  }

  async #try(entry: Entry): Promise<void> {
    try {
      await entry.kept
      const answer = await this.#send(entry.write)
      this.#failures = 0
      await this.#take(entry, answer)
    } catch (error) {
      if (this.#isPatient && isPassing(error)) await this.#wait()
      else await this.#refuse(entry, error)
    }
  }

  #wait(): Promise<void> {
    const woken = new AbortController()
    this.#wake = () => woken.abort()
    return pause(growing(this.#failures++), woken.signal).catch(() => {})
  }

  async #send({ id: key, parts }: QueuedWrite): Promise<WriteAnswer> {
    const [part, ...others] = parts
    if (part === undefined) return { operation: null, states: [] }
    if (others.length > 0) return this.#sendTogether(parts, key)
    const { type, id, body, base } = part
    const calls = this.#api.entities[part.entity] as EntityCalls
    const made = (await (type === 'insert'
      ? calls.create(body, { key })
      : type === 'update'
        ? calls.update(id, body, { key, ...(base !== undefined && { base }) })
        : calls.delete(id, { key }))) as unknown as Json
    // A field named `operation` hides the id of the operation.
    const operation = Object.keys(made).includes('operation') ? null : (made.operation as string | null)
    return { operation, states: [made] }
  }

  /** Sends the parts as one batch. A part can refer to a row that an earlier part creates. */
  async #sendTogether(parts: readonly QueuedPart[], key: string): Promise<WriteAnswer> {
    const { operation, results } = await this.#api.batch(
      (batch) => {
        const places = new Map<number, string>()
        const idOf = (id: number) => places.get(id) ?? id
        return parts.map(({ type, entity, id, body, base }) => {
          const calls = batch[entity] as BatchCalls
          const sent = withIds(body, idOf)
          if (type === 'delete') return calls.delete(idOf(id))
          if (type === 'update') return calls.update(idOf(id), sent, base === undefined ? {} : { base })
          const made = calls.create(sent)
          places.set(id, made.id)
          return made
        })
      },
      { key },
    )
    return { operation, states: results as unknown as (Json | null)[] }
  }

  async #take(entry: Entry, answer: WriteAnswer): Promise<void> {
    const { parts } = entry.write
    for (const [at, { type, id }] of parts.entries()) {
      const made = answer.states[at]?.id
      if (type === 'insert' && typeof made === 'number') this.#ids.set(id, made)
    }
    const answers = parts.map((part, at) => ({ part: this.#named(part), state: answer.states[at] ?? {} }))
    this.#answers.push(...answers)
    this.#answers.splice(0, this.#answers.length - ANSWERS_KEPT)
    const later = this.#entries.slice(1)
    for (const { write } of later)
      Object.assign(write, { parts: write.parts.map((part) => this.#afterAnswers(part, answers)) })
    for (const { write, kept } of later) {
      await kept.catch(() => {})
      await this.#store.put(write)
    }
    await this.#remove(entry)
    entry.answer(answer)
  }

  /** Refuses a write, and later writes of rows that it should have created. */
  async #refuse(entry: Entry, error: unknown): Promise<void> {
    const missing = new Set(entry.write.parts.filter(({ type }) => type === 'insert').map(({ id }) => id))
    const concerned = this.#entries.filter(
      (one) => one === entry || one.write.parts.some(({ id }) => missing.has(id)),
    )
    for (const one of concerned) {
      await this.#remove(one)
      one.refuse(error)
      const report = this.#options.onRefused ?? console.error
      report(error, one.write)
    }
  }

  async #remove(entry: Entry): Promise<void> {
    this.#entries.splice(this.#entries.indexOf(entry), 1)
    await Promise.resolve(this.#store.remove(entry.write.id)).catch(() => {})
    this.#tellPending()
  }

  #tellPending(): void {
    this.#options.onPending?.(this.#entries.length)
  }
}

function entryOf(write: QueuedWrite, kept: Promise<void>): Entry {
  let answer: Entry['answer'] = () => {}
  let refuse: Entry['refuse'] = () => {}
  const answered = new Promise<WriteAnswer>((resolve, reject) => {
    answer = resolve
    refuse = reject
  })
  // Nobody awaits a write that was made before the page was reloaded.
  answered.catch(() => {})
  kept.catch(() => {})
  return { write, kept, answered, answer, refuse }
}

/** Whether a retry may succeed. */
function isPassing(error: unknown): boolean {
  if (error instanceof NetworkError) return true
  return (
    error instanceof ApiError && ([401, 429, 502, 503, 504].includes(error.status) || error.code === 'busy')
  )
}

let count = 0

/** Returns an id that sorts by time and cannot be guessed. */
function newId(): string {
  const random = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(36)).join('')
  return `${Date.now()}-${String(count++).padStart(6, '0')}-${random}`
}
