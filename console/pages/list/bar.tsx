import { useEffect, useState } from 'react'
import { formatNumber } from '../../format.ts'
import { Button } from '../../parts/button.tsx'
import { FilterBar } from '../../parts/filter/filter-bar.tsx'
import { Icon } from '../../parts/icon.tsx'
import { TimeBar } from '../../parts/time-bar.tsx'
import { useTexts } from '../../texts/index.ts'
import { ColumnsMenu } from './columns-menu.tsx'
import type { ListPart } from './list-part.ts'
import { OrderMenu } from './order-menu.tsx'
import { SummaryMenu } from './summary-menu.tsx'
import { useTotal } from './use-rows.ts'
import { ViewsMenu } from './views-menu.tsx'

/** The bar above the grid, which says what the list shows. */
export function ListBar(part: ListPart & { readonly isWrong: boolean }) {
  const { type, view, change } = part
  return (
    <>
      {type.search && view.at === undefined && (
        <Search value={view.search} onChange={(search) => change({ search })} />
      )}
      <FilterBar
        type={type}
        fields={part.columns.filters}
        filter={view.filter}
        isWrong={part.isWrong}
        onChange={(filter) => change({ filter })}
      />
      <span className="grow" />
      <Count {...part} />
      <ListTools {...part} />
    </>
  )
}

/** These stay together if the bar wraps. */
function ListTools(part: ListPart) {
  const { type, view, change } = part
  const texts = useTexts()
  return (
    <div className="list-tools">
      {type.may.restore !== false && view.at === undefined && (
        <Button
          tone="plain"
          icon="trash"
          aria-label={texts.list.deleted}
          aria-pressed={view.trashed === 'only'}
          onClick={() => change({ trashed: view.trashed === 'only' ? undefined : 'only' })}
        />
      )}
      {view.at === undefined && <SummaryMenu {...part} />}
      <OrderMenu {...part} />
      <ViewsMenu type={type} view={view} columns={part.columns} />
      <ColumnsMenu type={type} columns={part.columns} />
      <TimeBar entity={type.name} />
    </div>
  )
}

/** Shows how many rows there are; with a filter, of how many in total. */
function Count({ view, request, total }: ListPart) {
  const texts = useTexts()
  const isNarrowed = view.filter !== undefined || view.search !== undefined
  const all = useTotal(request, { isWhole: true, isWanted: isNarrowed })
  if (total === undefined) return null
  return (
    <span className="muted" role="status">
      {!isNarrowed
        ? texts.list.count(formatNumber(total))
        : all === undefined
          ? texts.list.matches(total, formatNumber(total))
          : texts.list.countOf(formatNumber(total), formatNumber(all))}
    </span>
  )
}

const PAUSE_MS = 200

/** The search input. It searches once the user pauses. */
function Search({
  value = '',
  onChange,
}: {
  readonly value?: string | undefined
  onChange(value: string): void
}) {
  const texts = useTexts()
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => onChange(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text, value, onChange])
  return (
    <label className="search">
      <Icon name="search" />
      <span className="visually-hidden">{texts.list.search}</span>
      <input
        type="search"
        data-find
        placeholder={texts.list.search}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
    </label>
  )
}
