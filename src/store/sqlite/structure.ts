import type { Database } from 'bun:sqlite'
import { statSync } from 'node:fs'
import type { ColumnKind } from '../../declare/fields/field.ts'
import type { Bound, Params } from '../dialect.ts'
import type { DatabaseSession, Ddl, Structure } from '../migration/structure.ts'
import { compile, id, intLiteral, join, quoted, type Sql, sql } from '../sql.ts'
import type { Column } from '../tables.ts'
import { retryWhileBusy } from './busy-retry.ts'
import { dialect, jsonPath, renderDecimal } from './dialect.ts'
import { meaningOf } from './errors.ts'
import { inspect } from './inspect.ts'
import { dropSearch, makeSearch } from './search.ts'
import { bindParams } from './statements.ts'

/** How long to wait for another migration, which may take a while. */
const PATIENCE_MS = 600_000

/** Is told about changes that bypass the Store. */
interface Watch {
  committed(): void
  failed(error: unknown): void
}

const unwatched: Watch = { committed() {}, failed() {} }

export function structureOf(database: Database, watch: Watch = unwatched): Structure {
  const session: DatabaseSession = {
    async all(source, params = {}) {
      const { text, values } = bound(source, params)
      using statement = database.prepare(text)
      return statement.values(...values) as Bound[][]
    },
    async run(source, params = {}) {
      const { text, values } = bound(source, params)
      // An unfinalized statement would keep the connection from closing.
      using statement = database.prepare(text)
      statement.run(...values)
    },
  }
  return {
    place: database.filename,
    dialect,
    ddl,
    transact: (mode, work) => inTransaction(database, watch, mode, () => work(session)),
    async insert(table, columns, rows) {
      const encoders = columns.map(({ kind, scale = 0 }) => dialect.encode(kind, scale))
      const marks = columns.map((_, at) => `?${at + 1}`).join(', ')
      const { text } = compile(
        sql`INSERT INTO ${id(table)} (${join(columns.map(({ name }) => id(name)))}) VALUES `,
        dialect.placeholder,
      )
      using insert = database.prepare(`${text}(${marks})`)
      // The target of a reference may come after the row that refers to it.
      await inTransaction(database, watch, 'rebuild', async () => {
        for (const row of rows)
          insert.run(...row.map((value, at) => (value === null ? null : (encoders[at]?.(value) ?? null))))
      })
    },
    // A copied or restored file has another inode.
    origin: async () => String(statSync(database.filename, { throwIfNoEntry: false })?.ino ?? ''),
    inspect,
    isTaken: (error) => meaningOf(error).kind === 'unique',
  }
}

/** `rebuild`: without foreign keys. */
async function inTransaction<T>(
  database: Database,
  watch: Watch,
  mode: Parameters<Structure['transact']>[0],
  work: () => Promise<T>,
): Promise<T> {
  if (mode === 'rebuild') database.run('PRAGMA foreign_keys = OFF')
  try {
    if (mode === 'read') database.run('BEGIN')
    else await beginAlone(database)
    const result = await work()
    database.run(mode === 'read' ? 'ROLLBACK' : 'COMMIT')
    if (mode !== 'read') watch.committed()
    return result
  } catch (error) {
    watch.failed(error)
    if (database.inTransaction) database.run('ROLLBACK')
    throw error
  } finally {
    database.run('PRAGMA foreign_keys = ON')
  }
}

/** Waits without blocking the process, since the other migration may be in this one. */
async function beginAlone(database: Database): Promise<void> {
  await retryWhileBusy(() => database.run('BEGIN IMMEDIATE'), PATIENCE_MS)
}

function bound(source: Sql, params: Params): { text: string; values: Bound[] } {
  const { text, paramNames } = compile(source, dialect.placeholder)
  return { text, values: bindParams(paramNames, params) }
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

const type = (kind: ColumnKind): Sql => ({ parts: [types[kind]] })

const ddl: Ddl = {
  meta: sql`CREATE TABLE IF NOT EXISTS "takeback_meta" ("key" TEXT PRIMARY KEY, "value" TEXT NOT NULL) STRICT, WITHOUT ROWID`,
  extra: [],
  // Not the internal tables of a search index: they come and go with it.
  tables: sql`SELECT "name" FROM pragma_table_list WHERE "schema" = 'main' AND "type" IN ('table', 'virtual') AND "name" NOT LIKE 'sqlite\\_%' ESCAPE '\\'`,
  numbered: (name) => sql`${id(name)} INTEGER PRIMARY KEY AUTOINCREMENT`,
  numberInIndexes: true,
  tableOptions: sql` STRICT`,
  keyedOptions: sql` STRICT, WITHOUT ROWID`,
  type: ({ kind }) => type(kind),
  referencesLater: false,

  /** A column of a strict table cannot change its type, so its values move to a new column with its name. */
  convert(table, from, to) {
    const moved = id('takeback_moved')
    return [
      sql`ALTER TABLE ${id(table)} ADD COLUMN ${moved} ${type(to.kind)}`,
      sql`UPDATE ${id(table)} SET ${moved} = ${converted(from, to)}`,
      sql`ALTER TABLE ${id(table)} DROP COLUMN ${id(to.name)}`,
      sql`ALTER TABLE ${id(table)} RENAME COLUMN ${moved} TO ${id(to.name)}`,
    ]
  },

  dropColumn: (table, { name }) => [sql`ALTER TABLE ${id(table.name)} DROP COLUMN ${id(name)}`],
  withReferences: sql``,
  keepLinks({ table, column, links, member }) {
    const { rows, target, place } = dialect.members(sql`NEW.${id(column)}`, member)
    const put = sql`INSERT INTO ${id(links)} ("source", "target", "place") SELECT NEW."id", ${target}, ${place} FROM ${rows};`
    return [
      sql`CREATE TRIGGER ${id(`${links}:insert`)} AFTER INSERT ON ${id(table)} WHEN NEW.${id(column)} IS NOT NULL BEGIN ${put} END`,
      sql`CREATE TRIGGER ${id(`${links}:update`)} AFTER UPDATE OF ${id(column)} ON ${id(table)} WHEN NEW.${id(column)} IS NOT OLD.${id(column)}
        BEGIN DELETE FROM ${id(links)} WHERE "source" = NEW."id"; ${put} END`,
      // The foreign key would suffice, but not every tool enforces it.
      sql`CREATE TRIGGER ${id(`${links}:delete`)} AFTER DELETE ON ${id(table)} BEGIN DELETE FROM ${id(links)} WHERE "source" = OLD."id"; END`,
    ]
  },
  releaseLinks: ({ links }) =>
    ['insert', 'update', 'delete'].map((event) => sql`DROP TRIGGER ${id(`${links}:${event}`)}`),
  holdWriters: () => [],
  nulls: () => sql``,
  makeSearch,
  dropSearch,
  renamesIndexes: false,

  renameKey(from, to) {
    const value = sql`json("data" -> ${jsonPath(from)})`
    return {
      set: sql`json_set(json_remove("data", ${jsonPath(from)}), ${jsonPath(to)}, ${value})`,
      where: sql`json_type("data", ${jsonPath(from)}) IS NOT NULL`,
    }
  },
  dropKey: (path) => ({
    set: sql`json_remove("data", ${jsonPath(path)})`,
    where: sql`json_type("data", ${jsonPath(path)}) IS NOT NULL`,
  }),

  lastGiven: (table) => sql`SELECT "seq" FROM "sqlite_sequence" WHERE "name" = ${quoted(table)}`,
  giveAfter: (table, _column, last) => [
    sql`DELETE FROM "sqlite_sequence" WHERE "name" = ${quoted(table)}`,
    sql`INSERT INTO "sqlite_sequence" ("name", "seq") VALUES (${quoted(table)}, ${intLiteral(last)})`,
  ],
}

function converted(from: Column, to: Column): Sql {
  const column = id(from.name)
  if (to.kind === 'number') return sql`CAST(${column} AS REAL)`
  if (to.kind === 'decimal') {
    const digits = (to.scale ?? 0) - (from.kind === 'decimal' ? (from.scale ?? 0) : 0)
    return sql`${column} * ${intLiteral(10 ** digits)}`
  }
  return from.kind === 'decimal' ? renderDecimal(column, from.scale ?? 0) : sql`CAST(${column} AS TEXT)`
}
