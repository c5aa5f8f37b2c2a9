import { useMemo } from 'react'
import { type EntityType, useModel } from '../../model.ts'
import { namingFields } from '../../names.ts'
import { type Column, expandOf } from './columns.ts'
import { orderOf, startOf } from './go-to.ts'
import type { RowsRequest } from './rows.ts'
import type { Targets } from './targets.ts'
import type { ChosenColumns } from './use-columns.ts'
import { sortOf, type View } from './view.ts'

/** Returns the API request for a view with these columns. */
export function useRequest(
  type: EntityType,
  { all, shown: columns }: ChosenColumns,
  view: View,
): RowsRequest {
  const model = useModel()
  const { entities } = model
  const { filter, search, trashed, at, go } = view
  const sort = sortOf(view)
  return useMemo(() => {
    const names = new Map(
      entities.filter(({ may }) => may.list !== false).map((one) => [one.name, namingFields(one)]),
    )
    const shown = columns.map(({ path }) => path)
    const paths = new Set(['id', 'version', 'updated_at', ...namingFields(type), ...shown])
    // Sorted, so that a new order of columns does not read anything again.
    const fields = [...paths].sort().join(',')
    const inOrder = [...columns].sort((a, b) => (a.path < b.path ? -1 : 1))
    // Searches and expansions are not possible in the past.
    const now = { search, trashed, expand: expandOf(inOrder, names) }
    return {
      entity: type.name,
      query: { filter, sort, fields, at, ...(at === undefined && now) },
      targets: targetsOf(inOrder, names),
      from: startOf(go, orderOf(sort, all, model), at !== undefined),
    }
  }, [model, entities, type, columns, all, filter, search, sort, trashed, at, go])
}

function targetsOf(columns: readonly Column[], names: ReadonlyMap<string, readonly string[]>): Targets {
  return Object.fromEntries(
    columns.flatMap(({ path, field }) => {
      const named = field.type === 'ref' && typeof field.to === 'string' ? names.get(field.to) : undefined
      return named === undefined ? [] : [[path, { to: String(field.to), named }]]
    }),
  )
}
