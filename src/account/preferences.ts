import { compile, param, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import type { AccountId } from './account-id.ts'
import { ownerLock } from './owner-lock.ts'

/** The preferences that programs store for a user: one JSON object per user. A purge of the user erases it. */
export class Preferences {
  readonly #store: Store
  readonly #read: Statement
  readonly #keep: Step
  readonly #lock: (entity: string) => Step

  constructor(store: Store) {
    const { dialect } = store
    const [entity, userId] = [param('$entity'), param('$id', 'integer')]
    this.#store = store
    this.#lock = ownerLock(dialect, '$id')
    this.#read = compile(
      sql`SELECT "value" FROM "takeback_preferences" WHERE "entity" = ${entity} AND "entity_id" = ${userId}`,
      dialect.placeholder,
    )
    this.#keep = step(
      dialect,
      'preferences',
      'any',
      sql`INSERT INTO "takeback_preferences" ("entity", "entity_id", "value") VALUES (${entity}, ${userId}, ${param('$value')})
        ON CONFLICT ("entity", "entity_id") DO UPDATE SET "value" = excluded."value"`,
    )
  }

  /** Reads the preferences as JSON; an empty object at first. */
  async read({ entity, id }: AccountId): Promise<string> {
    const [row] = await this.#store.read(this.#read, { $entity: entity, $id: id })
    return row === undefined ? '{}' : String(row[0])
  }

  /** Replaces the preferences. False if the user is gone. */
  async write({ entity, id: user }: AccountId, json: string): Promise<boolean> {
    const steps = [this.#lock(entity), this.#keep]
    const { done } = await this.#store.write(steps, { $entity: entity, $id: user, $value: json })
    return done
  }
}
