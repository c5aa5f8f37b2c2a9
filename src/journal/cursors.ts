import type { FeedPlan } from '../plan/past/feed.ts'
import type { Params } from '../store/dialect.ts'
import type { Step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import type { Feed } from './feed.ts'
import type { Position } from './position.ts'

/**
 * How far readers of the server's own have come in the journal, kept in the database. What is kept is a number alone, and
 * a copy or a backup has the same numbers: so a cursor goes on there behind the same operation, whatever the incarnation.
 * What the original has read since the copy was made is read again.
 */
export class Cursors {
  readonly #store: Store
  readonly #plan: FeedPlan
  readonly #feed: Feed

  constructor(store: Store, plan: FeedPlan, feed: Feed) {
    this.#store = store
    this.#plan = plan
    this.#feed = feed
  }

  /** Where a reader stands. A new one begins now. */
  async at(name: string): Promise<Position> {
    const known = await this.#find(name)
    if (known !== undefined) return known
    const now = await this.#feed.numberOf(await this.#feed.now())
    await this.#store.write(this.#plan.make, { $name: name, $to: now })
    return (await this.#find(name)) ?? this.#feed.positionOf(now)
  }

  /** False where another reader was faster, and has moved it. */
  async move(name: string, from: Position, to: Position): Promise<boolean> {
    const { steps, params } = await this.moving(name, from, to)
    return (await this.#store.write(steps, params)).done
  }

  /** The same for a transaction with more in it. It is refused at the step `CURSOR_MOVED` where another reader was faster. */
  async moving(
    name: string,
    from: Position,
    to: Position,
  ): Promise<{ readonly steps: readonly Step[]; readonly params: Params }> {
    const [$from, $to] = await Promise.all([this.#feed.numberOf(from), this.#feed.numberOf(to)])
    return { steps: this.#plan.move, params: { $name: name, $from, $to } }
  }

  /** Forgets a reader: when it comes back, it begins anew. */
  async drop(name: string): Promise<void> {
    await this.#store.write(this.#plan.drop, { $name: name })
  }

  /**
   * Forgets all readers whose names begin so, but those that are named. Those that have moved lately are kept: another
   * instance may have them, or the declaration is about to be rolled back.
   */
  async dropIdle(prefix: string, kept: readonly string[]): Promise<void> {
    const names = (await this.#store.read(this.#plan.idleCursors, {})).map(([name]) => String(name))
    for (const name of names) if (name.startsWith(prefix) && !kept.includes(name)) await this.drop(name)
  }

  async #find(name: string): Promise<Position | undefined> {
    const [row] = await this.#store.read(this.#plan.cursor, { $name: name })
    return row === undefined ? undefined : this.#feed.positionOf(Number(row[0]))
  }
}
