import type { Column, Table } from '../tables.ts'
import { alter } from './alter.ts'
import { columnPath, Draft } from './draft.ts'
import { maybeRenamed, maybeRenamedType } from './maybe-renamed.ts'
import { rename } from './rename.ts'
import type { RowLook } from './rows.ts'
import { refuseOtherShapes, withoutPaths } from './shapes.ts'
import type { MigrationLine, NewCheck, TableChange } from './structure.ts'

/** The way from the tables that a database holds to those that the declaration wants. Nothing is ever dropped. */
export interface Migration {
  readonly changes: readonly TableChange[]
  readonly lines: readonly MigrationLine[]
  /** Checks that the rows must meet afterwards, and did not have to before. */
  readonly checks: readonly NewCheck[]
  /** The tables afterwards, including what is no longer declared. */
  readonly held: readonly Table[]
  /** Whether those who still run with the former declaration can go on. */
  readonly additive: boolean
}

export async function planMigration(
  held: readonly Table[],
  wanted: readonly Table[],
  rows: RowLook,
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

/** Without what is refused for its shape: nothing else can be checked for it. */
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

/** What deletions have done before stays known: it is to be taken back in that way. */
function withEver(old: Table | undefined, column: Column): Column {
  const former = old?.columns.find(({ name }) => name === column.name)?.ever ?? []
  return column.ever === undefined ? column : { ...column, ever: [...new Set([...former, ...column.ever])] }
}

function withAside(old: Table | undefined, table: Table, draft: Draft): Table {
  const kept = (old?.columns ?? []).filter(
    ({ name, words }) => words === undefined && !table.columns.some((column) => column.name === name),
  )
  // Whether an object is there is no field of its own: it is still declared, but not optional any more.
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
