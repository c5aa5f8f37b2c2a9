import { useState } from 'react'
import { useTexts } from '../texts/index.ts'
import { Dialog } from './dialog.tsx'
import { activeKeys, Keys } from './keys.tsx'

/** Lists all keys that do something on this page. */
export function KeyHelp({ onClose }: { onClose(): void }) {
  const texts = useTexts()
  // The keys from before the dialog opened: it deactivates some.
  const [{ here, everywhere }] = useState(activeKeys)
  return (
    <Dialog title={texts.keyHelp.title} onClose={onClose}>
      <KeyList title={texts.keyHelp.here} keys={here} />
      <KeyList title={texts.keyHelp.everywhere} keys={everywhere} />
    </Dialog>
  )
}

function KeyList({ title, keys }: { readonly title: string; readonly keys: readonly string[] }) {
  const texts = useTexts()
  const named = Object.entries(texts.keyHelp.does).filter(([key]) => keys.includes(key))
  if (named.length === 0) return null
  return (
    <section className="key-help">
      <h3>{title}</h3>
      <dl>
        {named.map(([key, does]) => (
          <div key={key}>
            <dt>
              <Keys keys={key} isRead />
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
