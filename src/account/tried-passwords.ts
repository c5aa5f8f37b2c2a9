import type { Params } from '../store/dialect.ts'
import { compile, param, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import { ownerLock } from './owner-lock.ts'
import { type AccountAddress, verifiedParams } from './verified.ts'

/**
 * The password of the last sign-up that found an address taken. A login with it is answered as if the sign-up had made
 * an unverified account: whoever signs up and then logs in must not learn that the address is taken. It never lets
 * anybody in.
 */
export class TriedPasswords {
  readonly #store: Store
  readonly #find: Statement
  readonly #keep: Step
  readonly #lock: (entity: string) => Step

  constructor(store: Store) {
    const { dialect } = store
    const [entity, id] = [param('$verified_entity'), param('$verified_id', 'integer')]
    const digest = param('$verified')
    const isAccount = sql`"entity" = ${entity} AND "entity_id" = ${id}`
    this.#store = store
    this.#lock = ownerLock(dialect, '$verified_id')
    this.#find = compile(
      sql`SELECT "hash" FROM "takeback_tried_passwords" WHERE ${isAccount} AND "digest" = ${digest}`,
      dialect.placeholder,
    )
    this.#keep = step(
      dialect,
      'tried',
      'any',
      sql`INSERT INTO "takeback_tried_passwords" ("entity", "entity_id", "digest", "hash") VALUES (${entity}, ${id}, ${digest}, ${param('$tried')})
        ON CONFLICT ("entity", "entity_id") DO UPDATE SET "digest" = excluded."digest", "hash" = excluded."hash"`,
    )
  }

  /** Returns the hash of that password. */
  async of(account: AccountAddress): Promise<string | undefined> {
    const [row] = await this.#store.read(this.#find, verifiedParams(account))
    return row === undefined ? undefined : String(row[0])
  }

  /** For the transaction of a sign-up. */
  keeping(account: AccountAddress, hash: string): { steps: readonly Step[]; params: Params } {
    return {
      steps: [this.#lock(account.entity), this.#keep],
      params: { ...verifiedParams(account), $tried: hash },
    }
  }
}
