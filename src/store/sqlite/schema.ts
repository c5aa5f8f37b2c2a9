import type { Database } from 'bun:sqlite'
import type { ColumnKind } from '../../declare/fields/field.ts'
import { StartError } from '../../errors.ts'
import { type Change, FORMAT, type Inspector, indexName, planMigration } from '../migrate.ts'
import type { Bound, Column, Index, Table } from '../store.ts'
import { dialect } from './dialect.ts'
import { meaningOf } from './errors.ts'

/** Takeback's own tables. The journal is only ever appended to; purge blanks its `data`. */
const own = [
  'CREATE TABLE "takeback_meta" ("key" TEXT PRIMARY KEY, "value" TEXT NOT NULL) STRICT, WITHOUT ROWID',
  `CREATE TABLE "takeback_journal" (
    "seq" INTEGER PRIMARY KEY AUTOINCREMENT, "operation" TEXT NOT NULL, "at" TEXT NOT NULL, "actor" TEXT, "actor_id" INTEGER,
    "entity" TEXT NOT NULL, "entity_id" INTEGER NOT NULL, "version" INTEGER NOT NULL, "kind" TEXT NOT NULL, "data" TEXT) STRICT`,
  'CREATE UNIQUE INDEX "takeback_journal:entity" ON "takeback_journal" ("entity", "entity_id", "version")',
  'CREATE INDEX "takeback_journal:operation" ON "takeback_journal" ("operation")',
  `CREATE TABLE "takeback_attempts" (
    "id" TEXT PRIMARY KEY, "at" TEXT NOT NULL, "account" TEXT NOT NULL, "address" TEXT NOT NULL, "outcome" TEXT NOT NULL) STRICT`,
  'CREATE INDEX "takeback_attempts:account" ON "takeback_attempts" ("account", "at")',
  'CREATE INDEX "takeback_attempts:address" ON "takeback_attempts" ("address", "at")',
  'CREATE INDEX "takeback_attempts:at" ON "takeback_attempts" ("at")',
  `CREATE TABLE "takeback_cleared" (
    "operation" TEXT NOT NULL, "entity" TEXT NOT NULL, "entity_id" INTEGER NOT NULL, "column" TEXT NOT NULL,
    "target" INTEGER NOT NULL, PRIMARY KEY ("operation", "entity", "entity_id", "column")) STRICT, WITHOUT ROWID`,
  'CREATE TABLE "takeback_ended_sessions" ("session" TEXT PRIMARY KEY, "until" TEXT NOT NULL) STRICT, WITHOUT ROWID',
]

export function migrate(database: Database, wanted: readonly Table[]): readonly Table[] {
  return database
    .transaction(() => {
      const held = heldTables(database)
      if (held === undefined) for (const statement of own) database.run(statement)
      const { changes, refusals, held: after } = planMigration(held ?? [], wanted, inspector(database))
      if (refusals.length > 0) throw new StartError(misfit(refusals))
      for (const change of changes) apply(database, change)
      remember(database, 'format', String(FORMAT))
      remember(
        database,
        'schema',
        JSON.stringify(after, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
      )
      return after
    })
    .immediate()
}

function inspector(database: Database): Inspector {
  const countOf = (text: string) => Number(database.query(text).values()[0]?.[0])
  return {
    rows(table, object) {
      const there = object === undefined ? '' : ` WHERE ${quote(object)} IS NOT NULL`
      return countOf(`SELECT count(*) FROM ${quote(table)}${there}`)
    },
    empty(table, { name, within }) {
      const there = within === undefined ? '' : ` AND ${quote(within)} IS NOT NULL`
      return countOf(`SELECT count(*) FROM ${quote(table)} WHERE ${quote(name)} IS NULL${there}`)
    },
    dangling: (table, { name, references }) =>
      countOf(`SELECT count(*) FROM ${quote(table)} t JOIN ${quote(references ?? '')} r ON r."id" = t.${quote(name)}
        WHERE t."deleted_at" IS NULL AND r."deleted_at" IS NOT NULL`),
  }
}

function misfit(refusals: readonly string[]): string {
  return `The database does not fit the declaration:\n${refusals.map((one) => `  ${one}`).join('\n')}`
}

/** What the database says that it holds; undefined where it is new. */
function heldTables(database: Database): readonly Table[] | undefined {
  const tables = database.query("SELECT name FROM main.sqlite_schema WHERE type = 'table'").values().flat()
  if (tables.length === 0) return undefined
  if (!tables.includes('takeback_meta'))
    throw new StartError(
      `The database ${database.filename} holds tables that are not Takeback's: name another file.`,
    )
  const format = Number(recall(database, 'format'))
  if (format > FORMAT)
    throw new StartError(
      `The database ${database.filename} was written by a newer Takeback (format ${format}; this one reads ${FORMAT}): update Takeback.`,
    )
  return JSON.parse(recall(database, 'schema') ?? '[]') as Table[]
}

function recall(database: Database, key: string): string | undefined {
  const row = database.query('SELECT value FROM takeback_meta WHERE key = ?1').get(key) as {
    value: string
  } | null
  return row?.value
}

/** Writes only what differs: a start on an unchanged schema writes nothing. */
function remember(database: Database, key: string, value: string): void {
  if (recall(database, key) !== value)
    database
      .query(
        'INSERT INTO takeback_meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2',
      )
      .run(key, value)
}

function apply(database: Database, change: Change): void {
  const { table } = change
  if (change.kind === 'add table') {
    database.run(createTable(table))
    database.run(
      `CREATE INDEX ${quote(`${table.name}:deletion`)} ON ${quote(table.name)} ("deletion") WHERE "deletion" IS NOT NULL`,
    )
    for (const index of table.indexes) addIndex(database, table, index)
  } else if (change.kind === 'add column') {
    // Without a DEFAULT: it would also fill where the object around it is not there, and stay for later rows.
    database.run(`ALTER TABLE ${quote(table.name)} ADD COLUMN ${describe(change.column)}`)
  } else if (change.kind === 'fill column') fillColumn(database, table, change.column)
  else if (change.kind === 'add index') addIndex(database, table, change.index)
  else database.run(`DROP INDEX ${quote(indexName(table, change.index))}`)
}

function fillColumn(database: Database, table: Table, { name, kind, scale = 0, within, fill }: Column): void {
  const there = within === undefined ? '' : ` AND ${quote(within)} IS NOT NULL`
  database.run(
    `UPDATE ${quote(table.name)} SET ${quote(name)} = ${literal(fill === undefined ? null : dialect.encode(kind, scale)(fill))} WHERE ${quote(name)} IS NULL${there}`,
  )
}

function createTable({ name, columns }: Table): string {
  return `CREATE TABLE ${quote(name)} (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT, "version" INTEGER NOT NULL,
    "created_at" TEXT NOT NULL, "updated_at" TEXT NOT NULL, "deleted_at" TEXT, "deletion" TEXT
    ${columns.map((column) => `, ${describe(column)}`).join('')}) STRICT`
}

function addIndex(database: Database, table: Table, index: Index): void {
  const live = index.unique ? ' WHERE "deleted_at" IS NULL' : ''
  const columns = index.columns.map(quote).join(', ')
  try {
    database.run(
      `CREATE ${index.unique ? 'UNIQUE ' : ''}INDEX ${quote(indexName(table, index))} ON ${quote(table.name)} (${columns})${live}`,
    )
  } catch (error) {
    if (meaningOf(error).kind !== 'unique') throw error
    throw new StartError(
      misfit([
        `${table.name}: ${index.columns.join(' and ')} must be unique now, but some ${table.name} have the same: change them first.`,
      ]),
    )
  }
}

const types: Record<ColumnKind, string> = {
  text: 'TEXT',
  integer: 'INTEGER',
  number: 'REAL',
  decimal: 'INTEGER',
  boolean: 'INTEGER',
  date: 'TEXT',
  datetime: 'TEXT',
  json: 'TEXT',
  reference: 'INTEGER',
  presence: 'INTEGER',
}

function describe({ name, kind, references }: Column): string {
  return `${quote(name)} ${types[kind]}${references === undefined ? '' : ` REFERENCES ${quote(references)} ("id")`}`
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function literal(value: Bound): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value ?? 'NULL')
}
