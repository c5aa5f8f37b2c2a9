import { PageSize } from '../page-size.ts'
import { id, intLiteral, param, sql } from '../sql.ts'
import type { Column, Table } from '../tables.ts'
import type { DatabaseSession, Structure } from './structure.ts'

/** Fills the words of all existing texts, deleted rows included, a page at a time. */
export async function fillWords(
  { structure: { dialect }, session }: { readonly structure: Structure; readonly session: DatabaseSession },
  table: Table,
  { name, words }: Column,
): Promise<void> {
  if (words?.cut === undefined) return
  const source = id(words.of)
  const made = dialect.rows('$rows', [
    { name: 'id', kind: 'integer' },
    { name: 'words', kind: 'text' },
  ])
  const write = sql`UPDATE ${id(table.name)} AS t SET ${id(name)} = v."words" FROM ${made} v WHERE v."id" = t."id"`
  await session.run(
    sql`UPDATE ${id(table.name)} SET ${id(name)} = NULL WHERE ${source} IS NULL AND ${id(name)} IS NOT NULL`,
  )
  let last = 0
  for (const size = new PageSize(); ; ) {
    const page = await session.all(
      sql`SELECT "id", ${source} FROM ${id(table.name)} WHERE "id" > ${param('$id')} AND ${source} IS NOT NULL ORDER BY "id" LIMIT ${intLiteral(size.rows)}`,
      { $id: last },
    )
    if (page.length === 0) return
    const rows = page.map(([row, text]) => [Number(row), words.cut?.(String(text))])
    await session.run(write, { $rows: JSON.stringify(rows) })
    last = Number(page.at(-1)?.[0])
    size.adapt(
      page.length,
      page.reduce((sum, [, text]) => sum + String(text).length + 1, 0),
    )
  }
}
