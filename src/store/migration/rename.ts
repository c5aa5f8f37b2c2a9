import type { Column, Index, Table } from '../tables.ts'
import type { Draft } from './draft.ts'
import { formerNameOf, formerPathIn, isUnder, withFormerName, withFormerPath } from './former.ts'
import { linksOf } from './links.ts'
import { deletionIndex, indexName, ofDeletion } from './structure.ts'

/** An old and a new name. */
interface Rename {
  readonly from: string
  readonly to: string
  /** The declaration does not say so. The rename is planned as if it did, and then refused. */
  readonly unsaid?: boolean
}

/** The tables of the database, with the names that they will have. */
export function rename(held: readonly Table[], wanted: readonly Table[], draft: Draft): Table[] {
  let now = [...held]
  for (const table of wanted) {
    const said = now.some(({ name }) => name === table.was) ? table.was : undefined
    const from = said ?? formerNameOf(table, now, wanted)
    if (from !== undefined)
      now = renameTable(now, { from, to: table.name, unsaid: said === undefined }, draft)
  }
  return now.map((table) => {
    const one = wanted.find(({ name }) => name === table.name)
    return one === undefined ? table : renameFields(table, one, draft)
  })
}

function renameTable(now: readonly Table[], { from, to, unsaid }: Rename, draft: Draft): Table[] {
  if (now.some((table) => table.name === to)) {
    draft.refuse(to, bothThere(from))
    return [...now]
  }
  draft.rows.renamed(to, from)
  draft.additive = false
  draft.do({ kind: 'rename table', from, to })
  if (unsaid) draft.refuse(to, unsaidText({ from, to }, 'Entity type'))
  else draft.safe(to, `is the new name of ${from}`)
  const after = now.map((table) => withTableRenamed(table, from, to))
  const table = after.find((one) => one.name === to)
  if (table === undefined) return after
  draft.do({ kind: 'rename index', table, from: deletionIndex(from), index: ofDeletion })
  renameIndexes(table, draft, (index) => indexName(from, index))
  for (const column of table.columns.filter(isList))
    draft.do({
      kind: 'rename links',
      from: { ...linksOf(from, column), table: to },
      to: linksOf(to, column),
    })
  return after
}

/** Renames fields: declared renames first, then forgotten ones, outer fields first. */
function renameFields(held: Table, wanted: Table, draft: Draft): Table {
  let table = held
  for (const [from, to] of wanted.renames ?? []) table = renameField(table, { from, to }, draft)
  for (;;) {
    const forgotten = formerPathIn(table, wanted)
    if (forgotten === undefined) return table
    const [to, from] = forgotten
    table = renameField(table, { from, to, unsaid: true }, draft)
  }
}

function isList({ links }: Column): boolean {
  return links !== undefined
}

const bothThere = (from: string) =>
  `was ${from}, but both exist: remove the was, or drop the one whose data you do not want with "takeback migrate --drop"`

/** The message for a forgotten rename back to a former name. */
function unsaidText({ from, to }: Rename, kind: 'Entity type' | 'field'): string {
  const [old, fresh] = [from, to].map((path) => path.slice(path.lastIndexOf('.') + 1))
  return `was renamed to ${old}, and ${old} is no longer declared: write was: '${old}' here to keep its data. If you mean a new ${kind}, first apply the declaration without ${fresh}`
}

function withTableRenamed(table: Table, from: string, to: string): Table {
  const renamed = {
    ...table,
    columns: table.columns.map((column) => ({
      ...column,
      ...(column.references === from && { references: to }),
      ...(column.links === from && { links: to }),
    })),
  }
  return table.name === from ? withFormerName({ ...renamed, name: to }, from) : renamed
}

function renameField(table: Table, renamed: Rename, draft: Draft): Table {
  const { from, to, unsaid = false } = renamed
  const names = table.columns.map(({ name }) => name)
  if (!names.some((name) => isUnder(from, name))) return table
  const path = `${table.name}.${to}`
  if (names.some((name) => isUnder(to, name))) {
    draft.refuse(path, bothThere(from))
    return table
  }
  const fresh = (name: string) => (isUnder(from, name) ? to + name.slice(from.length) : name)
  const columns = names.filter((name) => isUnder(from, name)).map((name) => [name, fresh(name)] as const)
  for (const [old, name] of columns) draft.rows.renamedColumn(table.name, name, old)
  draft.additive = false
  draft.do({ kind: 'rename field', table: table.name, from, to, columns })
  if (unsaid) draft.refuse(path, unsaidText(renamed, 'field'))
  else draft.safe(path, `is the new name of ${from}`)
  for (const column of table.columns.filter(isList))
    if (fresh(column.name) !== column.name)
      draft.do({
        kind: 'rename links',
        from: linksOf(table.name, column),
        to: linksOf(table.name, { ...column, name: fresh(column.name) }),
      })
  const after = withFieldRenamed(table, { from, to }, fresh)
  renameIndexes(after, draft, (_, at) => indexName(table.name, table.indexes[at] ?? ofDeletion))
  return after
}

function withFieldRenamed(table: Table, { from, to }: Rename, fresh: (name: string) => string): Table {
  const renamed: Table = {
    ...table,
    columns: table.columns.map((column) => ({
      ...column,
      name: fresh(column.name),
      ...(column.within !== undefined && { within: fresh(column.within) }),
      ...(column.words !== undefined && { words: { of: fresh(column.words.of) } }),
    })),
    indexes: table.indexes.map((index) => ({ ...index, columns: index.columns.map(fresh) })),
  }
  return withFormerPath(renamed, [from, to], fresh)
}

function renameIndexes(table: Table, draft: Draft, before: (index: Index, at: number) => string): void {
  for (const [at, index] of table.indexes.entries()) {
    const from = before(index, at)
    if (from !== indexName(table.name, index)) draft.do({ kind: 'rename index', table, from, index })
  }
}
