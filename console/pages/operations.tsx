import { useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { useModel } from '../model.ts'
import { useOperations } from '../operations.ts'
import { Button } from '../parts/button.tsx'
import { OperationList } from '../parts/operation-list.tsx'
import { Page } from '../parts/page.tsx'
import { Empty, QueryState } from '../parts/states.tsx'
import { type Undoing, UndoPreview } from '../parts/undo-preview.tsx'
import { useReached } from '../parts/use-visible.ts'
import { useTexts } from '../texts/index.ts'
import { OperationFilters, useOperationFilter } from './operations-filters.tsx'

export default function Operations() {
  const texts = useTexts()
  const { admin } = useModel()
  const { filter, kind } = useOperationFilter()
  const query = useOperations(filter, { kind })
  const all = useMemo(() => query.data?.pages.flatMap(({ data }) => data) ?? [], [query.data])
  const [undoing, setUndoing] = useState<Undoing>()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const isFiltered = Object.keys(filter).length > 0 || kind !== undefined
  const undoSelected = () => setUndoing({ operations: [...selected] })
  return (
    <Page
      title={texts.nav.operations}
      actions={
        Object.keys(filter).length > 0 &&
        kind === undefined &&
        all.length > 0 && (
          <Button icon="undo" onClick={() => setUndoing({ filter })}>
            {texts.operations.undoAll}
          </Button>
        )
      }
      bar={<OperationFilters known={all} />}
    >
      {!admin && <p className="muted">{texts.operations.onlyOwn}</p>}
      <QueryState query={query} />
      {query.data !== undefined && all.length === 0 && !query.hasNextPage && (
        <Nothing isFiltered={isFiltered} />
      )}
      <OperationList operations={all} known={all} selecting={{ selected, setSelected }} undo={setUndoing} />
      {query.data !== undefined && (
        <End
          key={all.length}
          isEnd={!query.hasNextPage}
          isEmpty={all.length === 0}
          load={() => query.hasNextPage && !query.isFetching && void query.fetchNextPage()}
        />
      )}
      {selected.size > 0 && (
        <Selection count={selected.size} undo={undoSelected} clear={() => setSelected(new Set())} />
      )}
      {undoing !== undefined && (
        <UndoPreview
          undoing={undoing}
          onClose={() => setUndoing(undefined)}
          onDone={() => setSelected(new Set())}
        />
      )}
    </Page>
  )
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }) {
  const texts = useTexts()
  const [, navigate] = useLocation()
  if (!isFiltered)
    return (
      <Empty icon="history" title={texts.operations.emptyTitle}>
        {texts.operations.empty}
      </Empty>
    )
  return (
    <Empty
      icon="filter"
      title={texts.operations.noneTitle}
      action={<Button onClick={() => navigate('/operations')}>{texts.operations.clearFilters}</Button>}
    >
      {texts.operations.none}
    </Empty>
  )
}

/** Loads more as soon as it is seen. */
function End({ isEnd, isEmpty, load }: { readonly isEnd: boolean; readonly isEmpty: boolean; load(): void }) {
  const texts = useTexts()
  const end = useReached(load)
  if (isEnd) return isEmpty ? null : <p className="end muted">{texts.operations.end}</p>
  return (
    <div ref={end} className="end">
      <Button onClick={load}>{texts.operations.more}</Button>
    </div>
  )
}

function Selection({ count, undo, clear }: { readonly count: number; undo(): void; clear(): void }) {
  const texts = useTexts()
  return (
    <div className="selection" role="status">
      <span>{texts.operations.selected(count)}</span>
      <Button icon="undo" tone="main" onClick={undo}>
        {texts.operations.undoSelected}
      </Button>
      <Button icon="close" tone="plain" aria-label={texts.operations.clearSelection} onClick={clear} />
    </div>
  )
}
