import { lockRows } from '../../plan/tables/lock-rows.ts'
import type { Dialect, Params } from '../../store/dialect.ts'
import { namedColumns } from '../../store/named-columns.ts'
import { compile, param, type Statement, sql } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'
import type { Store } from '../../store/store.ts'
import { ownerLock } from '../owner-lock.ts'
import { type AccountName, type Identity, sha256 } from './handoffs.ts'

/** An identity that is linked to an account. */
export interface LinkedIdentity {
  readonly id: number
  readonly provider: string
  readonly createdAt: string
}

const columns = namedColumns({ id: sql`"id"`, provider: sql`"provider"`, createdAt: sql`"created_at"` })
const ofAccount = sql`"entity" = ${param('$entity')} AND "entity_id" = ${param('$entity_id', 'integer')}`
const isIdentity = sql`"issuer" = ${param('$issuer')} AND "subject" = ${param('$subject')} AND "entity" = ${param('$entity')}`

/** The step that is refused if an identity already belongs to an account. */
export const LINKING = 'identity'

/**
 * Which identities at providers belong to which accounts. An account that a provider's login created has a password
 * that nobody knows. Until a password is set, `unset` is the digest of its hash, in every identity of the account.
 */
export class LinkedIdentities {
  readonly #store: Store
  readonly #find: Statement
  readonly #list: Statement
  readonly #unset: Statement
  readonly #link: Step
  readonly #lock: (entity: string) => Step
  readonly #take: Step
  readonly #unlink: Readonly<Record<'any' | 'another', readonly Step[]>>

  constructor(store: Store) {
    const { dialect } = store
    const { placeholder } = dialect
    this.#store = store
    this.#lock = ownerLock(dialect, '$entity_id')
    this.#find = compile(sql`SELECT "entity_id" FROM "takeback_identities" WHERE ${isIdentity}`, placeholder)
    this.#list = compile(
      sql`SELECT ${columns.sql} FROM "takeback_identities" WHERE ${ofAccount} ORDER BY "id"`,
      placeholder,
    )
    this.#unset = compile(
      sql`SELECT "unset" FROM "takeback_identities" WHERE ${ofAccount} AND "unset" IS NOT NULL`,
      placeholder,
    )
    const insert = sql`INSERT INTO "takeback_identities" ("provider", "issuer", "subject", "entity", "entity_id", "unset", "created_at")
      SELECT ${param('$provider')}, ${param('$issuer')}, ${param('$subject')}, ${param('$entity')}, ${param('$entity_id', 'integer')},
        coalesce(${param('$unset')}, (SELECT max("unset") FROM "takeback_identities" WHERE ${ofAccount})), ${dialect.clock}
      WHERE 1 = 1`
    this.#link = step(dialect, LINKING, 'some', sql`${insert} ON CONFLICT DO NOTHING`)
    this.#take = step(
      dialect,
      'identity',
      'some',
      sql`${insert} ON CONFLICT ("issuer", "subject", "entity") DO UPDATE
        SET "entity_id" = excluded."entity_id", "unset" = excluded."unset", "created_at" = excluded."created_at"
        WHERE "takeback_identities"."entity_id" = ${param('$former', 'integer')}`,
    )
    this.#unlink = compileUnlink(dialect)
  }

  /** Returns the id of the account of a type that an identity belongs to. The account may be deleted. */
  async find({ issuer, subject }: Omit<Identity, 'provider'>, entity: string): Promise<number | undefined> {
    const [row] = await this.#store.read(this.#find, { $issuer: issuer, $subject: subject, $entity: entity })
    return row === undefined ? undefined : Number(row[0])
  }

  async list(account: AccountName): Promise<LinkedIdentity[]> {
    const rows = await this.#store.read(this.#list, accountParams(account))
    return rows.map((row) => {
      const { id, provider, createdAt } = columns.read(row)
      return { id: Number(id), provider: String(provider), createdAt: String(createdAt) }
    })
  }

  /** Whether nobody knows the password with this hash. */
  async isUnset(account: AccountName, hash: string): Promise<boolean> {
    const rows = await this.#store.read(this.#unset, accountParams(account))
    return rows.some(([unset]) => unset === sha256(hash))
  }

  /** Steps that link an identity. Refused if the account is gone, or at `LINKING` if another one of its type has it. */
  linking(identity: Identity, account: AccountName): { steps: readonly Step[]; params: Params } {
    const steps = [this.#lock(account.entity), this.#link]
    return { steps, params: identityParams(identity, account, null) }
  }

  /** The same for an account that this identity created. It may leave the account `former`, which is deleted. */
  making(
    identity: Identity,
    account: AccountName,
    { hash, former = 0 }: { readonly hash: string; readonly former: number | undefined },
  ): { step: Step; params: Params } {
    return {
      step: this.#take,
      params: { ...identityParams(identity, account, sha256(hash)), $former: former },
    }
  }

  /** Unlinks an identity. False if there is none, or if it is the last one and `another` must be left. */
  async unlink(account: AccountName, id: number, left: 'any' | 'another'): Promise<boolean> {
    const { done } = await this.#store.write(this.#unlink[left], { ...accountParams(account), $id: id })
    return done
  }
}

function compileUnlink(dialect: Dialect): Record<'any' | 'another', readonly Step[]> {
  const remove = sql`DELETE FROM "takeback_identities" WHERE "id" = ${param('$id', 'integer')} AND ${ofAccount}`
  const another = sql`${remove} AND EXISTS (SELECT 1 FROM "takeback_identities" o WHERE o."entity" = ${param('$entity')}
    AND o."entity_id" = ${param('$entity_id', 'integer')} AND o."id" <> ${param('$id', 'integer')})`
  // Two identities that are unlinked at once must not each rely on the other.
  const hold =
    dialect.lock === undefined
      ? []
      : [step(dialect, 'hold', 'any', lockRows('takeback_identities', ofAccount, dialect.lock.toChange))]
  return {
    any: [step(dialect, 'identity', 'some', remove)],
    another: [...hold, step(dialect, 'identity', 'some', another)],
  }
}

function accountParams({ entity, id }: AccountName): Params {
  return { $entity: entity, $entity_id: id }
}

function identityParams(identity: Identity, account: AccountName, unset: string | null): Params {
  const { provider, issuer, subject } = identity
  return { ...accountParams(account), $provider: provider, $issuer: issuer, $subject: subject, $unset: unset }
}
