import { budget } from '../budget.ts'
import type { Dialect, Params } from '../store/dialect.ts'
import { namedColumns } from '../store/named-columns.ts'
import { compile, intLiteral, param, type Sql, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import type { AccountId } from './account-id.ts'
import { ownerLock } from './owner-lock.ts'
import type { CallingSession, Sessions } from './sessions.ts'

/** A passkey as its owner sees it. */
export interface ListedPasskey {
  readonly id: number
  readonly name: string
  readonly created_at: string
  readonly used_at: string | null
}

/** A stored passkey, for verifying its signatures. */
export interface Passkey {
  readonly id: number
  readonly owner: AccountId
  readonly publicKey: string
  readonly counter: number
}

/** A new passkey, for storing. */
export interface NewPasskey {
  readonly name: string
  /** The id that the authenticator gave the passkey, in base64url like the key. */
  readonly credential: string
  readonly publicKey: string
  readonly counter: number
}

/** Passkeys: public keys of authenticators. A challenge is used up in the transaction that it allows. */
export class Passkeys {
  readonly #store: Store
  readonly #sessions: Sessions
  readonly #statements: PasskeyStatements
  readonly #lock: (entity: string) => Step

  constructor(store: Store, sessions: Sessions) {
    this.#store = store
    this.#sessions = sessions
    this.#statements = compilePasskeys(store.dialect)
    this.#lock = ownerLock(store.dialect, '$id', true)
  }

  async list(owner: AccountId): Promise<(ListedPasskey & { readonly credential: string })[]> {
    const rows = await this.#store.read(this.#statements.list, ownerParams(owner))
    return rows.map((row) => {
      const { id, name, created, used, credential } = listColumns.read(row)
      return {
        id: Number(id),
        name: String(name),
        created_at: timeText(created),
        used_at: used === null ? null : timeText(used),
        credential: String(credential),
      }
    })
  }

  async find(credential: string): Promise<Passkey | undefined> {
    const [row] = await this.#store.read(this.#statements.find, { $credential: credential })
    if (row === undefined) return undefined
    const { id, entity, owner, publicKey, counter } = findColumns.read(row)
    return {
      id: Number(id),
      owner: { entity: String(entity), id: Number(owner) },
      publicKey: String(publicKey),
      counter: Number(counter),
    }
  }

  /**
   * Adds a passkey. False if the challenge was used, the passkey exists already, the user has too many or is gone, or
   * the session has ended.
   */
  async add(
    owner: AccountId,
    challenge: string,
    passkey: NewPasskey,
    calling: CallingSession,
  ): Promise<boolean> {
    const locks = [this.#lock(owner.entity), ...calling.steps]
    const steps = [...locks, ...this.#sessions.replace, ...this.#statements.add]
    const { done } = await this.#store.write(steps, {
      ...this.#using(challenge),
      ...calling.params,
      ...ownerParams(owner),
      $name: passkey.name,
      $credential: passkey.credential,
      $key: passkey.publicKey,
      $counter: passkey.counter,
    })
    return done
  }

  /** False if the challenge was used before, or the passkey has changed or is gone. Of many at once, one succeeds. */
  async use({ id, counter }: Passkey, challenge: string, next: number): Promise<boolean> {
    const steps = [...this.#sessions.replace, ...this.#statements.use]
    const params = { ...this.#using(challenge), $passkey: id, $counter: counter, $next: next }
    return (await this.#store.write(steps, params)).done
  }

  /** Removes a passkey. False if the user has none with that id. */
  async remove(owner: AccountId, id: number): Promise<boolean> {
    return (await this.#store.write(this.#statements.remove, { ...ownerParams(owner), $passkey: id })).done
  }

  /** Removes all passkeys of a user, and returns how many there were. */
  async removeAll(owner: AccountId): Promise<number> {
    const found = await this.list(owner)
    await this.#store.write(this.#statements.removeAll, ownerParams(owner))
    return found.length
  }

  /** Used challenges are stored in the same table as ended tokens. */
  #using(challenge: string): Params {
    return { ...this.#sessions.endedNow, $session: challenge, $token: challenge }
  }
}

interface PasskeyStatements {
  readonly list: Statement
  readonly find: Statement
  readonly add: readonly Step[]
  readonly use: readonly Step[]
  readonly remove: readonly Step[]
  readonly removeAll: readonly Step[]
}

const PASSKEYS = sql`"takeback_passkeys"`
const isOwned = sql`"entity" = ${param('$entity')} AND "entity_id" = ${param('$id')}`
const passkey = param('$passkey', 'integer')
const counter = param('$counter', 'integer')
const listColumns = namedColumns({
  id: sql`"id"`,
  name: sql`"name"`,
  created: sql`"created_at"`,
  used: sql`"used_at"`,
  credential: sql`"credential"`,
})
const findColumns = namedColumns({
  id: sql`"id"`,
  entity: sql`"entity"`,
  owner: sql`"entity_id"`,
  publicKey: sql`"public_key"`,
  counter: sql`"counter"`,
})

function compilePasskeys(dialect: Dialect): PasskeyStatements {
  const { clock, placeholder } = dialect
  const some = (source: Sql) => step(dialect, 'passkey', 'some', source)
  return {
    list: compile(
      sql`SELECT ${listColumns.sql} FROM ${PASSKEYS} WHERE ${isOwned} ORDER BY "id"`,
      placeholder,
      true,
    ),
    find: compile(
      sql`SELECT ${findColumns.sql} FROM ${PASSKEYS} WHERE "credential" = ${param('$credential')}`,
      placeholder,
      true,
    ),
    add: [
      some(sql`INSERT INTO ${PASSKEYS} ("entity", "entity_id", "name", "credential", "public_key", "counter", "created_at")
        SELECT ${param('$entity')}, ${param('$id')}, ${param('$name')}, ${param('$credential')}, ${param('$key')}, ${counter}, ${clock}
        WHERE (SELECT count(*) FROM ${PASSKEYS} WHERE ${isOwned}) < ${intLiteral(budget.passkeys)}
        ON CONFLICT ("credential") DO NOTHING`),
    ],
    // Many authenticators do not count uses: their counter stays 0.
    use: [
      some(sql`UPDATE ${PASSKEYS} SET "counter" = ${param('$next', 'integer')}, "used_at" = ${clock}
        WHERE "id" = ${passkey} AND "counter" = ${counter}`),
    ],
    remove: [some(sql`DELETE FROM ${PASSKEYS} WHERE ${isOwned} AND "id" = ${passkey}`)],
    removeAll: [step(dialect, 'passkey', 'any', sql`DELETE FROM ${PASSKEYS} WHERE ${isOwned}`)],
  }
}

function ownerParams({ entity, id }: AccountId): Params {
  return { $entity: entity, $id: id }
}

function timeText(value: unknown): string {
  return new Date(String(value)).toISOString()
}
