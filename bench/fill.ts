export const ROOMS = 100
/** All companies have the same number of visits. */
export const COMPANIES = 400

export interface Rows {
  readonly bookings?: number
  readonly orders?: number
  readonly visits?: number
}

interface Filled {
  readonly entity: string
  readonly rows: number
  /** The SQL of each column's value, made from the row's number `i`. */
  readonly columns: Readonly<Record<string, string>>
  /** The SQL of the part of the journal's JSON between the id and the version. */
  readonly json: string
}

/** Returns statements that insert rows and their journal, in SQL that every database accepts. */
export function fillOf({ bookings = 0, orders = 0, visits = 0 }: Rows): string[] {
  return [...contents(bookings, orders), ...visitsOf(visits)].flatMap((one) =>
    one.rows > 0 ? fillOne(one) : [],
  )
}

const STARTS_AT = '2027-01-01T15:00:00.000Z'

function contents(bookings: number, orders: number): Filled[] {
  return [
    {
      entity: 'rooms',
      rows: ROOMS,
      columns: { title: `'Room ' || i` },
      json: `'"title":"' || t."title" || '"'`,
    },
    {
      entity: 'bookings',
      rows: bookings,
      columns: {
        'room.id': `1 + i % ${ROOMS}`,
        starts_at: `'${STARTS_AT}'`,
        guests: '1 + i % 20',
        status: `CASE i % 3 WHEN 0 THEN 'open' WHEN 1 THEN 'held' ELSE 'paid' END`,
        address: '1',
        'address.city': `'Berlin'`,
        'address.zip': 'substr(CAST(100000 + i % 100000 AS text), 2)',
      },
      json: `'"room":{"id":' || t."room.id" || '},"starts_at":"${STARTS_AT}","guests":' || t."guests" || ',"status":"' || t."status"
        || '","address":{"city":"' || t."address.city" || '","zip":"' || t."address.zip" || '"}'`,
    },
    {
      entity: 'customers',
      rows: orders > 0 ? 1 : 0,
      columns: { name: `'Ada'` },
      json: `'"name":"' || t."name" || '"'`,
    },
    {
      entity: 'orders',
      rows: orders,
      columns: { 'customer.id': '1', title: `'Order ' || i`, amount: 'i % 1000' },
      json: `'"customer":{"id":' || t."customer.id" || '},"title":"' || t."title" || '","amount":' || t."amount"`,
    },
  ]
}

function visitsOf(rows: number): Filled[] {
  return [
    {
      entity: 'companies',
      rows: rows > 0 ? COMPANIES : 0,
      columns: { name: `'Company ' || i` },
      json: `'"name":"' || t."name" || '"'`,
    },
    {
      entity: 'visits',
      rows,
      columns: {
        'company.id': `1 + i % ${COMPANIES}`,
        'room.id': `1 + i / ${COMPANIES} % ${ROOMS}`,
        status: `CASE i / ${COMPANIES} % 3 WHEN 0 THEN 'open' WHEN 1 THEN 'held' ELSE 'paid' END`,
        guests: `1 + i / ${COMPANIES} % 20`,
        price: `i / ${COMPANIES} * 37 % 10000`,
      },
      json: `'"company":{"id":' || t."company.id" || '},"room":{"id":' || t."room.id" || '},"status":"' || t."status"
        || '","guests":' || t."guests" || ',"price":' || t."price"`,
    },
  ]
}

function fillOne({ entity, rows, columns, json }: Filled): string[] {
  const at = new Date().toISOString()
  const names = Object.keys(columns).map((name) => `"${name}"`)
  // Operation ids grow with time, like UUIDv7: random ones would make an index that no real database has.
  const operation = Bun.randomUUIDv7().slice(0, 24)
  return [
    `INSERT INTO "${entity}" ("version", "created_at", "updated_at", ${names.join(', ')})
      WITH RECURSIVE counted(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < ${rows})
      SELECT 1, '${at}', '${at}', ${Object.values(columns).join(', ')} FROM counted`,
    `INSERT INTO "takeback_journal" ("operation", "at", "actor", "actor_id", "entity", "entity_id", "version", "kind", "data")
      SELECT '${operation}' || substr(CAST(1000000000000 + t."id" AS text), 2), '${at}', 'admins', 1, '${entity}', t."id", 1, 'create',
        '{"id":' || t."id" || ',' || ${json} || ',"version":1,"created_at":"${at}","updated_at":"${at}","deleted_at":null}'
      FROM "${entity}" t ORDER BY t."id"`,
  ]
}
