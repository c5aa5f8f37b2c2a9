import { useMemo, useRef } from 'react'
import { useLocation } from 'wouter'
import { useLastChange } from './own-changes.ts'
import { useCommands } from './parts/palette.tsx'
import { showToast } from './parts/toast.tsx'
import { useTexts } from './texts/index.ts'

/** Returns a function that shows what an undo of the user's last change would do. */
export function useUndoLast(): () => Promise<void> {
  const texts = useTexts()
  const [, navigate] = useLocation()
  const find = useLastChange()
  return async () => {
    const last = await find()
    if (last === undefined) showToast({ text: texts.home.noLast })
    else navigate(`/operations/${last.id}?undo=1`)
  }
}

/** Adds the commands about time, which work on every page. */
export function useTimeCommands(): void {
  const texts = useTexts()
  const undoLast = useUndoLast()
  const latest = useRef(undoLast)
  latest.current = undoLast
  const commands = useMemo(
    () => [
      {
        id: 'undo last',
        title: texts.home.undoLast,
        group: texts.undo.undo,
        icon: 'undo' as const,
        run: () => void latest.current(),
      },
    ],
    [texts],
  )
  useCommands(commands)
}
