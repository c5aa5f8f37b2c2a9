import { lazy, Suspense, useState } from 'react'
import { useTexts } from '../texts/index.ts'
import type { ApiCall } from './api-call.ts'
import { Button } from './button.tsx'

const ApiDialog = lazy(() => import('./api-dialog.tsx'))

/** A button that shows what this page does as a call of the API. */
export function ApiCode({ call }: { readonly call: ApiCall }) {
  const texts = useTexts()
  const [isOpen, setOpen] = useState(false)
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
