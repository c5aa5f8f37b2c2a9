import { type KeyboardEvent, type PointerEvent, useRef } from 'react'
import { Icon } from '../../parts/icon.tsx'
import { isNumeric } from '../../parts/value.tsx'
import { useTexts } from '../../texts/index.ts'
import { type Column, withinWidths } from './columns.ts'
import { readSort } from './view.ts'

export interface HeadProps {
  readonly columns: readonly Column[]
  readonly sort: string | undefined
  onSort(path: string, more: boolean): void
  /** Moves the column at one place to another. */
  onMove(from: number, to: number): void
  /** Called repeatedly during a drag, and with `isDone` at its end. */
  onSize(at: number, width: number, isDone: boolean): void
}

/** The column heads: click to sort, drag to move, drag the edge to resize; or use Alt and the arrow keys. */
export function HeadCells(props: HeadProps) {
  return props.columns.map((column, at) => <HeadCell key={column.path} {...props} column={column} at={at} />)
}

function HeadCell({ column, at, ...head }: HeadProps & { readonly column: Column; readonly at: number }) {
  const texts = useTexts()
  const key = readSort(head.sort).find(({ path }) => path === column.sort)
  const press = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (step === undefined || !event.altKey) return
    event.preventDefault()
    if (event.shiftKey) head.onSize(at, withinWidths(column.width + step * 20), true)
    else head.onMove(at, at + step)
  }
  const { sort } = column
  return (
    <th
      scope="col"
      className={isNumeric(column.field) ? 'number' : undefined}
      aria-sort={key === undefined ? undefined : key.isDown ? 'descending' : 'ascending'}
      draggable
      onDragStart={(event) => event.dataTransfer.setData(COLUMN, String(at))}
      onDragOver={(event) => event.dataTransfer.types.includes(COLUMN) && event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        head.onMove(Number(event.dataTransfer.getData(COLUMN)), at)
      }}
    >
      <button
        type="button"
        aria-disabled={sort === undefined}
        title={texts.list.columnHint(column.label)}
        onClick={(event) => sort !== undefined && head.onSort(sort, event.shiftKey)}
        onKeyDown={press}
      >
        <span className="cut">{column.label}</span>
        {key !== undefined && <Icon name={key.isDown ? 'down' : 'up'} size={13} />}
      </button>
      <Edge width={column.width} onSize={(width, isDone) => head.onSize(at, width, isDone)} />
    </th>
  )
}

const COLUMN = 'application/x-takeback-column'

/** The right edge of a column, for resizing. On the keyboard: Alt, Shift and the arrow keys. */
function Edge({ width, onSize }: { readonly width: number; onSize(width: number, isDone: boolean): void }) {
  const start = useRef<{ readonly x: number; readonly width: number }>(undefined)
  const sized = ({ clientX }: PointerEvent) =>
    withinWidths((start.current?.width ?? width) + clientX - (start.current?.x ?? clientX))
  return (
    <span
      className="edge"
      aria-hidden="true"
      draggable
      onDragStart={(event) => {
        event.preventDefault()
        event.stopPropagation()
      }}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId)
        start.current = { x: event.clientX, width }
      }}
      onPointerMove={(event) => start.current !== undefined && onSize(sized(event), false)}
      onPointerUp={(event) => {
        if (start.current === undefined) return
        onSize(sized(event), true)
        start.current = undefined
      }}
    />
  )
}
