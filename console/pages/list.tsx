import { useCallback, useSyncExternalStore } from 'react'
import { explain, fieldErrors } from '../explain.ts'
import { type EntityType, labelOf, useEntityType } from '../model.ts'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { Page } from '../parts/page.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { usePreferences } from '../preferences.ts'
import { useTexts } from '../texts/index.ts'
import { ListActions } from './list/actions.tsx'
import { ListBar } from './list/bar.tsx'
import { Grid } from './list/grid.tsx'
import type { ListPart } from './list/list-part.ts'
import { Nothing } from './list/nothing.tsx'
import { useRequest } from './list/request.ts'
import { forgetRows } from './list/rows.ts'
import { useSelection } from './list/selection.ts'
import { SelectionBar } from './list/selection-bar.tsx'
import { useColumns } from './list/use-columns.ts'
import { useListKeys } from './list/use-list-keys.ts'
import { type LiveRows, useRows, useTotal } from './list/use-rows.ts'
import { sortBy, useView, type View } from './list/view.ts'

/** The page with all Entities of a type. */
export function List({ entity }: { readonly entity: string }) {
  const texts = useTexts()
  const type = useEntityType(entity)
  const preferences = usePreferences()
  if (type === undefined) return <Page title={entity}>{texts.errors.noType}</Page>
  // Preferences decide which columns to read.
  if (preferences === undefined) return <Loading />
  return <ListOf type={type} />
}

function ListOf({ type }: { readonly type: EntityType }) {
  const [view, change] = useView()
  const columns = useColumns(type)
  const request = useRequest(type, columns, view)
  const rows = useRows(request)
  const total = useTotal(request)
  const selecting = useSelection(
    () => rows.loaded.ids(),
    JSON.stringify([view.filter, view.search, view.trashed, view.at]),
  )
  const go = useGo(type.name, view, change, rows)
  const part = { type, view, change, columns, request, total, selecting, go }
  return (
    <Page
      title={labelOf(type)}
      full
      actions={<ListActions {...part} />}
      bar={<ListBar {...part} isWrong={isFilterWrong(rows)} />}
    >
      <Content {...part} rows={rows} />
      <SelectionBar {...part} />
    </Page>
  )
}

/** Returns the function that goes to a place in the list: see `go` of a view. */
function useGo(entity: string, view: View, change: ListPart['change'], rows: LiveRows): ListPart['go'] {
  return (to) => {
    if (rows.isStale) return
    if (view.go === to) return void rows.store.reload()
    forgetRows(entity)
    change({ go: to })
  }
}

/** An error of the filter is shown at the filter itself. */
function isFilterWrong({ failure }: LiveRows): boolean {
  return fieldErrors(failure).filter !== undefined
}

function Content({ rows, ...part }: ListPart & { readonly rows: LiveRows }) {
  const { type, view, change, columns, selecting, total } = part
  const { loaded, next, failure } = rows
  const texts = useTexts()
  const isPhone = useIsNarrow()
  const hrefOf = useCallback(
    (id: number) => `/${type.name}/${id}${view.at === undefined ? '' : `?at=${encodeURIComponent(view.at)}`}`,
    [type.name, view.at],
  )
  const isPast = view.at !== undefined
  const walking = useListKeys({ type, rows, selecting, hrefOf, isPast, go: part.go })
  if (isFilterWrong(rows)) return <Empty icon="filter" title={texts.list.wrongFilter} />
  if (next === undefined && failure !== null) return <Failed error={failure} retry={rows.retry} />
  if (next === undefined) return <Loading />
  const problem = failure !== null && <Problem failure={failure} retry={rows.retry} />
  if (loaded.count === 0 && next === null) return problem || <Nothing {...part} />
  return (
    <>
      {problem}
      <Grid
        {...{ type, loaded, total, selecting, walking, isPhone, hrefOf }}
        columns={columns.shown}
        store={rows.store}
        changed={rows.changed}
        hasMore={next !== null}
        above={
          rows.previous === null ? 0 : next === null && total !== undefined ? total - loaded.count : undefined
        }
        isStale={rows.isStale}
        head={{
          sort: view.sort,
          onSort: (path, more) => change({ sort: sortBy(view.sort, path, more) }),
          onMove: columns.move,
          onSize: columns.size,
        }}
      />
    </>
  )
}

/** An error. The rows below it are those from before. */
function Problem({ failure, retry }: { readonly failure: unknown; retry(): void }) {
  const texts = useTexts()
  return (
    <div className="banner" role="alert">
      <Icon name="warn" />
      <p>{explain(failure, texts)}</p>
      <Button onClick={retry}>{texts.errors.retry}</Button>
    </div>
  )
}

const narrow = matchMedia('(max-width: 48rem)')

function useIsNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      narrow.addEventListener('change', listener)
      return () => narrow.removeEventListener('change', listener)
    },
    () => narrow.matches,
  )
}
