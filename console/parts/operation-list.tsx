import { useCallback, useMemo, useRef } from 'react'
import { byDay, dayName } from '../days.ts'
import { isTakenBack, type Operation, undoingOf } from '../operations.ts'
import { useTexts } from '../texts/index.ts'
import { useKeys } from './keys.tsx'
import { OperationRow } from './operation-row.tsx'
import { useRowFocus } from './row-focus.ts'
import type { Undoing } from './undo-preview.tsx'

export interface Selecting {
  readonly selected: ReadonlySet<string>
  setSelected(selected: ReadonlySet<string>): void
}

interface OperationListProps {
  readonly operations: readonly Operation[]
  /** All loaded operations, which tell whether one is taken back. */
  readonly known: readonly Operation[]
  /** Without it, nothing can be selected. */
  readonly selecting?: Selecting
  undo(undoing: Undoing): void
}

/** Operations by day: `j` and `k` move, `x` selects, `u` shows what an undo would do. */
export function OperationList({ operations, known, selecting, undo }: OperationListProps) {
  const texts = useTexts()
  const list = useRef<HTMLDivElement>(null)
  const byId = useMemo(() => new Map(known.map((one) => [one.id, one])), [known])
  const latest = useRef(selecting)
  latest.current = selecting
  const select = useCallback((id: string) => {
    const next = new Set(latest.current?.selected)
    if (!next.delete(id)) next.add(id)
    latest.current?.setSelected(next)
  }, [])
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
                isSelected={selecting?.selected.has(operation.id) ?? false}
                {...(selecting !== undefined && { select })}
                undo={undoOne}
              />
            ))}
          </ul>
        </section>
      ))}
    </div>
  )
}

/** Returns the keys that act on the focused row. */
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
