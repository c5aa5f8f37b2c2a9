import type { Column, Table } from '../tables.ts'
import { alter } from './alter.ts'
import { columnPath, Draft } from './draft.ts'
import { maybeRenamed, maybeRenamedType } from './maybe-renamed.ts'
import { rename } from './rename.ts'
import type { RowQueries } from './rows.ts'
import { refuseOtherShapes, withoutPaths } from './shapes.ts'
import type { MigrationLine, NewCheck, TableChange } from './structure.ts'

/** The changes from the present tables to those of the declaration. Nothing is ever dropped. */
export interface Migration {
  readonly changes: readonly TableChange[]
  readonly lines: readonly MigrationLine[]
  /** New checks that the rows must meet afterwards. */
  readonly checks: readonly NewCheck[]
  /** The tables afterwards, including what is no longer declared. */
  readonly held: readonly Table[]
  /** Whether servers with the former declaration can go on. */
  readonly additive: boolean
}

export async function planMigration(
  held: readonly Table[],
  wanted: readonly Table[],
  rows: RowQueries,
): Promise<Migration> {
  const draft = new Draft(rows)
  const now = rename(held, wanted, draft)
  const after: Table[] = []
  for (const table of wanted) {
    const old = now.find(({ name }) => name === table.name)
    if (old !== undefined) after.push(await alterFitting(old, table, draft))
    else {
      draft.do({ kind: 'add table', table }, table.name, 'is a new Entity type')
      if (
        table.columns.some(({ references, links }) => now.some(({ name }) => name === (references ?? links)))
      )
        draft.additive = false
      after.push(withAside(undefined, table, draft))
    }
  }
  for (const table of now) {
    if (wanted.some(({ name }) => name === table.name)) continue
    const left = table.columns.every(({ aside }) => aside)
      ? 'is kept aside'
      : leaves(table.name, maybeRenamedType(table, now, wanted))
    draft.lines.push({ effect: 'aside', path: table.name, what: left })
    after.push({ ...table, columns: table.columns.map((column) => ({ ...column, aside: true })) })
  }
  const { changes, lines, checks, additive } = draft
  return { changes, lines, checks, held: after, additive }
}

/** Drafts the changes, except for fields whose shape is refused: nothing else about them can be checked. */
async function alterFitting(held: Table, wanted: Table, draft: Draft): Promise<Table> {
  const paths = refuseOtherShapes(held, wanted, draft)
  const [old, table] = [withoutPaths(held, paths), withoutPaths(wanted, paths)]
  await alter(old, table, draft)
  return withAside(old, table, draft)
}

function leaves(name: string, renamed: string | undefined): string {
  const left = 'is no longer declared: it leaves the API, but its data is kept'
  return renamed === undefined ? left : `${left}. If ${renamed} is its new name, write was: '${name}' there`
}

/** Keeps every `onDelete` that a column ever had: former deletions must be undone in the same way. */
function withEver(old: Table | undefined, column: Column): Column {
  const former = old?.columns.find(({ name }) => name === column.name)?.ever ?? []
  return column.ever === undefined ? column : { ...column, ever: [...new Set([...former, ...column.ever])] }
}

function withAside(old: Table | undefined, table: Table, draft: Draft): Table {
  const kept = (old?.columns ?? []).filter(
    ({ name, words }) => words === undefined && !table.columns.some((column) => column.name === name),
  )
  // The presence of an object is not a field: the object is still declared, but no longer optional.
  const isRequired = ({ kind, name }: Column) =>
    kind === 'presence' && table.columns.some((column) => column.name.startsWith(`${name}.`))
  for (const column of kept.filter((one) => !isRequired(one))) {
    const path = columnPath(table, column)
    const renamed = old && maybeRenamed(column, old, table)
    const what = column.aside ? 'is kept aside' : leaves(path.split('.').at(-1) ?? '', renamed)
    draft.lines.push({ effect: 'aside', path, what })
    if (!column.aside) draft.do({ kind: 'set aside', table, column })
  }
  const { was: _, renames: __, ...plain } = table
  const { formerNames, formerPaths } = old ?? {}
  return {
    ...plain,
    ...(formerNames !== undefined && { formerNames }),
    ...(formerPaths !== undefined && { formerPaths }),
    columns: [
      ...table.columns.map((column) => withEver(old, column)),
      ...kept.map((column) => ({ ...column, aside: true })),
    ],
  }
}
