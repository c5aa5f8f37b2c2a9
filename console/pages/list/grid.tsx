import { useVirtualizer, type VirtualItem } from '@tanstack/react-virtual'
import { type MouseEvent, type RefObject, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import type { EntityData } from '../../api.ts'
import { type EntityType, labelOf } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import { useTexts } from '../../texts/index.ts'
import type { Column } from './columns.ts'
import { HeadCells, type HeadProps } from './head.tsx'
import { Row } from './row.tsx'
import type { Rows } from './rows.ts'
import type { Selecting } from './selection.ts'
import { useNearEnd } from './use-rows.ts'

export interface GridProps {
  readonly type: EntityType
  readonly columns: readonly Column[]
  readonly store: Rows
  readonly rows: readonly EntityData[]
  readonly changed: ReadonlySet<number>
  readonly total: number | undefined
  readonly hasMore: boolean
  /** Something else was asked for. */
  readonly isBehind: boolean
  readonly head: Omit<HeadProps, 'columns'>
  readonly selecting: Selecting
  /** The place of the row that the keyboard is at. */
  readonly current: number
  readonly isPhone: boolean
  hrefOf(id: number): string
}

const OVERSCAN = 6
/** How far from the end the next page is asked for: a moment of quick scrolling. */
const AHEAD = 150
const TICK_WIDTH = 40

/** A table of which only the rows in sight are there. The others are the height of two empty ones. */
export function Grid(props: GridProps) {
  const { rows, hasMore, store, isPhone, current, total } = props
  const texts = useTexts()
  const scroller = useRef<HTMLDivElement>(null)
  const height = useRowHeight(isPhone)
  const waiting = hasMore ? Math.min(20, Math.max(1, (total ?? Infinity) - rows.length)) : 0
  const virtual = useVirtualizer({
    count: rows.length + waiting,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: OVERSCAN,
    scrollPaddingStart: height,
    initialOffset: store.scrollTop,
  })
  const items = virtual.getVirtualItems()
  useNearEnd(store, (items.at(-1)?.index ?? 0) > rows.length - AHEAD)
  useFollowing(virtual.scrollToIndex, current)
  const above = useStillness({ scroller, store, rows, height })
  return (
    <div className="grid-frame">
      {above.count > 0 && (
        <Button className="unseen" icon="up" onClick={above.show}>
          {texts.list.unseen(above.count)}
        </Button>
      )}
      <div
        ref={scroller}
        className={`grid-scroll ${isPhone ? 'phone' : ''} ${props.isBehind ? 'behind' : ''}`}
        onScroll={() => {
          store.scrollTop = scroller.current?.scrollTop ?? 0
        }}
      >
        <GridTable {...props} items={items} end={virtual.getTotalSize()} />
      </div>
    </div>
  )
}

interface TableProps extends GridProps {
  readonly items: readonly VirtualItem[]
  readonly end: number
}

function GridTable(props: TableProps) {
  const { type, columns, rows, total, isPhone, current, items, end } = props
  const width = TICK_WIDTH + columns.reduce((sum, column) => sum + column.width, 0)
  const open = useOpening(props)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: useListKeys has the keys.
    <table
      // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: rows are walked through and opened.
      role="grid"
      className="grid"
      tabIndex={0}
      aria-label={labelOf(type)}
      aria-rowcount={total === undefined ? -1 : total + 1}
      aria-multiselectable="true"
      aria-activedescendant={rows[current] === undefined ? undefined : `row-${rows[current].id}`}
      style={isPhone ? undefined : { minWidth: width }}
      onClick={open}
    >
      <colgroup>
        <col style={{ width: TICK_WIDTH }} />
        {isPhone ? <col /> : columns.map(({ path, width }) => <col key={path} style={{ width }} />)}
        {!isPhone && <col />}
      </colgroup>
      <Head {...props} />
      <Space height={items[0]?.start ?? 0} />
      <tbody>
        <Body {...props} />
      </tbody>
      <Space height={end - (items.at(-1)?.end ?? 0)} />
    </table>
  )
}

function Head({ columns, head, isPhone, rows, selecting }: TableProps) {
  const texts = useTexts()
  const isFull = selecting.isAll || (rows.length > 0 && rows.every(({ id }) => selecting.has(id)))
  return (
    <thead>
      <tr aria-rowindex={1}>
        <th scope="col" className="tick">
          <input
            type="checkbox"
            aria-label={texts.list.selectLoaded}
            checked={isFull}
            ref={(box) => {
              if (box !== null) box.indeterminate = !isFull && !selecting.isEmpty
            }}
            onChange={() => (isFull ? selecting.clear() : selecting.choose(rows.map(({ id }) => id)))}
          />
        </th>
        {isPhone ? (
          <th scope="col">{texts.list.selectLoaded}</th>
        ) : (
          <>
            <HeadCells columns={columns} {...head} />
            <td className="rest" />
          </>
        )}
      </tr>
    </thead>
  )
}

function Body({ type, columns, rows, changed, selecting, current, isPhone, items, hrefOf }: TableProps) {
  return items.map(({ index, key }) => {
    const row = rows[index]
    if (row === undefined) return <Waiting key={key} columns={isPhone ? 1 : columns.length + 1} />
    return (
      <Row
        key={row.id}
        type={type}
        row={row}
        columns={columns}
        index={index}
        isSelected={selecting.has(row.id)}
        isCurrent={index === current}
        isChanged={changed.has(row.id)}
        href={hrefOf(row.id)}
        isCard={isPhone}
        onToggle={selecting.toggle}
      />
    )
  })
}

function Space({ height }: { readonly height: number }) {
  if (height <= 0) return null
  return (
    <tbody aria-hidden="true" className="space">
      <tr>
        <td style={{ height }} />
      </tr>
    </tbody>
  )
}

/** A row that is on its way. */
function Waiting({ columns }: { readonly columns: number }) {
  return (
    <tr className="waiting">
      <td />
      <td colSpan={columns}>
        <span />
      </td>
    </tr>
  )
}

/** A click anywhere in a row opens it; with Shift it selects up to there. */
function useOpening({ selecting, hrefOf }: GridProps): (event: MouseEvent) => void {
  const [, navigate] = useLocation()
  return (event) => {
    if (!(event.target instanceof Element) || event.target.closest('a, button, input, thead') !== null) return
    const id = Number(event.target.closest('tr')?.dataset.id)
    if (Number.isNaN(id) || getSelection()?.isCollapsed === false) return
    if (event.shiftKey) selecting.toggle(id, true)
    else if (event.metaKey || event.ctrlKey) selecting.toggle(id)
    else navigate(hrefOf(id))
  }
}

/** In pixels: the same as `--row` in the styles, and `--card` on a phone. */
function useRowHeight(isPhone: boolean): number {
  const [height] = useState(() => {
    const styles = getComputedStyle(document.documentElement)
    return (rem: string) =>
      Number.parseFloat(styles.getPropertyValue(rem)) * Number.parseFloat(styles.fontSize)
  })
  return useMemo(() => height(isPhone ? '--card' : '--row') || 34, [height, isPhone])
}

/** The row that the keyboard is at stays in sight. */
function useFollowing(scrollTo: (index: number) => void, current: number): void {
  const latest = useRef(scrollTo)
  latest.current = scrollTo
  useLayoutEffect(() => {
    if (current >= 0) latest.current(current)
  }, [current])
}

interface Still {
  readonly scroller: RefObject<HTMLDivElement | null>
  readonly store: Rows
  readonly rows: readonly EntityData[]
  readonly height: number
}

/**
 * What somebody looks at stays where it is when rows come or go above it. Tells how many have come, and goes there.
 */
function useStillness({ scroller, store, rows, height }: Still) {
  const before = useRef({ store, rows })
  const [count, setCount] = useState(0)
  useLayoutEffect(() => {
    const was = before.current
    before.current = { store, rows }
    const box = scroller.current
    if (box === null || was.rows === rows) return
    if (was.store !== store) {
      box.scrollTop = store.scrollTop
      setCount(0)
      return
    }
    if (box.scrollTop < height) return
    const first = was.rows[Math.floor(box.scrollTop / height)]?.id
    const place = rows.findIndex(({ id }) => id === first)
    const moved = place - was.rows.findIndex(({ id }) => id === first)
    if (first === undefined || place < 0 || moved === 0) return
    box.scrollTop += moved * height
    setCount((now) => Math.max(0, now + moved))
  }, [scroller, store, rows, height])
  const show = () => {
    setCount(0)
    if (store.state().unseen > 0) void store.reload()
    scroller.current?.scrollTo({ top: 0 })
  }
  return { count: count + store.state().unseen, show }
}
