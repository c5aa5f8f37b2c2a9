import { useCallback, useMemo, useRef, useState } from 'react'

/** The selected rows: these ids, or all rows of the list, loaded or not. */
export interface Selection {
  readonly isAll: boolean
  readonly ids: ReadonlySet<number>
}

export interface Selecting extends Selection {
  readonly isEmpty: boolean
  has(id: number): boolean
  /** With `range`, selects everything from the last one to this one. */
  toggle(id: number, range?: boolean): void
  choose(ids: readonly number[]): void
  chooseAll(): void
  clear(): void
}

const NONE: Selection = { isAll: false, ids: new Set() }

/** The selection of a list. It is cleared when the list shows something else. */
export function useSelection(order: () => readonly number[], list: string): Selecting {
  const [selection, setSelection] = useState<Selection>(NONE)
  const anchor = useRef<number>(undefined)
  const shown = useRef(list)
  if (shown.current !== list) {
    shown.current = list
    setSelection(NONE)
  }
  const latest = useRef(order)
  latest.current = order
  const toggle = useCallback((id: number, range = false) => {
    const from = anchor.current
    anchor.current = id
    setSelection((was) => {
      if (range && from !== undefined) return withRange(was, latest.current(), [from, id])
      const ids = new Set(was.isAll ? latest.current() : was.ids)
      if (!ids.delete(id)) ids.add(id)
      return { isAll: false, ids }
    })
  }, [])
  return useMemo(
    () => ({
      ...selection,
      isEmpty: !selection.isAll && selection.ids.size === 0,
      has: (id) => selection.isAll || selection.ids.has(id),
      toggle,
      choose: (ids) => setSelection({ isAll: false, ids: new Set(ids) }),
      chooseAll: () => setSelection({ isAll: true, ids: new Set() }),
      clear: () => setSelection(NONE),
    }),
    [selection, toggle],
  )
}

function withRange(was: Selection, order: readonly number[], ends: readonly number[]): Selection {
  const places = ends.map((id) => order.indexOf(id)).sort((a, b) => a - b)
  const [from = 0, to = 0] = places
  return { isAll: false, ids: new Set([...was.ids, ...order.slice(Math.max(0, from), to + 1)]) }
}
