import { compile, param, type Statement, sql } from '../store/sql.ts'
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
  readonly #write: readonly Step[]

  constructor(store: Store) {
    const { dialect } = store
    const [entity, id] = [param('$entity'), param('$id', 'integer')]
    this.#store = store
    this.#read = compile(
      sql`SELECT "value" FROM "takeback_preferences" WHERE "entity" = ${entity} AND "entity_id" = ${id}`,
      dialect.placeholder,
    )
    this.#write = [
      step(
        dialect,
        'preferences',
        'any',
        sql`INSERT INTO "takeback_preferences" ("entity", "entity_id", "value") VALUES (${entity}, ${id}, ${param('$value')})
          ON CONFLICT ("entity", "entity_id") DO UPDATE SET "value" = excluded."value"`,
      ),
    ]
  }

  /** As JSON; an empty object at first. */
  async read({ entity, id }: PreferencesOwner): Promise<string> {
    const [row] = await this.#store.read(this.#read, { $entity: entity, $id: id })
    return row === undefined ? '{}' : String(row[0])
  }

  async write({ entity, id }: PreferencesOwner, json: string): Promise<void> {
    await this.#store.write(this.#write, { $entity: entity, $id: id, $value: json })
  }
}
