import { countInWords } from '../../declare/with-article.ts'
import type { Index } from '../tables.ts'
import { indexName, saidOf } from './structure.ts'
import { needsFill, type TableAlteration } from './table-alteration.ts'

/** Drops and creates indexes. Those on converted columns are rebuilt. */
export async function alterIndexes(altering: TableAlteration, converted: ReadonlySet<string>): Promise<void> {
  const { old, table, draft } = altering
  const key = (index: Index) => indexName(table.name, index)
  const touched = (index: Index) => index.columns.some((name) => converted.has(name))
  const stays = (index: Index, others: readonly Index[]) =>
    !touched(index) && others.some((other) => key(other) === key(index))
  for (const index of old.indexes.filter((one) => !stays(one, table.indexes))) {
    draft.do({ kind: 'drop index', table, index })
    if (touched(index)) continue
    if (index.unique) draft.safe(`${table.name}.${saidOf(index)}`, 'is no longer unique')
    if (index.descending !== undefined) draft.safe(`${table.name}.${saidOf(index)}`, 'is no longer indexed')
  }
  for (const index of table.indexes) if (await refuseSameFill(altering, index)) return
  for (const index of table.indexes.filter((one) => !stays(one, old.indexes)))
    if (old.indexes.some((one) => key(one) === key(index))) draft.do({ kind: 'add index', table, index })
    else await addIndex(altering, index)
}

async function addIndex(altering: TableAlteration, index: Index): Promise<void> {
  const { old, table, draft } = altering
  const isNew = index.columns.some((name) => !old.columns.some((column) => column.name === name))
  const path = `${table.name}.${saidOf(index)}`
  if (index.unique) draft.additive = false
  if (await refuseLong(altering, index)) return
  if (index.unique && !isNew) {
    const found = await draft.rows.duplicates(old.name, index.columns)
    const refused = draft.refuseFound(
      table,
      path,
      found,
      (which) => `must be unique now, but has duplicates in ${which}: change them first`,
    )
    if (refused) return
    draft.additive = false
    draft.safe(path, 'must be unique now')
  }
  if (index.descending === undefined) draft.do({ kind: 'add index', table, index })
  else draft.do({ kind: 'add index', table, index }, path, 'is indexed now')
}

/** Refuses texts that are too long for an index. */
async function refuseLong({ old, table, draft }: TableAlteration, index: Index): Promise<boolean> {
  let refused = false
  for (const name of index.columns) {
    const column = table.columns.find((one) => one.name === name)
    const former = old.columns.find((one) => one.name === name)
    if (column?.kind !== 'text' || former?.kind !== 'text' || column.check === undefined) continue
    const path = `${table.name}.${name}`
    // Rows that break the field's own limits are reported already, and need not be too long for the index.
    if (draft.lines.some((line) => line.effect === 'refused' && line.path === path)) continue
    const { check } = column
    const found = await draft.rows.unfit(table.name, former, (value) => {
      const errors = new Map<string, string[]>()
      check(value, name, errors)
      return errors.size === 0
    })
    const now = index.unique ? 'must be unique now' : 'is indexed now'
    const why = (which: string) => `${now}, but is too long for that in ${which}: shorten it first`
    refused = draft.refuseFound(table, path, found, why) || refused
  }
  return refused
}

/** Refuses a unique index on a column that all rows get the same default in. */
async function refuseSameFill({ old, table, draft }: TableAlteration, index: Index): Promise<boolean> {
  const [name, ...more] = index.columns
  const column = table.columns.find((one) => one.name === name)
  if (!index.unique || more.length > 0 || column?.fill === undefined || column.within !== undefined)
    return false
  const former = old.columns.find((one) => one.name === name)
  if (former !== undefined && !needsFill(former, column)) return false
  const empty =
    former === undefined ? await draft.rows.count(old.name) : (await draft.rows.empty(old.name, column)).count
  if (empty < 2) return false
  draft.refuse(
    `${table.name}.${name}`,
    `must be unique, but is missing in ${countInWords(empty, table.name)}, which would all get the same default: remove the default, or fill it in first`,
  )
  return true
}
