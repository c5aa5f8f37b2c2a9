import { useEffect, useMemo, useRef, useState } from 'react'
import { byDay, dayName } from '../days.ts'
import { labelOf, useModel } from '../model.ts'
import { useParameter } from '../moment.ts'
import { Button } from '../parts/button.tsx'
import { useKeys } from '../parts/keys.tsx'
import { Page } from '../parts/page.tsx'
import { useRowFocus } from '../parts/row-focus.ts'
import { Empty, QueryState } from '../parts/states.tsx'
import { type Undoing, UndoPreview } from '../parts/undo-preview.tsx'
import { useReached } from '../parts/use-visible.ts'
import { useTexts } from '../texts/index.ts'
import { DeletionRow, type Purging } from './trash-deletion.tsx'
import { type Deletion, deletionsOf, restoringOf, useTrash, useTrashTypes } from './trash-groups.ts'
import { Purge } from './trash-purge.tsx'

export default function Trash() {
  const texts = useTexts()
  const types = useTrashTypes()
  const [entity] = useParameter('entity')
  const [words = ''] = useParameter('q')
  const chosen = entity === undefined ? types : types.filter(({ name }) => name === entity)
  const query = useTrash(chosen, words)
  const deletions = useMemo(() => deletionsOf(query.data?.pages ?? []), [query.data])
  const [undoing, setUndoing] = useState<Undoing>()
  const [purging, setPurging] = useState<Purging>()
  const load = () => query.hasNextPage && !query.isFetching && void query.fetchNextPage()
  return (
    <Page title={texts.nav.trash} bar={<TrashFilters />}>
      {chosen.length > 0 && <QueryState query={query} />}
      {(query.data !== undefined || chosen.length === 0) && deletions.length === 0 && !query.hasNextPage && (
        <Nothing isFiltered={entity !== undefined || words !== ''} />
      )}
      <Deletions deletions={deletions} restore={setUndoing} purge={setPurging} />
      {query.hasNextPage && <More key={deletions.length} load={load} />}
      {undoing !== undefined && (
        <UndoPreview
          undoing={undoing}
          title={texts.trash.restoreTitle}
          action={texts.trash.restoreTitle}
          done={texts.trash.restored}
          onClose={() => setUndoing(undefined)}
        />
      )}
      {purging !== undefined && <Purge {...purging} onClose={() => setPurging(undefined)} />}
    </Page>
  )
}

interface DeletionsProps {
  readonly deletions: readonly Deletion[]
  restore(undoing: Undoing): void
  purge(purging: Purging): void
}

function Deletions({ deletions, restore, purge }: DeletionsProps) {
  const texts = useTexts()
  const list = useRef<HTMLDivElement>(null)
  const { entities } = useModel()
  const { move, focused } = useRowFocus(list, '[data-operation]', 'a.open')
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    u: () => {
      const operation = focused()?.dataset.operation
      const deletion = deletions.find((one) => one.operation === operation)
      if (deletion === undefined) return false
      restore(restoringOf(deletion, entities))
      return true
    },
  })
  return (
    <div ref={list}>
      {byDay(deletions).map(([day, some]) => (
        <section key={day} className="day">
          <h2>{dayName(day, texts)}</h2>
          <ul className="operations" aria-label={dayName(day, texts)}>
            {some.map((deletion) => (
              <DeletionRow key={deletion.operation} deletion={deletion} restore={restore} purge={purge} />
            ))}
          </ul>
        </section>
      ))}
    </div>
  )
}

const PAUSE_MS = 250

function TrashFilters() {
  const texts = useTexts()
  const { entities } = useModel()
  const types = useTrashTypes()
  const [entity, setEntity] = useParameter('entity')
  const [words = '', setWords] = useParameter('q')
  const [text, setText] = useState(words)
  useEffect(() => {
    if (text === words) return
    const timer = setTimeout(() => setWords(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text, words, setWords])
  return (
    <form
      className="filters"
      aria-label={texts.operations.filters}
      onSubmit={(event) => event.preventDefault()}
    >
      <label>
        <span>{texts.trash.find}</span>
        <input type="search" value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <label>
        <span>{texts.operations.filterType}</span>
        <select value={entity ?? ''} onChange={(event) => setEntity(event.target.value)}>
          <option value="">{texts.operations.any}</option>
          {entities
            .filter((type) => types.includes(type))
            .map((type) => (
              <option key={type.name} value={type.name}>
                {labelOf(type)}
              </option>
            ))}
        </select>
      </label>
    </form>
  )
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }) {
  const texts = useTexts()
  if (isFiltered) return <Empty icon="filter" title={texts.operations.noneTitle} />
  return (
    <Empty icon="trash" title={texts.trash.emptyTitle}>
      {texts.trash.empty}
    </Empty>
  )
}

function More({ load }: { load(): void }) {
  const texts = useTexts()
  const end = useReached(load)
  return (
    <div ref={end} className="end">
      <Button onClick={load}>{texts.trash.more}</Button>
    </div>
  )
}
