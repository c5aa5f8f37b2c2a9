import { Database } from 'bun:sqlite'
import { checkpointWhenLarge } from '../../src/store/sqlite/open.ts'
import { pragmas } from '../../src/store/sqlite/pragmas.ts'
import type { Booking, Limit, Member, PageQuery } from '../limit-types.ts'

const journalColumns = `"takeback_journal" ("operation", "at", "actor", "actor_id", "entity", "entity_id", "version", "kind", "data")`

/** Returns the SQL of a row's JSON. `fresh` has the values that a later update will set. */
function jsonOf(fields: string, fresh?: { version: string; at: string; deleted: string }): string {
  const { version, at, deleted } = fresh ?? {
    version: 't."version"',
    at: 't."updated_at"',
    deleted: 't."deleted_at"',
  }
  return `json_object('id', t."id", ${fields}, 'version', ${version}, 'created_at', t."created_at", 'updated_at', ${at}, 'deleted_at', ${deleted})`
}

const bookingFields = `'room', json_object('id', t."room.id"), 'starts_at', t."starts_at", 'guests', t."guests", 'status', t."status",
  'address', CASE WHEN t."address" IS NOT NULL THEN json_object('city', t."address.city", 'zip', t."address.zip") END`
const customerFields = `'name', t."name"`
const orderFields = `'customer', json_object('id', t."customer.id"), 'title', t."title", 'amount', t."amount"`

type Text = { json: string }
type Written = [operation: string, at: string, id: number]

/** In all statements, ?1 is the operation, ?2 the time and ?3 the id. */
const stamp = `SET "deleted_at" = ?2, "deletion" = ?1, "version" = "version" + 1, "updated_at" = ?2`
const unstamp = `SET "deleted_at" = NULL, "deletion" = NULL, "version" = "version" + 1, "updated_at" = ?2`

function journalOf(
  entity: string,
  kind: string,
  json: string,
  source: string,
  version = 't."version"',
): string {
  return `INSERT INTO ${journalColumns} SELECT ?1, ?2, 'admins', 1, '${entity}', t."id", ${version}, '${kind}', ${json} FROM ${source}`
}

/** Does what Takeback does with the fewest statements, on the same tables, indexes and pragmas. */
export function openSqliteLimit(path: string): Limit {
  const database = new Database(path, { readwrite: true, strict: true })
  for (const pragma of pragmas) database.run(`PRAGMA ${pragma}`)
  const write = writerOf(database, path)
  const { create, createBlind, remove, restore } = bookingsOf(database)
  const { removeCustomer, restoreCustomer } = cascadeOf(database)
  const change = (run: (id: number, operation: string, at: string) => string | undefined) => (id: number) =>
    write((operation, at) => run(id, operation, at))
  return {
    ...readsOf(database),
    create: (booking) => write((operation, at) => create(booking, operation, at)),
    createBlind: (booking) => write((operation, at) => createBlind(booking, operation, at)),
    remove: change(remove),
    restore: change(restore),
    removeCustomer: change(removeCustomer),
    restoreCustomer: change(restoreCustomer),
    ...loginOf(database),
    close: () => database.close(),
  }
}

/** Runs one query, any number of times. */
export function openSqliteQuery(path: string, text: string): PageQuery {
  const database = new Database(path, { readwrite: true, strict: true })
  for (const pragma of pragmas) database.run(`PRAGMA ${pragma}`)
  const prepared = database.prepare(text)
  return { run: (values) => prepared.values(...values), close: () => database.close() }
}

type Write = (operation: string, at: string) => string | undefined

interface Waiting {
  readonly run: Write
  answer(body: string | undefined): void
}

/** Writes of one turn of the event loop share one commit, and so one fsync. */
function writerOf(database: Database, path: string): (run: Write) => Promise<string | undefined> {
  let queue: Waiting[] = []
  let commits = 0

  function commit(): void {
    const group = queue
    queue = []
    const at = new Date().toISOString()
    database.run('BEGIN IMMEDIATE')
    const bodies = group.map(({ run }) => run(Bun.randomUUIDv7(), at))
    database.run('COMMIT')
    if (++commits % 64 === 0) checkpointWhenLarge(database, path)
    for (const [index, { answer }] of group.entries()) answer(bodies[index])
  }

  return (run) =>
    new Promise((answer) => {
      if (queue.push({ run, answer }) === 1) setImmediate(commit)
    })
}

/**
 * A write is three plain statements: the change, the row as it is then, the journal. They are faster than one with
 * RETURNING, and reading a text and binding it again is faster than making and inserting it in one statement.
 */
function bookingsOf(database: Database) {
  const insert = database.prepare(
    `INSERT INTO "bookings" ("room.id", "starts_at", "guests", "status", "address", "address.city", "address.zip", "version", "created_at", "updated_at")
      SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8, ?8 WHERE EXISTS (SELECT 1 FROM "rooms" WHERE "id" = ?1 AND "deleted_at" IS NULL)`,
  )
  const remove = database.prepare<never, Written>(
    `UPDATE "bookings" ${stamp} WHERE "id" = ?3 AND "deleted_at" IS NULL`,
  )
  const restore = database.prepare<never, [string, number]>(
    `UPDATE "bookings" ${unstamp.replaceAll('?2', '?1')} WHERE "id" = ?2 AND "deleted_at" IS NOT NULL`,
  )
  const state = database.prepare<{ version: number; json: string }, [number | bigint]>(
    `SELECT t."version", ${jsonOf(bookingFields)} AS json FROM "bookings" t WHERE t."id" = ?1`,
  )
  const note = database.prepare<never, [string, string, number | bigint, number, string, string]>(
    `INSERT INTO ${journalColumns} VALUES (?1, ?2, 'admins', 1, 'bookings', ?3, ?4, ?5, ?6)`,
  )
  const journal = (id: number | bigint, kind: string, operation: string, at: string) => {
    const row = state.get(id)
    if (row !== null) note.run(operation, at, id, row.version, kind, row.json)
    return row?.json
  }
  return {
    create({ room, starts_at, guests, status, address }: Booking, operation: string, at: string) {
      const there = address === undefined ? null : 1
      const [city, zip] = [address?.city ?? null, address?.zip ?? null]
      const { changes, lastInsertRowid } = insert.run(
        room.id,
        starts_at,
        guests,
        status,
        there,
        city,
        zip,
        at,
      )
      return changes === 0 ? undefined : journal(lastInsertRowid, 'create', operation, at)
    },
    createBlind(booking: Booking, operation: string, at: string) {
      const { room, starts_at, guests, status, address } = booking
      const [city, zip] = [address?.city ?? null, address?.zip ?? null]
      const values = [room.id, starts_at, guests, status, address && 1, city, zip, at] as const
      const { changes, lastInsertRowid: id } = insert.run(...values.map((one) => one ?? null))
      if (changes === 0) return undefined
      const own = { version: 1, created_at: at, updated_at: at, deleted_at: null }
      const json = JSON.stringify({ id: Number(id), room, starts_at, guests, status, address, ...own })
      note.run(operation, at, id, 1, 'create', json)
      return json
    },
    remove(id: number, operation: string, at: string) {
      remove.run(operation, at, id)
      return journal(id, 'delete', operation, at)
    },
    restore(id: number, operation: string, at: string) {
      restore.run(at, id)
      return journal(id, 'restore', operation, at)
    },
  }
}

function readsOf(database: Database) {
  const read = database.prepare<Text, [number]>(
    `SELECT ${jsonOf(bookingFields)} AS json FROM "bookings" t WHERE t."id" = ?1 AND t."deleted_at" IS NULL`,
  )
  // SQLite compiles a statement again each time that a LIMIT is bound; and one text is faster than twenty.
  const page = database.prepare<{ json: string; last: number }, []>(
    `SELECT group_concat(json) AS json, max("id") AS last FROM (SELECT t."id", ${jsonOf(bookingFields)} AS json
      FROM "bookings" t WHERE t."deleted_at" IS NULL ORDER BY t."id" LIMIT 20)`,
  )
  const more = database.prepare<{ id: number }, [number]>(
    `SELECT "id" FROM "bookings" WHERE "id" > ?1 AND "deleted_at" IS NULL LIMIT 1`,
  )
  return {
    read: (id: number) => read.get(id)?.json,
    list() {
      const found = page.get()
      if (found === null) return undefined
      const next = more.get(found.last) === null ? null : cursorOf(found.last)
      return `{"data":[${found.json}],"next":${next}}`
    },
  }
}

function cursorOf(last: number): string {
  return `"${Buffer.from(`bookings+id [${last}]`).toString('base64url')}"`
}

/** A customer and all of its orders. */
function cascadeOf(database: Database) {
  const back = { version: 't."version" + 1', at: '?2', deleted: 'NULL' }
  const steps = (...texts: readonly string[]) => texts.map((text) => database.prepare<never, Written>(text))
  const removal = steps(
    `UPDATE "customers" ${stamp} WHERE "id" = ?3`,
    `UPDATE "orders" ${stamp} WHERE "customer.id" = ?3 AND "deleted_at" IS NULL`,
    journalOf('customers', 'delete', jsonOf(customerFields), `"customers" t WHERE t."id" = ?3`),
    journalOf(
      'orders',
      'delete',
      jsonOf(orderFields),
      `"orders" t WHERE t."customer.id" = ?3 AND t."deletion" = ?1`,
    ),
  )
  // The journal is written first: afterwards, nothing tells which orders were restored.
  const mine = (table: string, by: string) =>
    `"${table}" t WHERE t."${by}" = ?3 AND t."deletion" = (SELECT "deletion" FROM "customers" WHERE "id" = ?3)`
  const restoration = steps(
    journalOf('orders', 'restore', jsonOf(orderFields, back), mine('orders', 'customer.id'), back.version),
    journalOf('customers', 'restore', jsonOf(customerFields, back), mine('customers', 'id'), back.version),
  )
  const clear = steps(
    `UPDATE "orders" ${unstamp} WHERE "customer.id" = ?3 AND "deletion" = (SELECT "deletion" FROM "customers" WHERE "id" = ?3)`,
    `UPDATE "customers" ${unstamp} WHERE "id" = ?3`,
  )
  const read = database.prepare<Text, [number]>(
    `SELECT ${jsonOf(customerFields)} AS json FROM "customers" t WHERE t."id" = ?1`,
  )
  const run = (all: typeof removal) => (id: number, operation: string, at: string) => {
    for (const step of all) step.run(operation, at, id)
    return read.get(id)?.json
  }
  return { removeCustomer: run(removal), restoreCustomer: run([...restoration, ...clear]) }
}

function loginOf(database: Database) {
  const member = database.prepare<Member, [string]>(
    `SELECT t."id", t."password" AS hash, json_object('id', t."id", 'email', t."email", 'user_type', 'admin', 'name', t."name",
      'version', t."version", 'created_at', t."created_at", 'updated_at', t."updated_at", 'deleted_at', t."deleted_at") AS json
      FROM "admins" t WHERE t."email_key" = ?1 AND t."deleted_at" IS NULL`,
  )
  return { memberOf: (email: string) => member.get(email) ?? undefined }
}
