import type { Session } from '../migration/structure.ts'
import { searchName } from '../migration/structure.ts'
import { count, id, param, type Sql, sql } from '../sql.ts'
import type { Table } from '../tables.ts'

const FAULTS_MAX = 100
const ROWS = 1000

/** What SQLite itself finds wrong, and searches that do not have the words of their rows: where, and what. */
export async function inspect(session: Session, tables: readonly Table[]): Promise<[string, string][]> {
  const found: [string, string][] = []
  for (const [text] of await session.all(sql`PRAGMA integrity_check(${count(FAULTS_MAX)})`))
    if (text !== 'ok') found.push(['the file', String(text)])
  const dangling = await session.all(sql`PRAGMA foreign_key_check`)
  for (const [table, row, target] of dangling.slice(0, FAULTS_MAX))
    found.push([`${table}/${row ?? '?'}`, `refers to a row of ${target} that is not there`])
  for (const table of tables)
    for (const { columns, search } of table.indexes)
      if (search) found.push(...(await inspectSearch(session, table.name, columns)))
  return found
}

/**
 * Each row is looked for by all of its words. What the index has besides is found by comparing how many entries there are
 * in all: pairs of a word and a row.
 */
async function inspectSearch(
  session: Session,
  table: string,
  columns: readonly string[],
): Promise<[string, string][]> {
  const name = searchName(table, columns)
  const found: [string, string][] = []
  let expected = 0
  const texts = columns.map((column): Sql => sql`coalesce(${id(column)}, '')`)
  const all = texts.reduce((left, right) => sql`${left} || ' ' || ${right}`)
  for (let last = 0; ; ) {
    const rows = await session.all(
      sql`SELECT "id", ${all} FROM ${id(table)} WHERE "id" > ${param('$id')} ORDER BY "id" LIMIT ${count(ROWS)}`,
      { $id: last },
    )
    for (const [row, text] of rows) {
      const words = [
        ...new Set(
          String(text)
            .split(' ')
            .filter((one) => one !== ''),
        ),
      ]
      expected += words.length
      if (
        words.length > 0 &&
        found.length < FAULTS_MAX &&
        !(await isFound(session, name, Number(row), words))
      )
        found.push([`${table}/${row}`, 'is not found by its search words'])
    }
    if (rows.length < ROWS) break
    last = Number(rows.at(-1)?.[0])
  }
  const entries = await countEntries(session, name)
  if (found.length === 0 && entries !== expected)
    found.push([table, `has ${entries} entries in its search index, but words for ${expected}`])
  return found
}

async function isFound(
  session: Session,
  name: string,
  row: number,
  words: readonly string[],
): Promise<boolean> {
  // More would be a query that SQLite takes no more; the count of all entries tells the rest.
  const query = words
    .slice(0, 100)
    .map((word) => `"${word}"`)
    .join(' AND ')
  const [found] = await session.all(
    sql`SELECT 1 FROM ${id(name)} WHERE ${id(name)} MATCH ${param('$query')} AND rowid = ${param('$id')}`,
    { $query: query, $id: row },
  )
  return found !== undefined
}

/** A word that stands in two columns of a row is one entry. */
async function countEntries(session: Session, name: string): Promise<number> {
  const vocabulary = sql`temp."takeback_vocabulary"`
  await session.run(sql`CREATE VIRTUAL TABLE ${vocabulary} USING fts5vocab('main', ${id(name)}, 'row')`)
  try {
    const [row] = await session.all(sql`SELECT coalesce(sum("doc"), 0) FROM ${vocabulary}`)
    return Number(row?.[0])
  } finally {
    await session.run(sql`DROP TABLE ${vocabulary}`)
  }
}
