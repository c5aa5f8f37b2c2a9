import { createHash } from 'node:crypto'
import { EMAIL_KEY } from '../plan/tables/schema.ts'
import type { Dialect, Params } from '../store/dialect.ts'
import { compile, count, id, param, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { Store } from '../store/store.ts'

/** Rows that are read at once when a type begins to ask for proof. */
const PAGE = 1000
/** In place of the id of an account: since when its type asks for proof. */
const SINCE = 0

/**
 * Which e-mail addresses of an account were proved. An address is what is proved, not an account: after a change of the
 * e-mail, by whatever way, the account is unverified until the new address is proved. Only digests are kept.
 */
export class VerifiedAddresses {
  readonly #store: Store
  readonly #find: Statement
  readonly #findProved: Statement
  readonly #mark: Step
  readonly #markAll: Step

  constructor(store: Store) {
    const { dialect } = store
    this.#store = store
    this.#find = compile(
      sql`SELECT 1 FROM "takeback_verified" WHERE "entity" = ${param('$verified_entity')} AND "entity_id" = ${param('$verified_id', 'integer')} AND "digest" = ${param('$verified')}`,
      dialect.placeholder,
    )
    this.#findProved = compile(
      sql`SELECT 1 FROM "takeback_verified" v WHERE v."entity" = ${param('$verified_entity')} AND v."entity_id" = ${param('$verified_id', 'integer')} AND v."digest" = ${param('$verified')}
        AND v."at" > (SELECT s."at" FROM "takeback_verified" s WHERE s."entity" = v."entity" AND s."entity_id" = ${count(SINCE)})`,
      dialect.placeholder,
    )
    this.#mark = step(
      dialect,
      'verified',
      'any',
      sql`INSERT INTO "takeback_verified" ("entity", "entity_id", "digest", "at")
        VALUES (${param('$verified_entity')}, ${param('$verified_id', 'integer')}, ${param('$verified')}, ${dialect.clock})
        ON CONFLICT ("entity", "entity_id", "digest") DO UPDATE SET "at" = excluded."at"`,
    )
    this.#markAll = compileMarkAll(dialect)
  }

  async has(account: AccountAddress): Promise<boolean> {
    return (await this.#store.read(this.#find, verifiedParams(account))).length > 0
  }

  /** Whether it was really proved, and does not only count as verified because the account is older than that. */
  async wasProved(account: AccountAddress): Promise<boolean> {
    return (await this.#store.read(this.#findProved, verifiedParams(account))).length > 0
  }

  /** To be part of the transaction in which an address is proved. */
  marking(account: AccountAddress): { step: Step; params: Params } {
    return { step: this.#mark, params: verifiedParams(account) }
  }

  /**
   * Whoever has an account when its type first asks for proof counts as verified: nobody is locked out by a new
   * declaration. Several instances may do this at once.
   */
  async begin(entity: string): Promise<void> {
    const since = { entity, id: SINCE, key: '' }
    if (await this.has(since)) return
    const page = compile(
      sql`SELECT "id", ${id(EMAIL_KEY)} FROM ${id(entity)} WHERE "id" > ${param('$after', 'integer')} ORDER BY "id" LIMIT ${count(PAGE)}`,
      this.#store.dialect.placeholder,
    )
    for (let after = SINCE; ; ) {
      const rows = await this.#store.read(page, { $after: after })
      const last = rows.at(-1)
      if (last === undefined) break
      await this.#markEach(
        entity,
        rows.map(([one, key]) => [Number(one), String(key)]),
      )
      after = Number(last[0])
    }
    await this.#markEach(entity, [[SINCE, '']])
  }

  async #markEach(entity: string, keys: readonly (readonly [id: number, key: string])[]): Promise<void> {
    const digests = keys.map(([one, key]) => [one, digestOf(key)])
    const params = { $verified_entity: entity, $verified_all: JSON.stringify(digests) }
    await this.#store.write([this.#markAll], params)
  }
}

/** An address of an account. */
export interface AccountAddress {
  readonly entity: string
  readonly id: number
  /** Of the e-mail. */
  readonly key: string
}

function compileMarkAll(dialect: Dialect): Step {
  const rows = dialect.rows('$verified_all', [
    { name: 'id', kind: 'integer' },
    { name: 'digest', kind: 'text' },
  ])
  return step(
    dialect,
    'verified',
    'any',
    sql`INSERT INTO "takeback_verified" ("entity", "entity_id", "digest", "at")
      SELECT ${param('$verified_entity')}, r."id", r."digest", ${dialect.clock} FROM ${rows} r WHERE 1 = 1 ON CONFLICT DO NOTHING`,
  )
}

/** As statements about an address take it. */
export function verifiedParams({ entity, id, key }: AccountAddress): Params {
  return { $verified_entity: entity, $verified_id: id, $verified: digestOf(key) }
}

function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url')
}
