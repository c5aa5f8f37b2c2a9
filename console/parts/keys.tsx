import { useEffect, useRef } from 'react'

const isApple = /Mac|iPhone|iPad/.test(navigator.platform)

/** Keys as they are written on the keyboard: `mod+k` is ⌘K or Ctrl K. */
export function Keys({ keys }: { readonly keys: string }) {
  const shown = keys
    .split('+')
    .map((key) =>
      key === 'mod' ? (isApple ? '⌘' : 'Ctrl') : key.length === 1 ? key.toUpperCase() : (NAMES[key] ?? key),
    )
  return (
    <span className="keys" aria-hidden="true">
      {shown.join(isApple ? '' : ' ')}
    </span>
  )
}

const NAMES: Record<string, string> = {
  enter: '⏎',
  escape: 'Esc',
  shift: '⇧',
  backspace: '⌫',
  arrowup: '↑',
  arrowdown: '↓',
}

/**
 * What keys do here: `{ j: next, 'mod+k': open }`. Plain letters do nothing while somebody types, or in a dialog. One
 * that answers false has done nothing: others may use the key.
 */
export type KeyMap = Readonly<Record<string, (event: KeyboardEvent) => unknown>>

/** With `last`, only keys that nobody else has used: what is around the pages comes after them. */
export function useKeys(map: KeyMap, isActive: boolean | 'last' = true): void {
  const latest = useRef(map)
  latest.current = map
  useEffect(() => {
    if (isActive === false) return
    const target = isActive === 'last' ? window : document
    const press = (event: Event) => {
      if (!(event instanceof KeyboardEvent)) return
      const run = latest.current[nameOf(event)]
      if (run === undefined || event.defaultPrevented || (isPlain(event) && isTyping(event))) return
      if (run(event) !== false) event.preventDefault()
    }
    target.addEventListener('keydown', press)
    return () => target.removeEventListener('keydown', press)
  }, [isActive])
}

function nameOf(event: KeyboardEvent): string {
  const key = event.key.toLowerCase()
  const mod = event.metaKey || event.ctrlKey ? 'mod+' : ''
  const shift = event.shiftKey && event.key.length > 1 ? 'shift+' : ''
  return `${mod}${event.altKey ? 'alt+' : ''}${shift}${key}`
}

function isPlain(event: KeyboardEvent): boolean {
  return !event.metaKey && !event.ctrlKey && !event.altKey
}

function isTyping({ target }: KeyboardEvent): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.closest('input, textarea, select, dialog, [popover]') !== null)
  )
}
