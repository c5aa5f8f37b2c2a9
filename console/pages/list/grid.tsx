import {
  type MouseEvent,
  memo,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { useLocation } from 'wouter'
import { type EntityType, labelOf } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import { useTexts } from '../../texts/index.ts'
import type { Column } from './columns.ts'
import { HeadCells, type HeadProps } from './head.tsx'
import type { Loaded } from './loaded.ts'
import { Row } from './row.tsx'
import type { Rows } from './rows.ts'
import type { Selecting } from './selection.ts'
import type { Walking } from './use-list-keys.ts'
import { useVisibleRows, type VisibleRows } from './use-visible-rows.ts'

export interface GridProps {
  readonly type: EntityType
  readonly columns: readonly Column[]
  readonly store: Rows
  readonly loaded: Loaded
  readonly changed: ReadonlySet<number>
  readonly total: number | undefined
  readonly hasMore: boolean
  /** The place of the first loaded row in the whole list; undefined if it is not known how many are above. */
  readonly above: number | undefined
  /** Whether the rows are those of an earlier request. */
  readonly isStale: boolean
  readonly head: Omit<HeadProps, 'columns'>
  readonly selecting: Selecting
  readonly walking: Walking
  readonly isPhone: boolean
  hrefOf(id: number): string
}

/** The most placeholders shown after the loaded rows for rows that are still being read. */
const MOST_WAITING = 20
const TICK_WIDTH = 40

/** A table that renders only the rows in sight. Two empty blocks take the height of the others. */
export function Grid(props: GridProps) {
  const { loaded, hasMore, store, isPhone, total } = props
  const texts = useTexts()
  const scroller = useRef<HTMLDivElement>(null)
  const height = useRowHeight(isPhone)
  const waiting = hasMore ? Math.min(MOST_WAITING, Math.max(1, (total ?? Infinity) - loaded.count)) : 0
  const { first, end } = useVisibleRows({ scroller, height, scrollTop: topOf(store, height) })
  const count = loaded.count + waiting
  const visible = { first: Math.min(first, count), end: Math.min(end, count) }
  useEffect(() => store.see(first, end), [store, first, end])
  useScrollToCurrent({ scroller, height, isPhone }, props.walking)
  const above = useScrollAnchor({ scroller, store, loaded, height })
  return (
    <div className="grid-frame">
      {above.count > 0 && (
        <Button className="unseen" icon={store.request.from === 'end' ? 'down' : 'up'} onClick={above.show}>
          {texts.list.unseen(above.count)}
        </Button>
      )}
      <div
        ref={scroller}
        className={`grid-scroll ${isPhone ? 'phone' : ''} ${props.isStale ? 'stale' : ''}`}
        onScroll={() => {
          store.scrollTop = scroller.current?.scrollTop ?? 0
        }}
      >
        <GridTable {...props} visible={visible} height={height} count={count} />
      </div>
    </div>
  )
}

interface TableProps extends GridProps {
  readonly visible: VisibleRows
  readonly height: number
  /** The number of all rows, including those still being read. */
  readonly count: number
}

function GridTable(props: TableProps) {
  const { type, columns, loaded, total, isPhone, visible, height } = props
  const width = TICK_WIDTH + columns.reduce((sum, column) => sum + column.width, 0)
  const open = useOpening(props)
  const active = loaded.rowAt(props.walking.current)?.id
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
      aria-activedescendant={active === undefined ? undefined : `row-${active}`}
      style={isPhone ? undefined : { minWidth: width }}
      onClick={open}
    >
      <colgroup>
        <col style={{ width: TICK_WIDTH }} />
        {isPhone ? <col /> : columns.map(({ path, width }) => <col key={path} style={{ width }} />)}
        {!isPhone && <col />}
      </colgroup>
      <Head
        columns={columns}
        head={props.head}
        isPhone={isPhone}
        loaded={loaded}
        selecting={props.selecting}
      />
      <Space height={visible.first * height} />
      <tbody>
        <Body {...props} />
      </tbody>
      <Space height={(props.count - visible.end) * height} />
    </table>
  )
}

type TableHeadProps = Pick<GridProps, 'columns' | 'head' | 'isPhone' | 'loaded' | 'selecting'>

/** Memoized: it does not change while the user scrolls. */
const Head = memo(function Head({ columns, head, isPhone, loaded, selecting }: TableHeadProps) {
  const texts = useTexts()
  const isFull = useMemo(
    () =>
      selecting.isAll ||
      (loaded.count > 0 && selecting.ids.size >= loaded.count && loaded.ids().every(selecting.has)),
    [loaded, selecting],
  )
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
            onChange={() => (isFull ? selecting.clear() : selecting.choose(loaded.ids()))}
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
})

function Body({
  type,
  columns,
  loaded,
  changed,
  selecting,
  walking,
  isPhone,
  visible,
  ...props
}: TableProps) {
  const places = Array.from({ length: visible.end - visible.first }, (_, at) => visible.first + at)
  return places.map((index) => {
    const row = loaded.rowAt(index)
    if (row === undefined) return <Waiting key={`at ${index}`} columns={isPhone ? 1 : columns.length + 1} />
    return (
      <Row
        key={row.id}
        type={type}
        row={row}
        columns={columns}
        index={props.above === undefined ? undefined : props.above + index}
        isSelected={selecting.has(row.id)}
        isCurrent={index === walking.current}
        isChanged={changed.has(row.id)}
        href={props.hrefOf(row.id)}
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

/** A placeholder for a row that is still being read. */
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

/** A click anywhere in a row opens it; with Shift it extends the selection. */
function useOpening({ selecting, hrefOf }: GridProps): (event: MouseEvent) => void {
  const [, navigate] = useLocation()
  return (event) => {
    if (!(event.target instanceof Element)) return
    const to = event.target.closest<HTMLElement>('a[data-to]')?.dataset.to
    if (to !== undefined && isPlainClick(event)) {
      event.preventDefault()
      return navigate(to)
    }
    if (event.target.closest('a, button, input, thead') !== null) return
    const id = Number(event.target.closest('tr')?.dataset.id)
    if (Number.isNaN(id) || getSelection()?.isCollapsed === false) return
    if (event.shiftKey) selecting.toggle(id, true)
    else if (event.metaKey || event.ctrlKey) selecting.toggle(id)
    else navigate(hrefOf(id))
  }
}

/** Other clicks open a link in a new tab or window. */
function isPlainClick({ button, metaKey, ctrlKey, shiftKey, altKey }: MouseEvent): boolean {
  return button === 0 && !metaKey && !ctrlKey && !shiftKey && !altKey
}

/** Returns the row height in pixels: `--row` of the styles, or `--card` on a phone. */
function useRowHeight(isPhone: boolean): number {
  const [height] = useState(() => {
    const styles = getComputedStyle(document.documentElement)
    return (rem: string) =>
      Number.parseFloat(styles.getPropertyValue(rem)) * Number.parseFloat(styles.fontSize)
  })
  return useMemo(() => height(isPhone ? '--card' : '--row') || 34, [height, isPhone])
}

interface Sized {
  readonly scroller: RefObject<HTMLDivElement | null>
  readonly height: number
  readonly isPhone: boolean
}

/** Scrolls to the row that the keyboard has moved to. */
function useScrollToCurrent({ scroller, height, isPhone }: Sized, { current, moves }: Walking): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: where rows come and go, nothing moves.
  useLayoutEffect(() => {
    const box = scroller.current
    if (box === null || current < 0) return
    const top = current * height
    // The table head covers the first row in sight.
    const bottom = top + height - box.clientHeight + (isPhone ? 0 : height)
    if (box.scrollTop > top) box.scrollTop = top
    else if (box.scrollTop < bottom) box.scrollTop = bottom
  }, [moves])
}

interface ScrollAnchorOptions {
  readonly scroller: RefObject<HTMLDivElement | null>
  readonly store: Rows
  readonly loaded: Loaded
  readonly height: number
}

/** Returns the scroll position: where the list was left, or where it starts. */
function topOf(store: Rows, height: number): number {
  const { start, loaded } = store.state()
  return store.scrollTop ?? (start === undefined ? 0 : loaded.placeOf(start.id) * height)
}

/** Keeps the rows in sight in place when rows above them come or go. Counts new rows, and can show them. */
function useScrollAnchor({ scroller, store, loaded, height }: ScrollAnchorOptions) {
  const { start, reached } = store.state()
  const before = useRef<{ store?: Rows; loaded: Loaded; start?: object | undefined; reached: number }>({
    loaded,
    reached,
  })
  const [count, setCount] = useState(0)
  useLayoutEffect(() => {
    const was = before.current
    before.current = { store, loaded, start, reached }
    const box = scroller.current
    if (box === null) return
    if (was.store !== store || was.start !== start) {
      box.scrollTop = topOf(store, height)
      setCount(0)
      return
    }
    // Rows that are loaded by scrolling up are not new.
    const old = reached - was.reached
    if (was.loaded === loaded || (box.scrollTop < height && old === 0)) return
    const moved = movedBy(was.loaded, loaded, Math.floor(box.scrollTop / height))
    if (moved === 0) return
    box.scrollTop += moved * height
    setCount((now) => Math.max(0, now + moved - old))
  }, [scroller, store, loaded, start, reached, height])
  const show = () => {
    setCount(0)
    if (store.state().unseen > 0) void store.reload()
    if (start === undefined) scroller.current?.scrollTo({ top: 0 })
  }
  return { count: count + store.state().unseen, show }
}

const LOOKED_AT = 50

/** Returns how far the row at a place has moved. If it is gone, the next row that is still there counts. */
function movedBy(before: Loaded, after: Loaded, from: number): number {
  for (let place = from; place < Math.min(from + LOOKED_AT, before.count); place++) {
    const id = before.idAt(place)
    if (id === undefined || after.idAt(place) === id) return 0
    const now = after.placeOf(id)
    if (now >= 0) return now - place
  }
  return 0
}
