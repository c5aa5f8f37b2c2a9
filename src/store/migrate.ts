import type { Column, Index, Table } from './store.ts'

/** What the tables of a newer Takeback look like is not ours to guess. */
export const FORMAT = 1

export type Change =
  | { readonly kind: 'add table'; readonly table: Table }
  | { readonly kind: 'add column'; readonly table: Table; readonly column: Column }
  | { readonly kind: 'fill column'; readonly table: Table; readonly column: Column }
  | { readonly kind: 'add index'; readonly table: Table; readonly index: Index }
  | { readonly kind: 'drop index'; readonly table: Table; readonly index: Index }

export interface Migration {
  readonly changes: readonly Change[]
  /** Sentences; where there are any, nothing may be changed. */
  readonly refusals: readonly string[]
  /** What the database holds afterwards: what is no longer declared is still there. */
  readonly held: readonly Table[]
}

/** What the plan must know of the rows that are there. */
export interface Inspector {
  /** Rows of a table; those where an optional object is there, if it is named. */
  rows(table: string, object?: string): number
  /** Rows without a value in the column, where there should be one. */
  empty(table: string, column: Column): number
  /** Live rows whose target is deleted. */
  dangling(table: string, column: Column): number
}

/** The way from the tables that a database holds to those that the declaration wants. Nothing is ever dropped. */
export function planMigration(
  held: readonly Table[],
  wanted: readonly Table[],
  inspector: Inspector,
): Migration {
  const changes: Change[] = []
  const refusals: string[] = []
  const after = held.filter(({ name }) => !wanted.some((table) => table.name === name)).map(setAside)
  for (const table of wanted) {
    const old = held.find(({ name }) => name === table.name)
    if (old === undefined) changes.push({ kind: 'add table', table })
    else alter(old, table, inspector, changes, refusals)
    const kept = (old?.columns ?? []).filter(
      ({ name }) => !table.columns.some((column) => column.name === name),
    )
    after.push({
      ...table,
      columns: [...table.columns, ...kept.map((column) => ({ ...column, aside: true }))],
    })
  }
  return { changes, refusals, held: after }
}

function setAside(table: Table): Table {
  return { ...table, columns: table.columns.map((column) => ({ ...column, aside: true })) }
}

function alter(old: Table, table: Table, inspector: Inspector, changes: Change[], refusals: string[]): void {
  for (const column of table.columns) {
    const former = old.columns.find(({ name }) => name === column.name)
    if (former === undefined) {
      const added = withFill(column, old)
      refusals.push(...refuseNew(old, added, inspector))
      changes.push({ kind: 'add column', table, column: added })
    } else {
      refusals.push(...refuseChanged(table, former, column, inspector))
      const filled = refill(former, column, old)
      if (filled !== undefined) changes.push({ kind: 'fill column', table, column: filled })
    }
  }
  const missing = (from: readonly Index[], other: readonly Index[]) =>
    from.filter((index) => !other.some((one) => indexName(table, one) === indexName(table, index)))
  for (const index of missing(old.indexes, table.indexes)) changes.push({ kind: 'drop index', table, index })
  for (const index of missing(table.indexes, old.indexes)) changes.push({ kind: 'add index', table, index })
}

/** An object that was required and is optional now is there in every row. */
function withFill(column: Column, old: Table): Column {
  const wasThere =
    column.kind === 'presence' &&
    old.columns.some(({ name, aside }) => !aside && name.startsWith(`${column.name}.`))
  return wasThere ? { ...column, fill: 1 } : column
}

/** A column that was there before in another role: rows that have nothing in it get what new ones would. */
function refill(former: Column, column: Column, old: Table): Column | undefined {
  const added = former.aside ? withFill(column, old) : column
  if (added.fill === undefined || added.optional) return undefined
  return former.aside || former.fill === undefined || former.optional ? added : undefined
}

function refuseNew(table: Table, column: Column, inspector: Inspector): string[] {
  const { within } = column
  if (!column.required || column.fill !== undefined) return []
  // An object that is new itself is in no row yet.
  if (within !== undefined && !table.columns.some(({ name }) => name === within)) return []
  if (inspector.rows(table.name, within) === 0) return []
  return [
    `${table.name}.${column.name} is new and required, but there are ${table.name} already: make it optional or give it a default.`,
  ]
}

function refuseChanged(table: Table, former: Column, column: Column, inspector: Inspector): string[] {
  const where = `${table.name}.${column.name}`
  if (what(former) !== what(column))
    return [
      `${where} holds ${what(former)} and cannot become ${what(column)}: declare it as it was, or choose another name.`,
    ]
  const refusals: string[] = []
  const looser = former.required === true && former.within === column.within && !former.aside
  const empty = column.required && !looser ? inspector.empty(table.name, column) : 0
  if (empty > 0)
    refusals.push(
      `${where} is required now, but ${empty} ${table.name} have none: make it optional, or fill them first.`,
    )
  const dangling =
    former.aside && column.references !== undefined ? inspector.dangling(table.name, column) : 0
  if (dangling > 0)
    refusals.push(
      `${where} is declared again, but ${dangling} ${table.name} refer to ${column.references} that were deleted meanwhile: restore those first, or choose another name.`,
    )
  return refusals
}

/** What a column holds, in words that differ where its values could not be read as before. */
function what({ kind, references, scale, secret }: Column): string {
  if (references !== undefined) return `references to ${references}`
  if (secret) return 'secrets'
  return kind === 'decimal' ? `decimals with ${scale} digits behind the point` : `values of the type ${kind}`
}

/** Names are told apart by what they index, and stay within what every database keeps of a name. */
export function indexName(table: Table, { columns, unique }: Index): string {
  const name = `${table.name}:${columns.join('+')}:${unique ? 'unique' : 'index'}`
  return name.length <= 60 ? name : `${name.slice(0, 40)}:${Bun.hash(name).toString(36)}`
}
