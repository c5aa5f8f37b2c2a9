import { type RefObject, useCallback } from 'react'

/** Moves the focus from row to row with `j` and `k`. Other keys act on the focused row. */
export function useRowFocus(list: RefObject<HTMLElement | null>, rows: string, target: string) {
  const focused = useCallback(
    (): HTMLElement | undefined =>
      list.current?.contains(document.activeElement)
        ? (document.activeElement?.closest<HTMLElement>(rows) ?? undefined)
        : undefined,
    [list, rows],
  )
  const move = useCallback(
    (by: 1 | -1) => {
      const all = [...(list.current?.querySelectorAll<HTMLElement>(rows) ?? [])]
      const now = focused()
      const at = now === undefined ? (by === 1 ? 0 : all.length - 1) : all.indexOf(now) + by
      const next = all[Math.max(0, Math.min(at, all.length - 1))]
      next?.querySelector<HTMLElement>(target)?.focus()
      next?.scrollIntoView({ block: 'nearest' })
    },
    [list, rows, target, focused],
  )
  return { move, focused }
}
