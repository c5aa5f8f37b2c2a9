import type { Bound } from '../dialect.ts'
import type { DatabaseSession } from '../migration/structure.ts'
import { searchName } from '../migration/structure.ts'
import { id, intLiteral, join, param, sql } from '../sql.ts'
import type { Table } from '../tables.ts'

const FAULTS_MAX = 100
const ROWS = 1000

/** What SQLite itself finds wrong, and search indexes without the words of their rows: where, and what. */
export async function inspect(
  session: DatabaseSession,
  tables: readonly Table[],
): Promise<[string, string][]> {
  const found: [string, string][] = []
  for (const [text] of await session.all(sql`PRAGMA integrity_check(${intLiteral(FAULTS_MAX)})`))
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
 * Compares the entries of the search index, each of a word, a row and a column, with those that the rows should have.
 * One sum over all entries needs no order and little memory. Only if the sums differ is each row looked up.
 */
async function inspectSearch(
  session: DatabaseSession,
  table: string,
  columns: readonly string[],
): Promise<[string, string][]> {
  const name = searchName(table, columns)
  let wanted = 0n
  for await (const [row, words] of wordsInRows(session, table, columns))
    wanted +=
      BigInt(words.reduce((sum, one) => sum + weighWord(one) * (row % PRIME), 0)) + BigInt(words.length)
  if ((await sumOf(session, name)) === wanted) return []
  const found: [string, string][] = []
  for await (const [row, words] of wordsInRows(session, table, columns))
    if (found.length < FAULTS_MAX && words.length > 0 && !(await isFound(session, name, row, words)))
      found.push([`${table}/${row}`, 'is not found by its search words'])
  return found.length > 0 ? found : [[table, 'has entries in its search index that no row has words for']]
}

/** Each row with the distinct words of each column. */
async function* wordsInRows(
  session: DatabaseSession,
  table: string,
  columns: readonly string[],
): AsyncGenerator<[row: number, words: string[]]> {
  const names = join(columns.map(id))
  for (let last = 0; ; ) {
    const rows = await session.all(
      sql`SELECT "id", ${names} FROM ${id(table)} WHERE "id" > ${param('$id')} ORDER BY "id" LIMIT ${intLiteral(ROWS)}`,
      { $id: last },
    )
    for (const [row, ...texts] of rows) yield [Number(row), texts.flatMap(wordsIn)]
    if (rows.length < ROWS) return
    last = Number(rows.at(-1)?.[0])
  }
}

function wordsIn(text: Bound): string[] {
  return [...new Set(String(text ?? '').split(' '))].filter((one) => one !== '')
}

/** Small enough for sums of products to stay within 64 bits. */
const PRIME = 65_521

/** The weight of a word, as `sumOf` computes it. */
function weighWord(text: string): number {
  const characters = [...text]
  const [first = 0, last = 0] = [characters[0]?.codePointAt(0), characters.at(-1)?.codePointAt(0)]
  return (first + 31 * characters.length + 7 * last) % PRIME
}

async function sumOf(session: DatabaseSession, name: string): Promise<bigint> {
  const entries = sql`temp."takeback_entries"`
  await session.run(sql`CREATE VIRTUAL TABLE ${entries} USING fts5vocab('main', ${id(name)}, 'instance')`)
  try {
    const weight = sql`((unicode("term") + 31 * length("term") + 7 * unicode(substr("term", -1))) % ${intLiteral(PRIME)})`
    const [row] = await session.all(
      sql`SELECT CAST(coalesce(sum(${weight} * ("doc" % ${intLiteral(PRIME)}) + 1), 0) AS TEXT) FROM ${entries}`,
    )
    return BigInt(String(row?.[0]))
  } finally {
    await session.run(sql`DROP TABLE ${entries}`)
  }
}

async function isFound(
  session: DatabaseSession,
  name: string,
  row: number,
  words: readonly string[],
): Promise<boolean> {
  // SQLite does not accept longer queries.
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
