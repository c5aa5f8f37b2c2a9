import { SQL } from 'bun'
import type { Booking, Limit, Member, PageQuery } from '../limit-types.ts'

/**
 * Does what Takeback does with the fewest statements, on the same tables and indexes, with the same isolation,
 * durability and number of connections: one statement per request, so one round trip and one commit.
 */
export function openPostgresLimit({ url, pool }: { url: string; pool: number }): Limit {
  const sql = new SQL({ url, max: pool })
  const ask = (text: string, values: readonly unknown[]) =>
    sql.unsafe(text, [...values]).values() as unknown as Promise<unknown[][]>
  const find = (text: string, values: readonly unknown[]) =>
    ask(text, values).then(([row]) => row?.[0] as string | undefined)
  const write = (text: string) => (id: number) =>
    find(text, [Bun.randomUUIDv7(), new Date().toISOString(), id])
  return {
    read: (id) => find(READ, [id]),
    list: () => ask(LIST, [1]).then(listOf),
    async create(booking) {
      const { values, content } = newOf(booking, new Date().toISOString())
      const id = await find(CREATE, values)
      return id === undefined ? undefined : `{"id":${id}${content}`
    },
    remove: write(REMOVE),
    restore: write(RESTORE),
    removeCustomer: write(REMOVE_CUSTOMER),
    restoreCustomer: write(RESTORE_CUSTOMER),
    async memberOf(email) {
      const [row] = await ask(MEMBER, [email])
      const [id, hash, json] = row ?? []
      return row === undefined ? undefined : ({ id, hash, json } as Member)
    },
    close: () => sql.close(),
  }
}

/** Runs one query, any number of times. */
export function openPostgresQuery({ url, pool }: { url: string; pool: number }, text: string): PageQuery {
  const sql = new SQL({ url, max: pool })
  // As texts, as Takeback binds them: the database would have to guess other types.
  const bound = (value: string | number | null) => (value === null ? null : String(value))
  return {
    run: (values) => sql.unsafe(text, values.map(bound)).values() as unknown as Promise<unknown[][]>,
    close: () => sql.close(),
  }
}

const time = (column: string) =>
  `coalesce(to_char(t."${column}" AT TIME ZONE 'UTC', '"\\""YYYY-MM-DD"T"HH24:MI:SS.MS"Z\\""'), 'null')`
const text = (column: string) => `coalesce(to_json(t."${column}")::text, 'null')`

/** Returns the SQL of a row's JSON: the fastest of several that make exactly this text. */
function jsonOf(fields: string): string {
  return `'{"id":' || t."id" || ${fields} || ',"version":' || t."version" || ',"created_at":' || ${time('created_at')}
    || ',"updated_at":' || ${time('updated_at')} || ',"deleted_at":' || ${time('deleted_at')} || '}'`
}

const bookingJson = jsonOf(`',"room":{"id":' || t."room.id" || '},"starts_at":' || ${time('starts_at')}
  || ',"guests":' || t."guests" || ',"status":' || ${text('status')} || ',"address":' || CASE WHEN t."address" IS NULL THEN 'null'
  ELSE '{"city":' || ${text('address.city')} || ',"zip":' || ${text('address.zip')} || '}' END`)
const customerJson = jsonOf(`',"name":' || ${text('name')}`)
const orderJson = jsonOf(
  `',"customer":{"id":' || t."customer.id" || '},"title":' || ${text('title')} || ',"amount":' || t."amount"`,
)

const READ = `SELECT ${bookingJson} FROM "bookings" t WHERE t."id" = $1 AND t."deleted_at" IS NULL`

/** JSON of twenty rows is made faster here than there. The driver does not prepare a statement without values. */
const LIST = `SELECT "id", "room.id", "starts_at", "guests", "status", "address", "address.city", "address.zip", "version", "created_at", "updated_at"
  FROM "bookings" WHERE "deleted_at" IS NULL AND $1::int = 1 ORDER BY "id" LIMIT 21`
const PAGE = 20

type BookingRow = [
  id: string,
  room: string,
  startsAt: Date,
  guests: string,
  status: string,
  there: number | null,
  city: string,
  zip: string,
  version: string,
  createdAt: Date,
  updatedAt: Date,
]

function listOf(rows: readonly unknown[][]): string {
  const page = rows.slice(0, PAGE) as BookingRow[]
  const next = rows.length > PAGE ? cursorOf(page.at(-1)?.[0]) : 'null'
  return `{"data":[${page.map(rowJson).join(',')}],"next":${next}}`
}

function rowJson([
  id,
  room,
  startsAt,
  guests,
  status,
  there,
  city,
  zip,
  version,
  createdAt,
  updatedAt,
]: BookingRow): string {
  const address = there === null ? undefined : { city, zip }
  return `{"id":${id}${fieldsJson(room, startsAt.toISOString(), guests, status, address)},"version":${version},"created_at":"${createdAt.toISOString()}","updated_at":"${updatedAt.toISOString()}","deleted_at":null}`
}

function fieldsJson(
  room: number | string,
  startsAt: string,
  guests: number | string,
  status: string,
  address: Booking['address'],
): string {
  return `,"room":{"id":${room}},"starts_at":"${startsAt}","guests":${guests},"status":${JSON.stringify(status)},"address":${address === undefined ? 'null' : `{"city":${JSON.stringify(address.city)},"zip":${JSON.stringify(address.zip)}}`}`
}

function cursorOf(last: string | undefined): string {
  return `"${Buffer.from(`bookings+id [${last}]`).toString('base64url')}"`
}

const JOURNAL = `"takeback_journal" ("operation", "at", "actor", "actor_id", "entity", "entity_id", "version", "kind", "data")`

/** Everywhere, $1 is the operation and $2 the time. The room is locked, so that it cannot be deleted meanwhile. */
const CREATE = `WITH t AS (
  INSERT INTO "bookings" ("room.id", "starts_at", "guests", "status", "address", "address.city", "address.zip", "version", "created_at", "updated_at")
  SELECT $3::bigint, $4::timestamptz, $5::bigint, $6, $7::smallint, $8, $9, 1, $2::timestamptz, $2::timestamptz
  WHERE EXISTS (SELECT 1 FROM "rooms" WHERE "id" = $3::bigint AND "deleted_at" IS NULL FOR SHARE) RETURNING "id")
  INSERT INTO ${JOURNAL} SELECT $1, $2::timestamptz, 'admins', 1, 'bookings', t."id", 1, 'create', '{"id":' || t."id" || $10 FROM t RETURNING "entity_id"`

/** The whole answer except the id is known beforehand, so it is not made from the row. */
function newOf(
  { room, starts_at, guests, status, address }: Booking,
  at: string,
): { values: unknown[]; content: string } {
  const there = address === undefined ? null : 1
  const content = `${fieldsJson(room.id, starts_at, guests, status, address)},"version":1,"created_at":"${at}","updated_at":"${at}","deleted_at":null}`
  const [city, zip] = [address?.city ?? null, address?.zip ?? null]
  return {
    values: [Bun.randomUUIDv7(), at, room.id, starts_at, guests, status, there, city, zip, content],
    content,
  }
}

/** $3 is the id. */
const stamp = `SET "deleted_at" = $2::timestamptz, "deletion" = $1, "version" = "version" + 1, "updated_at" = $2::timestamptz`
const unstamp = `SET "deleted_at" = NULL, "deletion" = NULL, "version" = "version" + 1, "updated_at" = $2::timestamptz`

function journalOf(entity: string, kind: string, json: string, changed: string): string {
  return `INSERT INTO ${JOURNAL} SELECT $1, $2::timestamptz, 'admins', 1, '${entity}', t."id", t."version", '${kind}', ${json} FROM ${changed} t`
}

function bookingChange(kind: string, set: string): string {
  return `WITH b AS (UPDATE "bookings" ${set} RETURNING *) ${journalOf('bookings', kind, bookingJson, 'b')} RETURNING "data"`
}

const REMOVE = bookingChange('delete', `${stamp} WHERE "id" = $3 AND "deleted_at" IS NULL`)
const RESTORE = bookingChange('restore', `${unstamp} WHERE "id" = $3 AND "deleted_at" IS NOT NULL`)

function customerChange(kind: string, set: string, which: string): string {
  return `WITH c AS (UPDATE "customers" ${set} WHERE "id" = $3 RETURNING *),
    o AS (UPDATE "orders" ${set} WHERE "customer.id" = $3 AND ${which} RETURNING *),
    j AS (${journalOf('orders', kind, orderJson, 'o')})
    ${journalOf('customers', kind, customerJson, 'c')} RETURNING "data"`
}

const REMOVE_CUSTOMER = customerChange('delete', stamp, `"deleted_at" IS NULL`)
const RESTORE_CUSTOMER = customerChange(
  'restore',
  unstamp,
  `"deletion" = (SELECT "deletion" FROM "customers" WHERE "id" = $3)`,
)

const MEMBER = `SELECT t."id", t."password", '{"id":' || t."id" || ',"email":' || ${text('email')} || ',"user_type":"admin","name":' || ${text('name')}
  || ',"version":' || t."version" || ',"created_at":' || ${time('created_at')} || ',"updated_at":' || ${time('updated_at')} || ',"deleted_at":null}'
  FROM "admins" t WHERE t."email_key" = $1 AND t."deleted_at" IS NULL`
