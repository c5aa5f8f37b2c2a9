import { id, join, type Sql, sql } from '../sql.ts'

/**
 * Creates an FTS5 table of the words in a table; triggers maintain it. The words are already split, and consist of
 * ASCII letters and digits or of non-ASCII characters, so the `ascii` tokenizer leaves them whole. Deleted entries are
 * removed from the file, not just marked. With `detail = none`, the index would be smaller, but SQLite 3.53 loses entries
 * when it removes others this way.
 */
export function makeSearch(table: string, name: string, columns: readonly string[]): Sql[] {
  const fts = id(name)
  const names = join(columns.map(id))
  const content = rawSql(table.replaceAll("'", "''"))
  const of = (row: Sql) => join(columns.map((column) => sql`${row}.${id(column)}`))
  const add = sql`INSERT INTO ${fts} (rowid, ${names}) VALUES (new."id", ${of(sql`new`)});`
  const remove = sql`INSERT INTO ${fts} (${fts}, rowid, ${names}) VALUES ('delete', old."id", ${of(sql`old`)});`
  const trigger = (on: string, event: Sql, work: Sql) =>
    sql`CREATE TRIGGER ${id(`${name}:${on}`)} AFTER ${event} ON ${id(table)} BEGIN ${work} END`
  return [
    sql`CREATE VIRTUAL TABLE ${fts} USING fts5(${names}, content = '${content}', content_rowid = 'id', tokenize = 'ascii', detail = column, columnsize = 0)`,
    sql`INSERT INTO ${fts} (${fts}, rank) VALUES ('secure-delete', 1)`,
    sql`INSERT INTO ${fts} (${fts}) VALUES ('rebuild')`,
    trigger('insert', sql`INSERT`, add),
    trigger('delete', sql`DELETE`, remove),
    trigger('update', sql`UPDATE OF ${names}`, sql`${remove} ${add}`),
  ]
}

export function dropSearch(name: string): Sql[] {
  const triggers = ['insert', 'delete', 'update'].map(
    (on) => sql`DROP TRIGGER IF EXISTS ${id(`${name}:${on}`)}`,
  )
  return [...triggers, sql`DROP TABLE ${id(name)}`]
}

/** The ids of rows in which all words of a query are found. */
export function found(name: string, query: Sql): Sql {
  return sql`t."id" IN (SELECT rowid FROM ${id(name)} WHERE ${id(name)} MATCH ${query})`
}

/** The text of a query. Words contain no quotes. */
export function queryOf(words: readonly string[]): string {
  return `${words.map((word) => `"${word}"`).join(' AND ')}*`
}

function rawSql(value: string): Sql {
  return { parts: [value] }
}
