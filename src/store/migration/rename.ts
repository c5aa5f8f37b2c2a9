import { type Column, type Index, type Table, wordsColumn } from '../tables.ts'
import type { Draft } from './draft.ts'
import { linksOf } from './links.ts'
import { deletionIndex, indexName, ofDeletion } from './structure.ts'

/** What the database holds, under the names that it will have. */
export function rename(held: readonly Table[], wanted: readonly Table[], draft: Draft): Table[] {
  let now = [...held]
  for (const { name, was } of wanted) {
    if (was === undefined || !now.some((table) => table.name === was)) continue
    if (now.some((table) => table.name === name)) {
      draft.refuse(
        name,
        `was ${was}, but both are there: leave out the was, or drop the one whose data you do not want with "takeback migrate --drop"`,
      )
      continue
    }
    draft.rows.renamed(name, was)
    draft.additive = false
    draft.do({ kind: 'rename table', from: was, to: name }, name, `is the new name of ${was}`)
    now = now.map((table) => withTableRenamed(table, was, name))
    const table = now.find((one) => one.name === name)
    if (table !== undefined) {
      draft.do({ kind: 'rename index', table, from: deletionIndex(was), index: ofDeletion })
      renameIndexes(table, draft, (index) => indexName(was, index))
      for (const { name: column } of table.columns.filter(isList))
        draft.do({
          kind: 'rename links',
          from: { ...linksOf(was, column), table: name },
          to: linksOf(name, column),
        })
    }
  }
  for (const { name, renames = [] } of wanted)
    for (const [from, to] of renames)
      now = now.map((table) => (table.name === name ? renameField(table, from, to, draft) : table))
  return now
}

function isList({ links }: Column): boolean {
  return links !== undefined
}

function withTableRenamed(table: Table, from: string, to: string): Table {
  return {
    ...table,
    name: table.name === from ? to : table.name,
    columns: table.columns.map((column) => ({
      ...column,
      ...(column.references === from && { references: to }),
      ...(column.links === from && { links: to }),
    })),
  }
}

function renameField(table: Table, from: string, to: string, draft: Draft): Table {
  const under = (path: string) => (name: string) =>
    name === path || name === wordsColumn(path) || name.startsWith(`${path}.`)
  const names = table.columns.map(({ name }) => name)
  if (!names.some(under(from))) return table
  const path = `${table.name}.${to}`
  if (names.some(under(to))) {
    draft.refuse(
      path,
      `was ${from}, but both are there: leave out the was, or drop the one whose data you do not want with "takeback migrate --drop"`,
    )
    return table
  }
  const fresh = (name: string) => (under(from)(name) ? to + name.slice(from.length) : name)
  const columns = names.filter(under(from)).map((name) => [name, fresh(name)] as const)
  for (const [old, name] of columns) draft.rows.renamedColumn(table.name, name, old)
  draft.additive = false
  draft.do({ kind: 'rename field', table: table.name, from, to, columns }, path, `is the new name of ${from}`)
  for (const { name } of table.columns.filter(isList))
    if (fresh(name) !== name)
      draft.do({
        kind: 'rename links',
        from: linksOf(table.name, name),
        to: linksOf(table.name, fresh(name)),
      })
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
  renameIndexes(renamed, draft, (_, at) => indexName(table.name, table.indexes[at] ?? ofDeletion))
  return renamed
}

function renameIndexes(table: Table, draft: Draft, before: (index: Index, at: number) => string): void {
  for (const [at, index] of table.indexes.entries()) {
    const from = before(index, at)
    if (from !== indexName(table.name, index)) draft.do({ kind: 'rename index', table, from, index })
  }
}
