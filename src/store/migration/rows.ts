import { budget } from '../../budget.ts'
import { linkTableOf } from '../../declare/model.ts'
import type { Dialect, Params } from '../dialect.ts'
import { id, intLiteral, join, param, type Sql, sql } from '../sql.ts'
import type { Column, Table } from '../tables.ts'
import type { DatabaseSession } from './structure.ts'

/** Rows that prevent a change: their number, and the first of them. */
export interface FoundRows {
  readonly count: number
  readonly ids: readonly number[]
}

/** The maximum number of rows named in a sentence. */
const NAMED = 5
const PAGE = 10_000
const noRows: FoundRows = { count: 0, ids: [] }

/** Queries of the existing rows for a plan, under their names before the migration. */
export class RowQueries {
  readonly #session: DatabaseSession
  readonly #dialect: Dialect
  readonly #tables = new Map<string, string>()
  readonly #columns = new Map<string, string>()

  constructor(session: DatabaseSession, dialect: Dialect) {
    this.#session = session
    this.#dialect = dialect
  }

  /** Maps a new name to the table that still has the old one. */
  renamed(table: string, was: string): void {
    this.#tables.set(table, was)
  }

  renamedColumn(table: string, column: string, was: string): void {
    const key = `${table} ${column}`
    const before = `${table} ${was}`
    this.#columns.set(key, this.#columns.get(before) ?? was)
  }

  async count(table: string, object?: string): Promise<number> {
    const there = object === undefined ? sql`1 = 1` : sql`${this.#column(table, object)} IS NOT NULL`
    return this.#number(sql`SELECT count(*) FROM ${this.#table(table)} t WHERE ${there}`)
  }

  /** Rows without a value where there should be one. */
  empty(table: string, { name, within }: Column): Promise<FoundRows> {
    const there = within === undefined ? sql`` : sql` AND ${this.#column(table, within)} IS NOT NULL`
    return this.#found(table, sql`${this.#column(table, name)} IS NULL${there}`)
  }

  /** Live rows with a deleted target. */
  dangling(table: string, { name, references, links }: Column): Promise<FoundRows> {
    const list = linkTableOf(this.#tables.get(table) ?? table, this.#named(table, name)).table
    const target =
      links === undefined
        ? sql`r."id" = ${this.#column(table, name)}`
        : sql`r."id" IN (SELECT l."target" FROM ${id(list)} l WHERE l."source" = t."id")`
    return this.#found(
      table,
      sql`t."deleted_at" IS NULL AND EXISTS (SELECT 1 FROM ${this.#table(references ?? links ?? '')} r
        WHERE ${target} AND r."deleted_at" IS NOT NULL)`,
    )
  }

  /** Live rows that share the values of these columns with others. */
  duplicates(table: string, columns: readonly string[]): Promise<FoundRows> {
    const mine = join(columns.map((name) => this.#column(table, name)))
    const others = join(columns.map((name) => sql`o.${id(this.#named(table, name))}`))
    return this.#found(
      table,
      sql`t."deleted_at" IS NULL AND (${mine}) IN (SELECT ${others} FROM ${this.#table(table)} o
        WHERE o."deleted_at" IS NULL GROUP BY ${others} HAVING count(*) > 1)`,
    )
  }

  /** Live rows that break a check. `condition` is true for them. */
  breaking(table: string, condition: Sql): Promise<FoundRows> {
    return this.#found(table, sql`t."deleted_at" IS NULL AND ${condition}`)
  }

  /** Rows whose value, as JSON, does not fit. Deleted ones count, since they may be restored. */
  async unfit(table: string, column: Column, fits: (value: unknown) => boolean): Promise<FoundRows> {
    const value = this.#column(table, column.name)
    const json = this.#dialect.array([this.#dialect.render(column.kind, value, column.scale ?? 0)])
    const page = sql`SELECT t."id", ${json} FROM ${this.#table(table)} t
      WHERE t."id" > ${param('$id')} AND ${value} IS NOT NULL ORDER BY t."id" LIMIT ${intLiteral(PAGE)}`
    let found = noRows
    for (let last = 0; ; ) {
      const rows = await this.#session.all(page, { $id: last })
      for (const [rowId, text] of rows) {
        last = Number(rowId)
        const [one] = JSON.parse(String(text)) as [unknown]
        if (!fits(one))
          found = {
            count: found.count + 1,
            ids: found.ids.length < budget.migrationRows ? [...found.ids, last] : found.ids,
          }
      }
      if (rows.length < PAGE) return found
    }
  }

  /** Rows whose derived value does not match the value that it is derived from. */
  async underived(table: string, column: Column): Promise<FoundRows> {
    const { from = '', by } = column.derived ?? {}
    if (by === undefined) return noRows
    const rows = await this.#session.all(
      sql`SELECT t."id", ${this.#column(table, from)}, ${this.#column(table, column.name)} FROM ${this.#table(table)} t ORDER BY t."id"`,
    )
    const wrong = rows.filter(([, value, made]) => value !== null && by(String(value)) !== made)
    return { count: wrong.length, ids: wrong.slice(0, budget.migrationRows).map(([one]) => Number(one)) }
  }

  async #found(table: string, condition: Sql): Promise<FoundRows> {
    const from = sql`FROM ${this.#table(table)} t WHERE ${condition}`
    const number = await this.#number(sql`SELECT count(*) ${from}`)
    if (number === 0) return noRows
    const rows = await this.#session.all(
      sql`SELECT t."id" ${from} ORDER BY t."id" LIMIT ${intLiteral(budget.migrationRows)}`,
    )
    return { count: number, ids: rows.map(([one]) => Number(one)) }
  }

  async #number(source: Sql, params?: Params): Promise<number> {
    const [row] = await this.#session.all(source, params)
    return Number(row?.[0])
  }

  #table(name: string): Sql {
    return id(this.#tables.get(name) ?? name)
  }

  #named(table: string, name: string): string {
    return this.#columns.get(`${table} ${name}`) ?? name
  }

  #column(table: string, name: string): Sql {
    return sql`t.${id(this.#named(table, name))}`
  }
}

/** Names rows in a sentence: `things/3, things/9 and 4 more`. */
export function named(table: Pick<Table, 'name'>, { count: all, ids }: FoundRows): string {
  const first = ids.slice(0, NAMED)
  const names = first.map((one) => `${table.name}/${one}`).join(', ')
  return all > first.length ? `${names} and ${all - first.length} more` : names
}
