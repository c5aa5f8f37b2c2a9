import { compile, id, param, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { Store } from '../store/store.ts'

interface PreferencesOwner {
  readonly entity: string
  readonly id: number
}

/** What programs keep for a user: one JSON object each. It goes with a purge of the user. */
export class Preferences {
  readonly #store: Store
  readonly #read: Statement
  readonly #keep: Step
  /** By Entity type. */
  readonly #write = new Map<string, readonly Step[]>()

  constructor(store: Store) {
    const { dialect } = store
    const [entity, userId] = [param('$entity'), param('$id', 'integer')]
    this.#store = store
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

  /** As JSON; an empty object at first. */
  async read({ entity, id }: PreferencesOwner): Promise<string> {
    const [row] = await this.#store.read(this.#read, { $entity: entity, $id: id })
    return row === undefined ? '{}' : String(row[0])
  }

  /** False if the user is gone. */
  async write({ entity, id: user }: PreferencesOwner, json: string): Promise<boolean> {
    const steps = this.#write.get(entity) ?? [this.#hold(entity), this.#keep]
    this.#write.set(entity, steps)
    const { done } = await this.#store.write(steps, { $entity: entity, $id: user, $value: json })
    return done
  }

  /** A purge of the user waits until they are written, and erases them. */
  #hold(entity: string): Step {
    const { dialect } = this.#store
    const isUser = sql`h."id" = ${param('$id', 'integer')} AND h."deleted_at" IS NULL`
    const found = sql`SELECT 1 FROM ${id(entity)} h WHERE ${isUser}${dialect.lock?.toExist ?? sql``}`
    return step(dialect, 'hold', 'some', found)
  }
}
