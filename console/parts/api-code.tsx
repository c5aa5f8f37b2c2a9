import { lazy, Suspense, useMemo, useState } from 'react'
import { useTexts } from '../texts/index.ts'
import type { ApiCall } from './api-call.ts'
import { Button } from './button.tsx'
import { type Command, useCommands } from './palette.tsx'

const ApiDialog = lazy(() => import('./api-dialog.tsx'))

/** A button that shows the API call behind this page. */
export function ApiCode({ call }: { readonly call: ApiCall }) {
  const texts = useTexts()
  const [isOpen, setOpen] = useState(false)
  const commands = useMemo(
    (): readonly Command[] => [
      { id: 'try api', title: texts.tryApi.title, group: 'API', icon: 'code', run: () => setOpen(true) },
    ],
    [texts],
  )
  useCommands(commands)
  return (
    <>
      <Button tone="plain" icon="code" aria-label={texts.tryApi.title} onClick={() => setOpen(true)} />
      {isOpen && (
        <Suspense>
          <ApiDialog call={call} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
