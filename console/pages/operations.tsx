import { useCallback, useMemo, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { byDay, dayName } from '../days.ts'
import { useModel } from '../model.ts'
import { isTakenBack, type Operation, undoingOf, useOperations } from '../operations.ts'
import { Button } from '../parts/button.tsx'
import { useKeys } from '../parts/keys.tsx'
import { OperationRow } from '../parts/operation-row.tsx'
import { Page } from '../parts/page.tsx'
import { useRowFocus } from '../parts/row-focus.ts'
import { useReached } from '../parts/seen.ts'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { type Undoing, UndoPreview } from '../parts/undo-preview.tsx'
import { useTexts } from '../texts/index.ts'
import { OperationFilters, useOperationFilter } from './operations-filters.tsx'

export default function Operations() {
  const texts = useTexts()
  const { admin } = useModel()
  const { filter, kind } = useOperationFilter()
  const query = useOperations(filter)
  const all = useMemo(() => query.data?.pages.flatMap(({ data }) => data) ?? [], [query.data])
  const [undoing, setUndoing] = useState<Undoing>()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const shown = kind === undefined ? all : all.filter((one) => hasKind(one, kind))
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
      {query.error !== null && <Failed error={query.error} retry={() => void query.refetch()} />}
      {query.isPending && <Loading />}
      {query.data !== undefined && shown.length === 0 && !query.hasNextPage && (
        <Nothing isFiltered={isFiltered} />
      )}
      <OperationList
        operations={shown}
        known={all}
        selected={selected}
        setSelected={setSelected}
        undo={setUndoing}
      />
      {query.data !== undefined && (
        <End
          key={all.length}
          isEnd={!query.hasNextPage}
          isEmpty={shown.length === 0}
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

function hasKind({ summary }: Operation, kind: string): boolean {
  return Object.values(summary).some((kinds) => kind in kinds)
}

interface OperationListProps {
  readonly operations: readonly Operation[]
  /** All that are loaded: they tell whether one is taken back. */
  readonly known: readonly Operation[]
  readonly selected: ReadonlySet<string>
  setSelected(selected: ReadonlySet<string>): void
  undo(undoing: Undoing): void
}

function OperationList({ operations, known, selected, setSelected, undo }: OperationListProps) {
  const texts = useTexts()
  const list = useRef<HTMLDivElement>(null)
  const byId = useMemo(() => new Map(known.map((one) => [one.id, one])), [known])
  const latest = useRef(selected)
  latest.current = selected
  const select = useCallback(
    (id: string) => {
      const next = new Set(latest.current)
      if (!next.delete(id)) next.add(id)
      setSelected(next)
    },
    [setSelected],
  )
  const undoOne = useCallback((operation: string) => undo({ operation }), [undo])
  const { move, focused } = useRowFocus(list, '[data-operation]', 'a.open')
  const focusedId = () => focused()?.dataset.operation
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ...keysFor(focusedId, {
      x: select,
      u: (id) => {
        const operation = byId.get(id)
        if (operation !== undefined) undoOne(undoingOf(operation, isTakenBack(operation, byId)))
      },
    }),
  })
  return (
    <div ref={list}>
      {byDay(operations).map(([day, some]) => (
        <section key={day} className="day">
          <h2>{dayName(day, texts)}</h2>
          <ul className="operations" aria-label={dayName(day, texts)}>
            {some.map((operation) => (
              <OperationRow
                key={operation.id}
                operation={operation}
                isTakenBack={isTakenBack(operation, byId)}
                isSelected={selected.has(operation.id)}
                select={select}
                undo={undoOne}
              />
            ))}
          </ul>
        </section>
      ))}
    </div>
  )
}

/** Keys that do something with the row that has the focus, and nothing without one. */
function keysFor(
  focused: () => string | undefined,
  actions: Readonly<Record<string, (id: string) => void>>,
): Record<string, (event: KeyboardEvent) => undefined | false> {
  return Object.fromEntries(
    Object.entries(actions).map(([key, act]) => [
      key,
      () => {
        const id = focused()
        if (id === undefined) return false
        act(id)
        return undefined
      },
    ]),
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
      <Button tone="plain" onClick={clear}>
        {texts.operations.clearSelection}
      </Button>
    </div>
  )
}
