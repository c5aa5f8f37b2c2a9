import type { Row } from '../store/dialect.ts'
import { namedColumns } from '../store/named-columns.ts'
import { compile, param, type Sql, type Statement, sql } from '../store/sql.ts'
import type { Store } from '../store/store.ts'
import type { AccountId } from './account-id.ts'
import { type AccountState, INVITE, stateDigest } from './links.ts'

/** An invitation of a user. */
export interface Invitation extends AccountId {
  /** The digest of the account's state when the user was invited. It no longer matches once a password is set. */
  readonly bound: string
  /** The key of the e-mail address that it was mailed to; empty if it was mailed before addresses were stored. */
  readonly address: string
  readonly until: string
  readonly expired: boolean
}

/** Whether the user has not set a password yet. The e-mail address may have been corrected since. */
export function isInvitationOpen({ bound, address }: Invitation, { key, hash }: AccountState): boolean {
  return stateDigest(address === '' ? key : address, hash) === bound
}

/** Whether the link in its mail works. */
export function hasWorkingLink({ bound, expired }: Invitation, { key, hash }: AccountState): boolean {
  return !expired && stateDigest(key, hash) === bound
}

/** All invitations, whether or not their links still work. */
export class Invitations {
  readonly #store: Store
  readonly #after: Statement
  readonly #of: Statement
  readonly #read: (row: Row) => Invitation

  constructor(store: Store) {
    const { clock, placeholder } = store.dialect
    const columns = namedColumns({
      entity: sql`"entity"`,
      id: sql`"entity_id"`,
      bound: sql`"bound"`,
      address: sql`"address"`,
      until: sql`"until"`,
      expired: sql`CASE WHEN "until" > ${clock} THEN 0 ELSE 1 END`,
    })
    const select = (which: Sql) =>
      compile(
        sql`SELECT ${columns.sql} FROM "takeback_links" WHERE "purpose" = ${INVITE} AND ${which}`,
        placeholder,
        true,
      )
    const account = [param('$entity'), param('$id', 'integer')] as const
    this.#store = store
    this.#of = select(sql`"entity" = ${account[0]} AND "entity_id" = ${account[1]}`)
    this.#after = select(
      sql`("entity", "entity_id") > (${account[0]}, ${account[1]}) ORDER BY "entity", "entity_id" LIMIT ${param('$most', 'integer')}`,
    )
    this.#read = (row) => {
      const { entity, id, bound, address, until, expired } = columns.read(row)
      return {
        entity: String(entity),
        id: Number(id),
        bound: String(bound),
        address: String(address ?? ''),
        until: new Date(String(until)).toISOString(),
        expired: Number(expired) === 1,
      }
    }
  }

  /** The next invitations after an account, at most `most`. */
  async after({ entity, id }: AccountId, most: number): Promise<readonly Invitation[]> {
    const rows = await this.#store.read(this.#after, { $entity: entity, $id: id, $most: most })
    return rows.map(this.#read)
  }

  async of({ entity, id }: AccountId): Promise<Invitation | undefined> {
    const [row] = await this.#store.read(this.#of, { $entity: entity, $id: id })
    return row === undefined ? undefined : this.#read(row)
  }
}
