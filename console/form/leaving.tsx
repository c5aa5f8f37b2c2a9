import { type ReactNode, useEffect, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { guardLeaving } from '../leaving.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { useTexts } from '../texts/index.ts'

/** Asks before somebody leaves with unsaved changes. `allow` lets the next step pass. */
export function useLeaving(isDirty: boolean): { readonly dialog: ReactNode; allow(): void } {
  const texts = useTexts()
  const [go, setGo] = useState<() => void>()
  const isAllowed = useRef(false)
  useEffect(() => {
    if (!isDirty) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    const end = guardLeaving((leave) => (isAllowed.current ? leave() : setGo(() => leave)))
    return () => {
      removeEventListener('beforeunload', ask)
      end()
    }
  }, [isDirty])
  const dialog = go !== undefined && (
    <Dialog
      title={texts.entity.leave.title}
      onClose={() => setGo(undefined)}
      actions={
        <>
          <Button onClick={() => setGo(undefined)}>{texts.entity.leave.stay}</Button>
          <Button tone="main" onClick={go}>
            {texts.entity.leave.leave}
          </Button>
        </>
      }
    >
      <p>{texts.entity.leave.kept}</p>
    </Dialog>
  )
  return {
    dialog: dialog === false ? null : createPortal(dialog, document.body),
    allow() {
      isAllowed.current = true
    },
  }
}
