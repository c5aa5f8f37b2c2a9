import type { Change } from './answers.ts'
import type { Json, RequestOptions } from './api-request.ts'
import { pagesOf } from './listing.ts'
import { isFinal, SharedStream } from './shared-stream.ts'
import type { StreamedList } from './streamed-list.ts'
import { growing, pause, type Transport } from './transport.ts'
import type { LiveOptions } from './types.ts'

export type Row = Json & { id: number; version: number }

type RowChange = Exclude<Change, { type: 'reset' }>

interface FollowOptions extends RequestOptions {
  readonly entity: string
}

export interface Following extends LiveOptions {
  /**
   * After the list was read, and then after each operation, with its changes. `isNew` is false if the rows had them
   * already.
   */
  told(
    rows: ReadonlyMap<number, Row>,
    position: string | null,
    isNew: boolean,
    changes?: readonly Change[],
  ): void
}

/** Lists, then follows the changes from where the list was read, until it is stopped. */
export class LiveList implements StreamedList {
  readonly #transport: Transport
  readonly #options: FollowOptions
  readonly #following: Following
  readonly #stopped = new AbortController()
  #rows = new Map<number, Row>()
  #position: string | null = null
  /** Changes of an operation that has not come as a whole. */
  #changes: RowChange[] = []
  #failures = 0
  #leave = () => {}

  constructor(transport: Transport, options: FollowOptions, following: Following) {
    this.#transport = transport
    this.#options = options
    this.#following = following
    const { signal } = following
    if (signal?.aborted) return
    signal?.addEventListener('abort', this.stop)
    void this.#load()
  }

  readonly stop = (): void => {
    this.#leave()
    this.#stopped.abort()
  }

  /** Reads the list, then joins the stream. */
  async #load(after?: Promise<void>): Promise<void> {
    const { entity, ...options } = this.#options
    const { signal } = this.#stopped
    try {
      await after
      const list = pagesOf<Row>(this.#transport, `${entity}/`, { ...options, limit: 200, signal })
      this.#rows = new Map((await list.all()).map((row) => [row.id, row]))
      // From before its first page was read: changes since then come again.
      this.#position = (await list).position
      this.#notify(true)
      this.#transport.stream ??= new SharedStream(this.#transport)
      if (!signal.aborted) this.#leave = this.#transport.stream.add(this)
    } catch (error) {
      this.fail(error)
    }
  }

  ask(): object {
    // If only part of an operation has come, the new stream sends all of it again.
    this.#changes = []
    return { ...this.#options, since: this.#position }
  }

  /** Reads the list again, if that can help. */
  fail(error?: unknown): void {
    const { signal } = this.#stopped
    this.#leave()
    if (signal.aborted) return
    if (isFinal(error)) this.#call(() => (this.#following.onError ?? console.error)(error))
    else void this.#load(pause(growing(this.#failures++), signal))
  }

  take(change: Change | undefined, position: string | undefined): void {
    this.#failures = 0
    if (change?.type === 'reset') this.fail()
    else if (change) this.#changes.push(change)
    if (!position) return
    const changes = this.#changes
    this.#changes = []
    this.#position = position
    this.#notify(changes.filter(this.#apply).length > 0, changes)
  }

  #apply = (change: RowChange): boolean => {
    if (change.type === 'remove') return this.#rows.delete(change.id)
    if (change.version < (this.#rows.get(change.id)?.version ?? 0)) return false
    this.#rows.set(change.id, change.data as Row)
    return true
  }

  #notify(isNew: boolean, changes?: readonly Change[]): void {
    this.#call(() => this.#following.told(this.#rows, this.#position, isNew, changes))
  }

  /** If the app throws an error, the list goes on, and so do the others. */
  #call(run: () => void): void {
    try {
      if (!this.#stopped.signal.aborted) run()
    } catch (error) {
      console.error(error)
    }
  }
}

/** By dot paths, then by `id`, in the direction of the last path: as the server sorts. */
export function byPaths(paths: readonly string[]): (a: Row, b: Row) => number {
  return (a, b) => {
    let sign = 1
    for (const path of paths) {
      sign = path[0] === '-' ? -1 : 1
      const names = path.replace('-', '').split('.')
      const order = compare(valueAt(a, names), valueAt(b, names))
      if (order) return order * sign
    }
    return (a.id - b.id) * sign
  }
}

function valueAt(row: unknown, names: readonly string[]): unknown {
  return names.reduce<unknown>((at, name) => (at as Json | null | undefined)?.[name], row) ?? null
}

const DECIMAL = /^-?\d+\.\d+$/

/** `null` comes first. Decimals are texts, but are numbers. */
function compare(a: unknown, b: unknown): number {
  if (a === null || b === null) return +(b === null) - +(a === null)
  const [one, other] = [a, b].map((value) =>
    DECIMAL.test(value as string) ? +(value as string) : value,
  ) as [number, number]
  return +(one > other) - +(one < other)
}
