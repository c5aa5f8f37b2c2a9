import type { Model, Webhook } from '../declare/model.ts'
import type { Feed, FeedChange, ReadOperation } from '../journal/feed.ts'
import { noUpcasts, type UpcasterOf } from '../journal/upcast.ts'
import { compileStateFilter } from '../plan/past/state-filter.ts'
import type { Statement } from '../store/sql.ts'
import type { Store } from '../store/store.ts'

/** What is needed to read operations. */
export interface OperationReading {
  readonly store: Store
  readonly model: Model
  readonly feed: Feed
  /** Converts former versions to the present form. */
  readonly upcasterOf: UpcasterOf
}

/** Selects the changes that a webhook receives. */
export class WebhookSelection {
  /** The types whose changes it receives. */
  readonly entities: readonly string[]
  readonly #webhook: Webhook
  readonly #reading: OperationReading
  readonly #filter: Statement | undefined

  constructor(webhook: Webhook, reading: OperationReading) {
    const { model, store } = reading
    this.entities = [...webhook.kinds.keys()]
    this.#webhook = webhook
    this.#reading = reading
    const type = model.entities.get(this.entities[0] ?? '')
    const { filter } = webhook
    this.#filter =
      filter === undefined || type === undefined
        ? undefined
        : compileStateFilter(type, filter, model, store.dialect)
  }

  /** Returns the selected changes of an operation, in pages. */
  async *of(operation: ReadOperation): AsyncGenerator<FeedChange[]> {
    for (let { changes, rest } = operation; ; ) {
      yield await this.#filtered(this.#wanted(changes))
      if (rest === null) return
      const next = await this.#reading.feed.changes(operation.id, rest, this.entities)
      changes = next.changes
      rest = next.rest
    }
  }

  async isAny(operation: ReadOperation): Promise<boolean> {
    for await (const changes of this.of(operation)) if (changes.length > 0) return true
    return false
  }

  /** Selects changes of the declared kinds, in the present form. */
  #wanted(changes: readonly FeedChange[]): FeedChange[] {
    return changes.flatMap((change) => {
      const { entity, kind, data, before } = change
      if (!this.#webhook.kinds.get(entity)?.has(kind)) return []
      const upcaster = this.#reading.upcasterOf(entity)
      if (upcaster === noUpcasts) return [change]
      const upcast = (text: string | null) =>
        text === null ? null : JSON.stringify(upcaster.upcast(JSON.parse(text)))
      return [{ ...change, data: upcast(data), before: upcast(before) }]
    })
  }

  /** Applies the filter. A purged Entity has no values to compare, so it is always included. */
  async #filtered(changes: FeedChange[]): Promise<FeedChange[]> {
    const states = changes.map(({ data, before }) => data ?? before)
    const rows = states.flatMap((state, at) => (state === null ? [] : [[at, state]]))
    if (this.#filter === undefined || rows.length === 0) return changes
    const found = await this.#reading.store.read(this.#filter, { $rows: JSON.stringify(rows) })
    const met = new Set(found.map(([at]) => Number(at)))
    return changes.filter((_, at) => states[at] === null || met.has(at))
  }
}
