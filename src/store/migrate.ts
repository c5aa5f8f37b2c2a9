import type { Column, Index, Table } from './store.ts'

/** What the tables of a newer Takeback look like is not ours to guess. */
export const FORMAT = 1

export type Change =
  | { readonly kind: 'add table'; readonly table: Table }
  | { readonly kind: 'add column'; readonly table: Table; readonly column: Column }
  | { readonly kind: 'add index'; readonly table: Table; readonly index: Index }
  | { readonly kind: 'drop index'; readonly table: Table; readonly index: Index }

export interface Migration {
  readonly changes: readonly Change[]
  /** Sentences; where there are any, nothing may be changed. */
  readonly refusals: readonly string[]
  /** What the database holds afterwards: what is no longer declared is still there. */
  readonly held: readonly Table[]
}

/** The way from the tables that a database holds to those that the declaration wants. Nothing is ever dropped. */
export function planMigration(
  held: readonly Table[],
  wanted: readonly Table[],
  hasRows: (table: string) => boolean,
): Migration {
  const changes: Change[] = []
  const refusals: string[] = []
  const after = held.filter(({ name }) => !wanted.some((table) => table.name === name))
  for (const table of wanted) {
    const old = held.find(({ name }) => name === table.name)
    if (old === undefined) changes.push({ kind: 'add table', table })
    else alter(old, table, hasRows, changes, refusals)
    const kept = (old?.columns ?? []).filter(
      ({ name }) => !table.columns.some((column) => column.name === name),
    )
    after.push({ ...table, columns: [...table.columns, ...kept] })
  }
  return { changes, refusals, held: after }
}

function alter(
  old: Table,
  table: Table,
  hasRows: (table: string) => boolean,
  changes: Change[],
  refusals: string[],
): void {
  for (const column of table.columns) {
    const former = old.columns.find(({ name }) => name === column.name)
    const where = `${table.name}.${column.name}`
    if (former === undefined) {
      if (column.required && column.fill === undefined && hasRows(table.name))
        refusals.push(
          `${where} is new and required, but there are ${table.name} already: make it optional or give it a default.`,
        )
      changes.push({ kind: 'add column', table, column })
    } else if (former.kind !== column.kind || former.references !== column.references) {
      refusals.push(
        `${where} holds ${describe(former)} and cannot become ${describe(column)}: declare it as it was, or choose another name.`,
      )
    }
  }
  const missing = (from: readonly Index[], other: readonly Index[]) =>
    from.filter((index) => !other.some((one) => indexName(table, one) === indexName(table, index)))
  for (const index of missing(old.indexes, table.indexes)) changes.push({ kind: 'drop index', table, index })
  for (const index of missing(table.indexes, old.indexes)) changes.push({ kind: 'add index', table, index })
}

function describe({ kind, references }: Column): string {
  return references === undefined ? `values of the type ${kind}` : `references to ${references}`
}

/** Names are told apart by what they index, and stay within what every database keeps of a name. */
export function indexName(table: Table, { columns, unique }: Index): string {
  const name = `${table.name}:${columns.join('+')}:${unique ? 'unique' : 'index'}`
  return name.length <= 60 ? name : `${name.slice(0, 40)}:${Bun.hash(name).toString(36)}`
}
