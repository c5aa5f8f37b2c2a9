import type { KeyboardEvent } from 'react'
import { Button } from '../../parts/button.tsx'
import { useTexts } from '../../texts/index.ts'
import type { Column } from './columns.ts'
import type { ChosenColumns } from './use-columns.ts'

export default function ColumnsChoice({ columns }: { readonly columns: ChosenColumns }) {
  const texts = useTexts()
  const { all, shown, choose } = columns
  const hidden = all.filter(({ path }) => !shown.some((one) => one.path === path))
  return (
    <div className="columns-choice">
      <p className="muted">{texts.list.columnsHint}</p>
      <ul>
        {shown.map((column, at) => (
          <OneColumn
            key={column.path}
            column={column}
            isShown
            onToggle={() => shown.length > 1 && choose(shown.filter((one) => one !== column))}
            onMove={(step) => columns.move(at, at + step)}
          />
        ))}
        {hidden.map((column) => (
          <OneColumn
            key={column.path}
            column={column}
            isShown={false}
            onToggle={() => choose([...shown, column])}
          />
        ))}
      </ul>
      {!columns.isDefault && (
        <Button tone="plain" icon="undo" onClick={() => choose(undefined)}>
          {texts.list.columnsDefault}
        </Button>
      )}
    </div>
  )
}

interface OneColumnProps {
  readonly column: Column
  readonly isShown: boolean
  onToggle(): void
  onMove?(step: number): void
}

function OneColumn({ column, isShown, onToggle, onMove }: OneColumnProps) {
  const texts = useTexts()
  const press = (event: KeyboardEvent) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key]
    if (step === undefined || !event.altKey) return
    event.preventDefault()
    onMove?.(step)
  }
  return (
    <li>
      <label>
        <input type="checkbox" checked={isShown} onChange={onToggle} onKeyDown={press} />
        <span>{column.label}</span>
      </label>
      {onMove !== undefined && (
        <>
          <Button
            icon="up"
            tone="plain"
            aria-label={texts.list.moveUp(column.label)}
            onClick={() => onMove(-1)}
          />
          <Button
            icon="down"
            tone="plain"
            aria-label={texts.list.moveDown(column.label)}
            onClick={() => onMove(1)}
          />
        </>
      )}
    </li>
  )
}
