import type { Change } from './answers.ts'
import type { Asked, Json } from './asked.ts'
import { ApiError } from './errors.ts'
import { followFeed } from './feed.ts'
import { pagesOf } from './listing.ts'
import { growing, pause, type Transport } from './transport.ts'
import type { ListPage, LiveOptions } from './types.ts'

export type Row = Json & { id: number; version: number }

interface Followed {
  readonly name: string
  readonly asked: Asked
}

export interface Following extends LiveOptions {
  /**
   * After the list was read, and then after each operation, with its changes. `isNew` is false if the rows had them
   * already.
   */
  told(
    rows: ReadonlyMap<number, Row>,
    position: string | undefined,
    isNew: boolean,
    changes?: readonly Change[],
  ): void
}

/** Lists, then follows the changes from where the list was read. Ends when the returned function is called. */
export function followList(transport: Transport, followed: Followed, following: Following): () => void {
  const stopped = new AbortController()
  const stop = () => stopped.abort()
  following.signal?.addEventListener('abort', stop)
  if (following.signal?.aborted) stop()
  const list = new LiveList(transport, followed, following, stopped.signal)
  list.run().catch((error) => {
    if (!stopped.signal.aborted) (following.onError ?? console.error)(error)
  })
  return stop
}

class LiveList {
  readonly #transport: Transport
  readonly #followed: Followed
  readonly #following: Following
  readonly #signal: AbortSignal
  #rows = new Map<number, Row>()
  /** Undefined: the list must be read. */
  #position: string | undefined
  /** Of the operation that is being told. */
  #changes: Change[] = []
  #failures = 0

  constructor(transport: Transport, followed: Followed, following: Following, signal: AbortSignal) {
    this.#transport = transport
    this.#followed = followed
    this.#following = following
    this.#signal = signal
  }

  async run(): Promise<void> {
    for (;;) {
      try {
        if (this.#position === undefined) await this.#load()
        await this.#follow()
      } catch (error) {
        this.#signal.throwIfAborted()
        const status = error instanceof ApiError ? error.status : 0
        if (status === 410) this.#position = undefined
        else if (status > 0 && status !== 429 && status < 500) throw error
      }
      await pause(growing(Math.min(this.#failures++, 4)), this.#signal)
    }
  }

  /** From before its first page was read: what changes meanwhile is told again. */
  async #load(): Promise<void> {
    const { name, asked } = this.#followed
    const rows = new Map<number, Row>()
    let first: string | null | undefined
    let cursor: string | null = null
    do {
      const page: ListPage<Row> = await pagesOf<Row>(this.#transport, `${name}/`, {
        ...asked,
        limit: 200,
        signal: this.#signal,
        ...(cursor !== null && { cursor }),
      })
      first ??= page.position
      for (const row of page.data) rows.set(row.id, row)
      cursor = page.next
    } while (cursor !== null)
    this.#rows = rows
    this.#position = first ?? undefined
    this.#tell(true)
  }

  /** Until the stream ends, or the list must be read again. */
  async #follow(): Promise<void> {
    const { name, asked } = this.#followed
    this.#changes = []
    await followFeed(
      this.#transport,
      { ...asked, entity: name, since: this.#position },
      this.#signal,
      (change, position) => this.#take(change, position),
    )
  }

  /** False if the list must be read again. */
  #take(change: Change | undefined, position: string): boolean {
    this.#failures = 0
    if (change) this.#changes.push(change)
    if (change?.type === 'reset') this.#position = undefined
    if (!this.#position || !position) return !!this.#position
    const changes = this.#changes
    this.#changes = []
    this.#position = position
    this.#tell(changes.filter((one) => this.#apply(one)).length > 0, changes)
    return true
  }

  #apply(change: Change): boolean {
    if (change.type === 'remove') return this.#rows.delete(change.id)
    if (change.type === 'reset' || change.version < (this.#rows.get(change.id)?.version ?? 0)) return false
    this.#rows.set(change.id, change.data as Row)
    return true
  }

  #tell(isNew: boolean, changes?: readonly Change[]): void {
    if (!this.#signal.aborted) this.#following.told(this.#rows, this.#position, isNew, changes)
  }
}

/** By dot paths, then by `id`. */
export function byPaths(paths: readonly string[]): (a: Row, b: Row) => number {
  return (a, b) => {
    for (const path of paths) {
      const names = path.replace(/^-/, '').split('.')
      const order = compare(valueAt(a, names), valueAt(b, names))
      if (order !== 0) return path.startsWith('-') ? -order : order
    }
    return a.id - b.id
  }
}

function valueAt(row: unknown, names: readonly string[]): unknown {
  return names.reduce<unknown>((at, name) => (at as Json | null | undefined)?.[name], row) ?? null
}

const DECIMAL = /^-?\d+\.\d+$/

/** `null` comes first. Decimals are texts, but are numbers. */
function compare(a: unknown, b: unknown): number {
  if (a === b) return 0
  if (a === null || b === null) return a === null ? -1 : 1
  const [one, other] = [a, b].map((value) => (DECIMAL.test(String(value)) ? Number(value) : value)) as [
    number,
    number,
  ]
  return one < other ? -1 : one > other ? 1 : 0
}
