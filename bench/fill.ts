import { Database } from 'bun:sqlite'

export const ROOMS = 100

interface Filled {
  readonly entity: string
  readonly rows: number
  /** Column and value, made from the row's number `i`. */
  readonly columns: Readonly<Record<string, string>>
  /** What stands in the journal between the id and the version. */
  readonly json: string
}

/** Puts rows and their journal into a database that no server has open, far faster than any server could. */
export function fill(
  path: string,
  { bookings = 0, orders = 0 }: { bookings?: number; orders?: number },
): void {
  const database = new Database(path, { readwrite: true, strict: true })
  // Nothing here needs to survive a power cut. The server sets its own pragmas anew.
  for (const pragma of ['journal_mode = OFF', 'synchronous = OFF', 'cache_size = -200000'])
    database.run(`PRAGMA ${pragma}`)
  database.transaction(() => {
    for (const one of contents(bookings, orders)) if (one.rows > 0) fillOne(database, one)
  })()
  database.close()
}

function contents(bookings: number, orders: number): Filled[] {
  return [
    {
      entity: 'rooms',
      rows: ROOMS,
      columns: { title: `'Room ' || i` },
      json: `'title', t."title"`,
    },
    {
      entity: 'bookings',
      rows: bookings,
      columns: {
        'room.id': `1 + i % ${ROOMS}`,
        starts_at: `'2027-01-01T15:00:00.000Z'`,
        guests: '1 + i % 20',
        status: `CASE i % 3 WHEN 0 THEN 'open' WHEN 1 THEN 'held' ELSE 'paid' END`,
        address: '1',
        'address.city': `'Berlin'`,
        'address.zip': `printf('%05d', i % 100000)`,
      },
      json: `'room', json_object('id', t."room.id"), 'starts_at', t."starts_at", 'guests', t."guests", 'status', t."status",
        'address', json_object('city', t."address.city", 'zip', t."address.zip")`,
    },
    { entity: 'customers', rows: orders > 0 ? 1 : 0, columns: { name: `'Ada'` }, json: `'name', t."name"` },
    {
      entity: 'orders',
      rows: orders,
      columns: { 'customer.id': '1', title: `'Order ' || i`, amount: 'i % 1000' },
      json: `'customer', json_object('id', t."customer.id"), 'title', t."title", 'amount', t."amount"`,
    },
  ]
}

function fillOne(database: Database, { entity, rows, columns, json }: Filled): void {
  const at = `'${new Date().toISOString()}'`
  const names = Object.keys(columns).map((name) => `"${name}"`)
  database.run(
    `INSERT INTO "${entity}" ("version", "created_at", "updated_at", ${names.join(', ')})
      WITH RECURSIVE counted(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < ${rows})
      SELECT 1, ${at}, ${at}, ${Object.values(columns).join(', ')} FROM counted`,
  )
  // Operations that grow with time, as UUIDv7 do: random ones would make an index that no real database has.
  const operation = Bun.randomUUIDv7().slice(0, 24)
  database.run(
    `INSERT INTO "takeback_journal" ("operation", "at", "actor", "actor_id", "entity", "entity_id", "version", "kind", "data")
      SELECT printf('${operation}%012x', t."id"), ${at}, 'admins', 1, '${entity}', t."id", 1, 'create',
        json_object('id', t."id", ${json}, 'version', 1, 'created_at', ${at}, 'updated_at', ${at}, 'deleted_at', NULL)
      FROM "${entity}" t`,
  )
}

export interface Counts {
  readonly bookings: number
  readonly journal: number
}

/** How many rows there are, beside a running server. */
export function countRows(path: string): Counts {
  const database = new Database(path, { readonly: true })
  try {
    const count = (table: string) =>
      database.query<{ n: number }, []>(`SELECT count(*) AS n FROM "${table}"`).get()?.n ?? 0
    return { bookings: count('bookings'), journal: count('takeback_journal') }
  } finally {
    database.close()
  }
}
