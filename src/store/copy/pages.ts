import { createHash } from 'node:crypto'
import type { Dialect, Params } from '../dialect.ts'
import type { DatabaseSession } from '../migration/structure.ts'
import { PageSize } from '../page-size.ts'
import { id, intLiteral, join, param, type Sql, sql } from '../sql.ts'
import type { CopiedTable } from './tables.ts'

export type RowPage = readonly (readonly unknown[])[]

/** All rows of a table in the order of its key, with values as in JSON: the same from every database. */
export async function* pagesOf(
  session: DatabaseSession,
  dialect: Dialect,
  table: CopiedTable,
): AsyncGenerator<RowPage> {
  const { name, columns, key } = table
  const column = (path: string) => sql`t.${id(path)}`
  const values = columns.map(({ name: path, kind, scale = 0 }) => dialect.render(kind, column(path), scale))
  const order = join(key.map(column))
  let last: Params | undefined
  for (const size = new PageSize(); ; ) {
    const limit = size.rows
    const behind: Sql = last === undefined ? sql`` : sql` WHERE ${isBehindRow(table)}`
    const rows = await session.all(
      sql`SELECT ${dialect.array(values)} FROM ${id(name)} t${behind} ORDER BY ${order} LIMIT ${intLiteral(limit)}`,
      last,
    )
    const page = rows.map(([json]) => JSON.parse(String(json)) as unknown[])
    if (page.length > 0) yield page
    if (page.length < limit) return
    last = keyOfRow(table, page.at(-1) ?? [])
    size.adapt(
      page.length,
      rows.reduce((sum, [json]) => sum + String(json).length, 0),
    )
  }
}

/** That a row comes after the bound key: greater in its first part, or equal there and greater in the next, … */
function isBehindRow({ columns, key }: CopiedTable): Sql {
  const kindOf = (path: string) => columns.find(({ name }) => name === path)?.kind ?? 'text'
  const part = (path: string, compare: Sql) =>
    sql`t.${id(path)} ${compare} ${param(`>${path}`, kindOf(path))}`
  const ways = key.map((path, at) =>
    join([...key.slice(0, at).map((before) => part(before, sql`=`)), part(path, sql`>`)], sql` AND `),
  )
  return join(
    ways.map((way) => sql`(${way})`),
    sql` OR `,
  )
}

function keyOfRow({ columns, key }: CopiedTable, row: readonly unknown[]): Params {
  const at = (path: string) => row[columns.findIndex(({ name }) => name === path)]
  return Object.fromEntries(key.map((path) => [`>${path}`, at(path) as string | number]))
}

/** A digest of a table: equal for equal rows. */
export class Tally {
  readonly #hash = createHash('sha256')
  #rows = 0

  add(page: RowPage): void {
    this.#rows += page.length
    for (const row of page) this.#hash.update(`${JSON.stringify(row)}\n`)
  }

  get rows(): number {
    return this.#rows
  }

  /** The digest. To be called once, at the end. */
  sum(): string {
    return `${this.#rows} ${this.#hash.digest('base64url')}`
  }
}
