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

/** Shows a message in the corner for a while. A repeated message replaces the one before. */
export function showToast(toast: Toast): void {
  const last = toasts.at(-1)
  const before = last?.text === toast.text && last.tone === toast.tone ? toasts.slice(0, -1) : toasts
  change([...before, { ...toast, id: ++count }].slice(-MOST))
}

function dismiss(id: number): void {
  change(toasts.filter((one) => one.id !== id))
}

/** Returns the newest toast with an action: the key belongs to it. */
function newestOf(shown: readonly Shown[]): Shown | undefined {
  return shown.findLast((one) => one.action !== undefined)
}

/** Runs the action of the newest toast that has one, for the key `u`. */
export function undoNewest(): boolean {
  const newest = newestOf(toasts)
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
  const newest = newestOf(shown)
  // A popover, so that it is above dialogs.
  const box = useRef<HTMLElement>(null)
  useEffect(() => {
    // Opened again for each toast: otherwise a dialog that opened later would cover it.
    box.current?.hidePopover()
    if (shown.length > 0) box.current?.showPopover()
  }, [shown])
  return (
    <section ref={box} popover="manual" className="toasts" aria-live="polite" aria-label={texts.messages}>
      {shown.map((toast) => (
        <OneToast key={toast.id} toast={toast} isNewest={toast === newest} />
      ))}
    </section>
  )
}

function OneToast({ toast, isNewest }: { readonly toast: Shown; readonly isNewest: boolean }) {
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
          {...(isNewest && { keys: 'u' })}
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
