import { createHash } from 'node:crypto'
import { EMAIL_KEY } from '../plan/tables/schema.ts'
import type { Dialect, Params } from '../store/dialect.ts'
import { compile, id, intLiteral, param, type Sql, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import { ownerLock } from './owner-lock.ts'

/** How many rows are read at once when a type begins to require proof. */
const PAGE = 1000
/** The row with this id, which no account has, says since when the type requires proof. */
const SINCE = 0

/** The time of proof of accounts that are older than the requirement, and only count as verified. */
const LONG_AGO = '1970-01-01T00:00:00.000Z'

/**
 * The e-mail addresses that accounts have proved. An address is proved, not an account: after any change of the e-mail,
 * the account is unverified until the new address is proved. Only digests are stored.
 */
export class VerifiedAddresses {
  readonly #store: Pick<Store, 'dialect' | 'read' | 'write'>
  readonly #find: Statement
  readonly #findAll: Statement
  readonly #findProved: Statement
  readonly #mark: Step
  readonly #since: Step
  readonly #lock: (entity: string) => Step

  constructor(store: Pick<Store, 'dialect' | 'read' | 'write'>) {
    const { dialect } = store
    this.#store = store
    this.#lock = ownerLock(dialect, '$verified_id')
    this.#find = compile(
      sql`SELECT 1 FROM "takeback_verified" WHERE "entity" = ${param('$verified_entity')} AND "entity_id" = ${param('$verified_id', 'integer')} AND "digest" = ${param('$verified')}`,
      dialect.placeholder,
    )
    this.#findAll = compile(
      sql`SELECT "entity_id", "digest" FROM "takeback_verified" WHERE "entity" = ${param('$verified_entity')} AND ${dialect.isListed(id('entity_id'), '$ids')}`,
      dialect.placeholder,
    )
    this.#findProved = compile(
      sql`SELECT 1 FROM "takeback_verified" v WHERE v."entity" = ${param('$verified_entity')} AND v."entity_id" = ${param('$verified_id', 'integer')} AND v."digest" = ${param('$verified')}
        AND v."at" > (SELECT s."at" FROM "takeback_verified" s WHERE s."entity" = v."entity" AND s."entity_id" = ${intLiteral(SINCE)})`,
      dialect.placeholder,
    )
    this.#mark = step(
      dialect,
      'verified',
      'any',
      sql`${insertOne(dialect)} ON CONFLICT ("entity", "entity_id", "digest") DO UPDATE SET "at" = excluded."at"`,
    )
    this.#since = step(dialect, 'since', 'any', sql`${insertOne(dialect)} ON CONFLICT DO NOTHING`)
  }

  async has(account: AccountAddress): Promise<boolean> {
    return (await this.#store.read(this.#find, verifiedParams(account))).length > 0
  }

  /** Returns which of these accounts of a type have proved their present addresses. */
  async among(entity: string, accounts: readonly Omit<AccountAddress, 'entity'>[]): Promise<Set<number>> {
    const params = { $verified_entity: entity, $ids: JSON.stringify(accounts.map(({ id: one }) => one)) }
    const rows = await this.#store.read(this.#findAll, params)
    const proved = new Set(rows.map(([one, digest]) => `${one} ${digest}`))
    const found = accounts.filter(({ id: one, key }) => proved.has(`${one} ${digestOf(key)}`))
    return new Set(found.map(({ id: one }) => one))
  }

  /** Whether the address was really proved. Accounts older than the requirement only count as verified. */
  async wasProved(account: AccountAddress): Promise<boolean> {
    return (await this.#store.read(this.#findProved, verifiedParams(account))).length > 0
  }

  /** Marks an address as proved, unless its user is gone. */
  async mark(account: AccountAddress): Promise<void> {
    await this.#store.write([this.#lock(account.entity), this.#mark], verifiedParams(account))
  }

  /** For the transaction that proves an address. It must hold the user or use up a link. */
  marking(account: AccountAddress): { step: Step; params: Params } {
    return { step: this.#mark, params: verifiedParams(account) }
  }

  /**
   * Marks every account that exists when its type first requires proof as verified, so that a new declaration locks
   * nobody out. Several instances may do this at once. The first one that is done begins to serve. From then on the
   * others mark nobody, since an account that they have read may have been made, or its e-mail changed, after that.
   */
  async begin(entity: string): Promise<void> {
    const since = verifiedParams({ entity, id: SINCE, key: '' })
    if ((await this.#store.read(this.#find, since)).length > 0) return
    const page = compile(
      sql`SELECT "id", ${id(EMAIL_KEY)} FROM ${id(entity)} WHERE "id" > ${param('$after', 'integer')} ORDER BY "id" LIMIT ${intLiteral(PAGE)}`,
      this.#store.dialect.placeholder,
    )
    const markAll = compileMarkAll(this.#store.dialect, entity)
    for (let after = SINCE; ; ) {
      const rows = await this.#store.read(page, { $after: after })
      const last = rows.at(-1)
      if (last === undefined) break
      const digests = rows.map(([one, key]) => [Number(one), digestOf(String(key))])
      await this.#store.write([markAll], {
        ...since,
        $verified_all: JSON.stringify(digests),
        $verified_at: LONG_AGO,
      })
      after = Number(last[0])
    }
    await this.#store.write([this.#since], since)
  }
}

/** An account and its address. */
export interface AccountAddress {
  readonly entity: string
  readonly id: number
  /** The key of the e-mail. */
  readonly key: string
}

function insertOne({ clock }: Dialect): Sql {
  return sql`INSERT INTO "takeback_verified" ("entity", "entity_id", "digest", "at")
    VALUES (${param('$verified_entity')}, ${param('$verified_id', 'integer')}, ${param('$verified')}, ${clock})`
}

/** Marks all of `$verified_all` that still exist, unless the type already requires proof. */
function compileMarkAll(dialect: Dialect, entity: string): Step {
  const rows = dialect.rows('$verified_all', [
    { name: 'id', kind: 'integer' },
    { name: 'digest', kind: 'text' },
  ])
  return step(
    dialect,
    'verified',
    'any',
    sql`INSERT INTO "takeback_verified" ("entity", "entity_id", "digest", "at")
      SELECT ${param('$verified_entity')}, r."id", r."digest", ${param('$verified_at', 'datetime')} FROM ${rows} r
      WHERE NOT EXISTS (SELECT 1 FROM "takeback_verified" s WHERE s."entity" = ${param('$verified_entity')} AND s."entity_id" = ${intLiteral(SINCE)})
        AND EXISTS (SELECT 1 FROM ${id(entity)} u WHERE u."id" = r."id")
      ON CONFLICT DO NOTHING`,
  )
}

/** The parameters of statements about an address. */
export function verifiedParams({ entity, id, key }: AccountAddress): Params {
  return { $verified_entity: entity, $verified_id: id, $verified: digestOf(key) }
}

function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url')
}
