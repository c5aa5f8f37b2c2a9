import { budget } from '../budget.ts'
import type { KeyLimits, KeyRights } from '../plan/viewer/key-scope.ts'
import type { Dialect, Params } from '../store/dialect.ts'
import { namedColumns } from '../store/named-columns.ts'
import { compile, intLiteral, param, type Sql, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import type { AccountId } from './account-id.ts'
import { keyDigest, newKey } from './key-text.ts'
import { OWNER, ownerLock, SESSION } from './owner-lock.ts'
import type { CallingSession } from './sessions.ts'

const USED_MS = budget.keyUsedMinutes * 60_000
const KNOWN_MAX = 10_000

/** The properties of a key that its owner sets. */
export interface KeyTerms {
  readonly name: string
  readonly expires_at: string | null
  readonly can: KeyRights
  readonly limits: KeyLimits
  readonly agent: boolean
}

/** A key as the database has it. */
export interface AccessKey extends KeyTerms {
  readonly id: number
  readonly owner: AccountId
  readonly created_at: string
  readonly last_used_at: string | null
  /** When it was ended by hand. */
  readonly ended_at: string | null
}

/** The caller who makes or changes a key. */
export interface KeyWriter {
  readonly calling: CallingSession
  readonly signal: AbortSignal
}

/** Keys for programs, which act in the name of a user. The database stores only their digests. */
export class AccessKeys {
  readonly #store: Store
  readonly #statements: KeyStatements
  readonly #lock: (entity: string) => Step
  /** When the use of each key was last noted, by `performance.now()`. */
  readonly #used = new Map<number, number>()

  constructor(store: Store) {
    this.#store = store
    this.#statements = compileKeys(store.dialect)
    this.#lock = ownerLock(store.dialect, '$owner', true)
  }

  /**
   * Makes a key. Returns its id, and the text that is shown once. Or why there is none: `gone` if its owner is gone or
   * the session of the caller has ended, `many` if the owner has too many keys.
   */
  async make(
    owner: AccountId,
    terms: KeyTerms,
    { calling, signal }: KeyWriter,
  ): Promise<{ id: number; text: string } | 'gone' | 'many'> {
    const text = newKey()
    const params = { ...ownerParams(owner), ...termParams(terms), $digest: keyDigest(text) }
    const steps = [this.#lock(owner.entity), ...calling.steps, this.#statements.make]
    const outcome = await this.#store.write(steps, { ...params, ...calling.params }, signal)
    if (outcome.done) return { id: Number(outcome.rows[0]?.[0]), text }
    return outcome.step === OWNER || outcome.step === SESSION ? 'gone' : 'many'
  }

  /** The key with this text, if it has not ended. */
  async find(text: string): Promise<AccessKey | undefined> {
    const [row] = await this.#store.read(this.#statements.byDigest, { $digest: keyDigest(text) })
    return row === undefined ? undefined : keyOf(row)
  }

  /** The key with this id, if it has not ended. */
  async alive(id: number): Promise<AccessKey | undefined> {
    const [row] = await this.#store.read(this.#statements.alive, { $id: id })
    return row === undefined ? undefined : keyOf(row)
  }

  /** The key with this id, even if it has ended. */
  async byId(id: number): Promise<AccessKey | undefined> {
    const [row] = await this.#store.read(this.#statements.byId, { $id: id })
    return row === undefined ? undefined : keyOf(row)
  }

  /** Lists keys of a user, or of everybody, in pages by id. Those that were ended by hand are left out. */
  async list(
    owner: AccountId | undefined,
    { after, most }: { readonly after: number; readonly most: number },
  ): Promise<AccessKey[]> {
    const params = { $after: after, $most: most }
    const rows =
      owner === undefined
        ? await this.#store.read(this.#statements.listAll, params)
        : await this.#store.read(this.#statements.list, { ...params, ...ownerParams(owner) })
    return rows.map(keyOf)
  }

  /** Changes a key. False if the key or the caller's session has ended. */
  async change(id: number, terms: KeyTerms, { calling, signal }: KeyWriter): Promise<boolean> {
    const params = { ...termParams(terms), ...calling.params, $id: id }
    return (await this.#store.write([...calling.steps, ...this.#statements.change], params, signal)).done
  }

  /** The step that ends the key `$key`. */
  get end(): Step {
    return this.#statements.end
  }

  /** The step that ends all keys of the user `$keys_entity`, `$keys_of`. */
  get endAll(): Step {
    return this.#statements.endAll
  }

  /** Records that a key is in use, once every few minutes. No request waits for it. */
  recordUse(id: number): void {
    const known = this.#used.get(id)
    if (known !== undefined && performance.now() - known < USED_MS) return
    if (this.#used.size >= KNOWN_MAX) this.#used.clear()
    this.#used.set(id, performance.now())
    // If this fails, the use is noted a few minutes later.
    this.#store.write(this.#statements.recordUse, { $id: id }).catch(() => {})
  }
}

interface KeyStatements {
  readonly make: Step
  readonly byDigest: Statement
  readonly alive: Statement
  readonly byId: Statement
  readonly list: Statement
  readonly listAll: Statement
  readonly change: readonly Step[]
  readonly end: Step
  readonly endAll: Step
  readonly recordUse: readonly Step[]
}

const columns = namedColumns({
  id: sql`k."id"`,
  entity: sql`k."entity"`,
  owner: sql`k."entity_id"`,
  name: sql`k."name"`,
  can: sql`k."can"`,
  limits: sql`k."limits"`,
  agent: sql`k."agent"`,
  created: sql`k."created_at"`,
  expires: sql`k."expires_at"`,
  used: sql`k."used_at"`,
  ended: sql`k."ended_at"`,
})

const expires = param('$expires', 'datetime')
const isOwned = sql`"entity" = ${param('$entity')} AND "entity_id" = ${param('$owner', 'integer')} AND "ended_at" IS NULL`

const page = sql`k."id" > ${param('$after', 'integer')} ORDER BY k."id" LIMIT ${param('$most', 'integer')}`

function compileKeys(dialect: Dialect): KeyStatements {
  const { clock } = dialect
  const read = (where: Sql) =>
    compile(sql`SELECT ${columns.sql} FROM "takeback_keys" k WHERE ${where}`, dialect.placeholder)
  const isAlive = sql`k."ended_at" IS NULL AND (k."expires_at" IS NULL OR k."expires_at" > ${clock})`
  const isIt = sql`k."id" = ${param('$id', 'integer')}`
  const isThis = sql`"id" = ${param('$id', 'integer')}`
  const end = (which: Sql) =>
    step(
      dialect,
      'end',
      'any',
      sql`UPDATE "takeback_keys" SET "ended_at" = ${clock}, "digest" = NULL WHERE ${which} AND "ended_at" IS NULL`,
    )
  const used = sql`UPDATE "takeback_keys" SET "used_at" = ${clock} WHERE ${isThis}`
  return {
    make: makeStep(dialect),
    byDigest: read(sql`k."digest" = ${param('$digest')} AND ${isAlive}`),
    alive: read(sql`${isIt} AND ${isAlive}`),
    byId: read(isIt),
    list: read(sql`${isOwned} AND ${page}`),
    listAll: read(sql`k."ended_at" IS NULL AND ${page}`),
    change: [
      step(
        dialect,
        'ended',
        'some',
        sql`UPDATE "takeback_keys" SET "name" = ${param('$name')}, "can" = ${param('$can')}, "limits" = ${param('$limits')},
          "agent" = ${param('$agent', 'integer')}, "expires_at" = ${expires} WHERE ${isThis} AND "ended_at" IS NULL`,
      ),
    ],
    end: end(sql`"id" = ${param('$key', 'integer')}`),
    endAll: end(sql`"entity" = ${param('$keys_entity')} AND "entity_id" = ${param('$keys_of', 'integer')}`),
    recordUse: [step(dialect, 'see', 'any', used)],
  }
}

/** The step that inserts a key. It is refused if the user has too many. */
function makeStep(dialect: Dialect): Step {
  return step(
    dialect,
    'many',
    'some',
    sql`INSERT INTO "takeback_keys" ("entity", "entity_id", "name", "digest", "can", "limits", "agent", "created_at", "expires_at")
      SELECT ${param('$entity')}, ${param('$owner', 'integer')}, ${param('$name')}, ${param('$digest')}, ${param('$can')}, ${param('$limits')},
        ${param('$agent', 'integer')}, ${dialect.clock}, ${expires}
      WHERE (SELECT count(*) FROM "takeback_keys" WHERE ${isOwned}) < ${intLiteral(budget.keysPerUser)} RETURNING "id"`,
  )
}

function keyOf(row: Parameters<typeof columns.read>[0]): AccessKey {
  const { id, entity, owner, name, can, limits, agent, created, expires, used, ended } = columns.read(row)
  const timeOf = (value: typeof expires) => (value === null ? null : new Date(String(value)).toISOString())
  return {
    id: Number(id),
    owner: { entity: String(entity), id: Number(owner) },
    name: String(name),
    can: JSON.parse(String(can)),
    limits: JSON.parse(String(limits)),
    agent: Number(agent) === 1,
    created_at: String(timeOf(created)),
    expires_at: timeOf(expires),
    last_used_at: timeOf(used),
    ended_at: timeOf(ended),
  }
}

function ownerParams({ entity, id }: AccountId): Params {
  return { $entity: entity, $owner: id }
}

function termParams({ name, expires_at, can, limits, agent }: KeyTerms): Params {
  return {
    $name: name,
    $expires: expires_at,
    $can: JSON.stringify(can),
    $limits: JSON.stringify(limits),
    $agent: agent ? 1 : 0,
  }
}
