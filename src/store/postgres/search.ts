import { id, join, type Sql, sql } from '../sql.ts'

/** All words of a row, unchanged by any parser or dictionary. The index and the query must write this alike. */
function rowWords(columns: readonly string[], of: (column: string) => Sql): Sql {
  const vectors = columns.map(
    (column) => sql`coalesce(array_to_tsvector(string_to_array(btrim(${of(column)}), '  ')), ''::tsvector)`,
  )
  return sql`(${join(vectors, sql` || `)})`
}

export function makeSearch(table: string, name: string, columns: readonly string[]): Sql[] {
  return [sql`CREATE INDEX ${id(name)} ON ${id(table)} USING gin (${rowWords(columns, id)})`]
}

export function dropSearch(name: string): Sql[] {
  return [sql`DROP INDEX ${id(name)}`]
}

/** Rows in which all words of a query are found. */
export function found(columns: readonly string[], query: Sql): Sql {
  return sql`${rowWords(columns, (column) => sql`t.${id(column)}`)} @@ (${query})::tsquery`
}

/** The text of a query. Words contain no quotes. */
export function queryOf(words: readonly string[]): string {
  return `${words.map((word) => `'${word}'`).join(' & ')}:*`
}
