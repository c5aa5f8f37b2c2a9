import { type ReactNode, useEffect, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { setNavigationGuard } from '../navigation-guard.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { useUnloadGuard } from '../parts/use-unload-guard.ts'
import { useTexts } from '../texts/index.ts'

/** Asks before the user leaves unsaved changes. `allow` permits the next navigation. */
export function useLeaveGuard(isDirty: boolean): { readonly dialog: ReactNode; allow(): void } {
  const texts = useTexts()
  const [go, setGo] = useState<() => void>()
  const isAllowed = useRef(false)
  useUnloadGuard(isDirty)
  useEffect(() => {
    if (!isDirty) return
    return setNavigationGuard((leave) => (isAllowed.current ? leave() : setGo(() => leave)))
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
