import { type ReactNode, useSyncExternalStore } from 'react'
import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'
import { useUnloadGuard } from './use-unload-guard.ts'

/** A secret that the server sends only once: a key, recovery codes. */
export interface Secret {
  readonly title: string
  readonly help: string
  readonly text: string
  readonly copy: string
  /** The label of the button that confirms that the secret was saved. */
  readonly kept: string
  /** More text about it. */
  readonly more?: ReactNode
}

interface Shown extends Secret {
  keep(): void
}

let shown: readonly Shown[] = []
const listeners = new Set<() => void>()

function change(next: readonly Shown[]): void {
  shown = next
  for (const listener of listeners) listener()
}

/**
 * Shows a secret until the user confirms that they have saved it. It is not part of the page that asked for it: that
 * page may be rendered again at any time, and the secret would be lost.
 */
export function showOnce(secret: Secret): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const one: Shown = {
    ...secret,
    keep() {
      change(shown.filter((other) => other !== one))
      resolve()
    },
  }
  change([...shown, one])
  return promise
}

export function ShownOnce() {
  const [first] = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => shown,
  )
  return first === undefined ? null : <SecretDialog key={first.text} secret={first} />
}

function SecretDialog({ secret }: { readonly secret: Shown }) {
  const { title, help, text, copy, kept, more, keep } = secret
  useUnloadGuard(true)
  const actions = (
    <>
      <CopyButton text={text} label={copy} />
      <Button tone="main" onClick={keep}>
        {kept}
      </Button>
    </>
  )
  return (
    <Dialog title={title} actions={actions}>
      <div className="stack">
        <p>{help}</p>
        <pre>{text}</pre>
        {more}
      </div>
    </Dialog>
  )
}
