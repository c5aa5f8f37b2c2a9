import type { FeedPlan } from '../plan/past/feed.ts'
import type { Params } from '../store/dialect.ts'
import type { Step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import type { Feed } from './feed.ts'
import type { Position } from './position.ts'

/**
 * The positions of the server's own readers, stored in the database. A cursor is stored as a number without its
 * incarnation. A copy or a backup has the same numbers, so its cursors go on after the same operation. Operations that
 * the original has read since the copy was made are read again.
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

  /** The position of a reader. A new reader starts at the present. */
  async at(name: string): Promise<Position> {
    const known = await this.#find(name)
    if (known !== undefined) return known
    const now = await this.#feed.numberOf(await this.#feed.now())
    await this.#store.write(this.#plan.make, { $name: name, $to: now })
    return (await this.#find(name)) ?? this.#feed.positionOf(now)
  }

  /** Moves a cursor. False if another reader has moved it first. */
  async move(name: string, from: Position, to: Position): Promise<boolean> {
    const { steps, params } = await this.moving(name, from, to)
    return (await this.#store.write(steps, params)).done
  }

  /** The steps to move a cursor in a larger transaction. `CURSOR_MOVED` is refused if another reader was faster. */
  async moving(
    name: string,
    from: Position,
    to: Position,
  ): Promise<{ readonly steps: readonly Step[]; readonly params: Params }> {
    const [$from, $to] = await Promise.all([this.#feed.numberOf(from), this.#feed.numberOf(to)])
    return { steps: this.#plan.move, params: { $name: name, $from, $to } }
  }

  /** Forgets a reader. If it comes back, it starts as a new one. */
  async drop(name: string): Promise<void> {
    await this.#store.write(this.#plan.drop, { $name: name })
  }

  /**
   * Forgets all readers whose names have this prefix, except for `kept`. Readers that moved recently are also kept:
   * another instance may use them, or the declaration may be about to be rolled back.
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
