import type { Column, Index, Table } from './store.ts'

/** What the tables of a newer Takeback look like is not ours to guess. */
export const FORMAT = 1

export type Change =
  | { readonly kind: 'add table'; readonly table: Table }
  | { readonly kind: 'add column'; readonly table: Table; readonly column: Column }
  | { readonly kind: 'fill column'; readonly table: Table; readonly column: Column }
  | { readonly kind: 'add index'; readonly table: Table; readonly index: Index }
  | { readonly kind: 'drop index'; readonly table: Table; readonly index: Index }

interface Migration {
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
  refusals.push(...refuseAbsent(old, table, inspector))
  for (const column of table.columns) {
    const former = old.columns.find(({ name }) => name === column.name)
    const filled = withFill(column, old)
    if (former === undefined) {
      refusals.push(...refuseNew(old, filled, inspector))
      changes.push({ kind: 'add column', table, column: filled })
    } else refusals.push(...refuseChanged(old, former, column, inspector))
    if (needsFill(former, filled)) changes.push({ kind: 'fill column', table, column: filled })
  }
  const missing = (from: readonly Index[], other: readonly Index[]) =>
    from.filter((index) => !other.some((one) => indexName(table, one) === indexName(table, index)))
  for (const index of missing(old.indexes, table.indexes)) changes.push({ kind: 'drop index', table, index })
  for (const index of missing(table.indexes, old.indexes)) changes.push({ kind: 'add index', table, index })
}

/** An object that was required and is optional now is there in every row. */
function withFill(column: Column, old: Table): Column {
  const known = old.columns.some(({ name, aside }) => name === column.name && !aside)
  return column.kind === 'presence' && !known && wasDeclared(old, column.name)
    ? { ...column, fill: 1 }
    : column
}

function wasDeclared(old: Table, object: string): boolean {
  return old.columns.some(({ name, aside }) => !aside && name.startsWith(`${object}.`))
}

/** Rows that have nothing in a column get what new ones would, where it is new or has another role than before. */
function needsFill(former: Column | undefined, column: Column): boolean {
  if (column.fill === undefined) return false
  if (former === undefined) return true
  return (
    column.optional !== true &&
    (former.aside === true || former.fill === undefined || former.optional === true)
  )
}

/** An optional object that is required now must be there in every row. */
function refuseAbsent(old: Table, table: Table, inspector: Inspector): string[] {
  return old.columns.flatMap((column) => {
    const declared = table.columns.some(({ name }) => name.startsWith(`${column.name}.`))
    const required = !table.columns.some(({ name }) => name === column.name)
    if (column.kind !== 'presence' || column.aside || !declared || !required) return []
    const absent = inspector.empty(table.name, column)
    return refuseEmpty(table, column, absent)
  })
}

function refuseEmpty(table: Table, { name }: Column, rows: number): string[] {
  if (rows === 0) return []
  return [
    `${table.name}.${name} is required now, but ${rows} ${table.name} have none: make it optional, or fill them first.`,
  ]
}

function refuseNew(old: Table, column: Column, inspector: Inspector): string[] {
  const { within } = column
  if (!column.required || column.fill !== undefined) return []
  const known = old.columns.some(({ name }) => name === within)
  // An object that is new itself is in no row yet; one that was required until now is in all of them.
  if (within !== undefined && !known && !wasDeclared(old, within)) return []
  if (inspector.rows(old.name, known ? within : undefined) === 0) return []
  return [
    `${old.name}.${column.name} is new and required, but there are ${old.name} already: make it optional or give it a default.`,
  ]
}

function refuseChanged(old: Table, former: Column, column: Column, inspector: Inspector): string[] {
  const where = `${old.name}.${column.name}`
  if (what(former) !== what(column))
    return [
      `${where} holds ${what(former)} and cannot become ${what(column)}: declare it as it was, or choose another name.`,
    ]
  const wrapped =
    column.within !== undefined && !old.columns.some(({ name, aside }) => name === column.within && !aside)
  const asBefore = former.required === true && !former.aside && (wrapped || former.within === column.within)
  // The column that says whether the object is there may itself be new: then the one around it counts.
  const within = wrapped ? former.within : column.within
  const { within: _, ...bare } = column
  const looked = within === undefined ? bare : { ...bare, within }
  const empty = column.required && !asBefore ? inspector.empty(old.name, looked) : 0
  const dangling = former.aside && column.references !== undefined ? inspector.dangling(old.name, column) : 0
  return [
    ...refuseEmpty(old, column, empty),
    ...(dangling > 0
      ? [
          `${where} is declared again, but ${dangling} ${old.name} refer to ${column.references} that were deleted meanwhile: restore those first, or choose another name.`,
        ]
      : []),
  ]
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
