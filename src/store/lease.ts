import { randomUUID } from 'node:crypto'
import { param, sql, word } from './sql.ts'
import { type Step, step } from './step.ts'
import type { Store } from './store.ts'

/** How long a lease lasts that is not renewed: its server is gone then. */
const LEASE_MS = 60_000
const META = sql`"takeback_meta"`

/** What only one server of a database does at a time. */
export class Lease {
  /** How often it is to be renewed. */
  static readonly RENEW_MS = LEASE_MS / 4
  readonly #store: Store
  readonly #take: readonly Step[]
  readonly #giveBack: readonly Step[]
  readonly #me = randomUUID()

  constructor(store: Store, key: string) {
    const mine = sql`${META}."value" LIKE ${param('$me')}`
    this.#store = store
    // One that lasts longer than any can was taken by a wrong clock: nobody waits for it.
    this.#take = [
      step(
        store.dialect,
        'lease',
        'some',
        sql`INSERT INTO ${META} ("key", "value") VALUES (${word(key)}, ${param('$mine')})
          ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value"
          WHERE ${META}."value" < ${param('$now')} OR ${META}."value" > ${param('$latest')} OR ${mine} RETURNING "value"`,
      ),
    ]
    this.#giveBack = [
      step(
        store.dialect,
        'lease',
        'any',
        sql`UPDATE ${META} SET "value" = '' WHERE "key" = ${word(key)} AND ${mine}`,
      ),
    ]
  }

  /** Takes it, or renews it; false where another server has it. */
  async take(): Promise<boolean> {
    const now = Date.now()
    const { done } = await this.#store.write(this.#take, {
      $mine: `${new Date(now + LEASE_MS).toISOString()} ${this.#me}`,
      $me: `% ${this.#me}`,
      $now: new Date(now).toISOString(),
      $latest: new Date(now + 2 * LEASE_MS).toISOString(),
    })
    return done
  }

  async giveBack(): Promise<void> {
    await this.#store.write(this.#giveBack, { $me: `% ${this.#me}` })
  }
}
