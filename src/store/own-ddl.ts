import type { Ddl } from './migration/structure.ts'
import { columnsIn, FORMAT, ownTables, tablesIn } from './own.ts'
import type { OwnColumn, OwnIndex, OwnTable } from './own-table.ts'
import { id, join, type Sql, sql } from './sql.ts'

/** Creates the tables of a format. */
export function createOwnTables(ddl: Ddl, format = FORMAT): Sql[] {
  return [
    ddl.meta,
    ...ddl.extra,
    ...tablesIn(format).flatMap((table) => createWithIndexes(ddl, table, format)),
  ]
}

/** Upgrades the tables of an older format to the current one. */
export function upgradeOwnTables(ddl: Ddl, from: number): Sql[] {
  return ownTables.flatMap((table) => {
    if ((table.since ?? 1) > from)
      return [
        ...createWithIndexes(ddl, table, FORMAT),
        ...(table.upgrade === undefined ? [] : [table.upgrade]),
      ]
    if ((table.rekeyed ?? 1) > from) return makeAnew(ddl, table, from)
    const columns = table.columns.filter(({ since = 1 }) => since > from)
    return [
      ...columns.map(
        (column) => sql`ALTER TABLE ${id(table.name)} ADD COLUMN ${describeOwnColumn(ddl, column)}`,
      ),
      ...(table.indexes ?? []).flatMap((index) => upgradeIndex(ddl, table, index, from)),
    ]
  })
}

function upgradeIndex(ddl: Ddl, table: OwnTable, index: OwnIndex, from: number): Sql[] {
  const before = indexIn(ddl, table, index, from)
  const after = indexIn(ddl, table, index, FORMAT)
  if (after === undefined || Bun.deepEquals(before, after)) return []
  const drop = sql`DROP INDEX ${id(ownIndexName(table, index))}`
  return [...(before === undefined ? [] : [drop]), createIndex(table, after)]
}

function createWithIndexes(ddl: Ddl, table: OwnTable, format: number): Sql[] {
  const indexes = (table.indexes ?? []).flatMap((index) => indexIn(ddl, table, index, format) ?? [])
  return [
    createOwnTable(ddl, table, table.name, format),
    ...indexes.map((index) => createIndex(table, index)),
  ]
}

/** An index as it is in a format; undefined if the format does not have it. */
function indexIn(
  { numberInIndexes }: Ddl,
  { numbered, key }: OwnTable,
  { since = 1, was, ...index }: OwnIndex,
  format: number,
): OwnIndex | undefined {
  const over = since <= format ? index.columns : was
  if (over === undefined) return undefined
  const isImplied = numbered && numberInIndexes && over.at(-1) === key[0]
  return { ...index, columns: isImplied ? over.slice(0, -1) : over }
}

function createOwnTable(ddl: Ddl, table: OwnTable, name: string, format: number): Sql {
  const columns = columnsIn(table, format)
  const [first] = table.key
  const described = columns.map((column) =>
    table.numbered && column.name === first ? ddl.numbered(column.name) : describeOwnColumn(ddl, column),
  )
  const key = table.numbered ? [] : [sql`PRIMARY KEY (${join(table.key.map(id))})`]
  const options = table.numbered || table.wide ? ddl.tableOptions : ddl.keyedOptions
  return sql`CREATE TABLE ${id(name)} (${join([...described, ...key])})${options}`
}

function createIndex(table: OwnTable, index: OwnIndex): Sql {
  const kind = index.unique ? sql`UNIQUE INDEX` : sql`INDEX`
  const picked = index.with === undefined ? sql`` : sql` WHERE ${id(index.with)} IS NOT NULL`
  return sql`CREATE ${kind} ${id(ownIndexName(table, index))} ON ${id(table.name)} (${join(index.columns.map(id))})${picked}`
}

function ownIndexName(table: OwnTable, { name }: OwnIndex): string {
  return `${table.name}:${name}`
}

/** Creates a table again, first under another name: some databases keep constraint names when a table is renamed. */
function makeAnew(ddl: Ddl, table: OwnTable, from: number): Sql[] {
  const fresh = `${table.name}_rekeyed`
  const kept = join(columnsIn(table, from).map(({ name }) => id(name)))
  return [
    createOwnTable(ddl, table, fresh, FORMAT),
    sql`INSERT INTO ${id(fresh)} (${kept}) SELECT ${kept} FROM ${id(table.name)}`,
    sql`DROP TABLE ${id(table.name)}`,
    sql`ALTER TABLE ${id(fresh)} RENAME TO ${id(table.name)}`,
    ...(table.indexes ?? [])
      .flatMap((index) => indexIn(ddl, table, index, FORMAT) ?? [])
      .map((index) => createIndex(table, index)),
  ]
}

function describeOwnColumn(ddl: Ddl, { name, kind, required, since }: OwnColumn): Sql {
  if (required && since !== undefined) throw new Error(`${name} came later: it cannot be required`)
  return sql`${id(name)} ${ddl.type({ name, kind })}${required ? sql` NOT NULL` : sql``}`
}
