import { type ReactNode, useSyncExternalStore } from 'react'
import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'
import { useUnloadGuard } from './use-unload-guard.ts'

/** A secret that the server tells only once: a key, recovery codes. */
export interface Secret {
  readonly title: string
  readonly help: string
  readonly text: string
  readonly copy: string
  /** What the button says by which somebody confirms that they have kept it. */
  readonly kept: string
  /** What else to say of it. */
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
 * Shows a secret until somebody says that they have kept it. It does not belong to the page that asked for it: a page
 * may be drawn anew at any time, and the secret would be lost with it.
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
