import { useEffect, useRef, useSyncExternalStore } from 'react'
import { Link } from 'wouter'
import { useTexts } from '../texts/index.ts'
import { Button } from './button.tsx'

export interface Toast {
  readonly text: string
  readonly tone?: 'bad'
  readonly action?: { readonly text: string; run(): void | Promise<void> }
  readonly link?: { readonly to: string; readonly text: string }
}

interface Shown extends Toast {
  readonly id: number
}

const LASTS_MS = 10_000
const MOST = 4
let toasts: readonly Shown[] = []
let count = 0
const listeners = new Set<() => void>()

function change(next: readonly Shown[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

/** Says something in the corner for a while. */
export function showToast(toast: Toast): void {
  change([...toasts, { ...toast, id: ++count }].slice(-MOST))
}

function dismiss(id: number): void {
  change(toasts.filter((one) => one.id !== id))
}

/** The newest toast that can be taken back: `u` does it. */
export function undoNewest(): boolean {
  const newest = toasts.findLast((one) => one.action !== undefined)
  if (newest === undefined) return false
  dismiss(newest.id)
  void newest.action?.run()
  return true
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
  const texts = useTexts()
  // A popover, so that it is above dialogs too.
  const box = useRef<HTMLElement>(null)
  useEffect(() => {
    // Anew for each: a dialog that was opened later would be above it.
    box.current?.hidePopover()
    if (shown.length > 0) box.current?.showPopover()
  }, [shown])
  return (
    <section ref={box} popover="manual" className="toasts" aria-live="polite" aria-label={texts.messages}>
      {shown.map((toast) => (
        <OneToast key={toast.id} toast={toast} />
      ))}
    </section>
  )
}

function OneToast({ toast }: { readonly toast: Shown }) {
  const { id, text, tone, action, link } = toast
  const texts = useTexts()
  useEffect(() => {
    const timer = setTimeout(() => dismiss(id), LASTS_MS)
    return () => clearTimeout(timer)
  }, [id])
  return (
    <div className={`toast ${tone ?? ''}`}>
      <p>{text}</p>
      {action !== undefined && (
        <Button
          icon="undo"
          keys="u"
          onClick={() => {
            dismiss(id)
            void action.run()
          }}
        >
          {action.text}
        </Button>
      )}
      {link !== undefined && <Link href={link.to}>{link.text}</Link>}
      <Button icon="close" tone="plain" aria-label={texts.close} onClick={() => dismiss(id)} />
    </div>
  )
}
