import { useMemo } from 'react'
import { type EntityType, useModel } from '../../model.ts'
import { type Column, expandOf } from './columns.ts'
import { fromOf, orderOf } from './go.ts'
import type { RowsRequest } from './rows.ts'
import type { Targets } from './targets.ts'
import type { ChosenColumns } from './use-columns.ts'
import { sortOf, type View } from './view.ts'

/** What to ask the API for, so that a view can be shown with these columns. */
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
    const titles = new Map(
      entities.filter(({ may }) => may.list !== false).map((one) => [one.name, one.title]),
    )
    const paths = new Set(['id', 'version', 'updated_at', ...columns.map(({ path }) => path)])
    if (type.title !== null) paths.add(type.title)
    // The order of columns is no reason to read anything again.
    const fields = [...paths].sort().join(',')
    const inOrder = [...columns].sort((a, b) => (a.path < b.path ? -1 : 1))
    // Neither a search nor an expansion is possible in the past.
    const now = { search, trashed, expand: expandOf(inOrder, titles) }
    return {
      entity: type.name,
      query: { filter, sort, fields, at, ...(at === undefined && now) },
      targets: targetsOf(inOrder, titles),
      from: fromOf(go, orderOf(sort, all, model), at !== undefined),
    }
  }, [model, entities, type, columns, all, filter, search, sort, trashed, at, go])
}

function targetsOf(columns: readonly Column[], titles: ReadonlyMap<string, string | null>): Targets {
  return Object.fromEntries(
    columns.flatMap(({ path, field }) => {
      const title = field.type === 'ref' && typeof field.to === 'string' ? titles.get(field.to) : undefined
      return title === undefined ? [] : [[path, { to: String(field.to), title }]]
    }),
  )
}
