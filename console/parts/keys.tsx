import { type RefObject, useEffect, useRef } from 'react'
import { useTexts } from '../texts/index.ts'

const isApple = /Mac|iPhone|iPad/.test(navigator.platform)

/** Shows keys as on the keyboard: `mod+k` is ⌘K or Ctrl K. Screen readers skip them unless `isRead`. */
export function Keys({ keys, isRead = false }: { readonly keys: string; readonly isRead?: boolean }) {
  const texts = useTexts()
  const shown = keys
    .split('+')
    .map((key) =>
      key === 'mod'
        ? isApple
          ? '⌘'
          : texts.keyHelp.control
        : key.length === 1
          ? key.toUpperCase()
          : (NAMES[key] ?? key),
    )
  return (
    <span className="keys" aria-hidden={!isRead}>
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
  home: 'Home',
  end: 'End',
}

/**
 * Functions by key: `{ j: next, 'mod+k': open }`. Keys without modifiers do nothing while the user types, or in a
 * dialog. If a function returns false, the key is left to others.
 */
export type KeyMap = Readonly<Record<string, (event: KeyboardEvent) => unknown>>

interface Active {
  readonly map: RefObject<KeyMap>
  readonly isEverywhere: boolean
}

const active = new Set<Active>()

/** Returns the active keys: those of the page, and those that are the same everywhere. */
export function activeKeys(): { readonly here: readonly string[]; readonly everywhere: readonly string[] } {
  const named = (isEverywhere: boolean) =>
    [...active]
      .filter((one) => one.isEverywhere === isEverywhere)
      .flatMap(({ map }) => Object.keys(map.current))
  return { here: named(false), everywhere: named(true) }
}

/** Handles keys. With `last`, only those that no page has handled: for the shell around the pages. */
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
    const one = { map: latest, isEverywhere: isActive === 'last' }
    active.add(one)
    target.addEventListener('keydown', press)
    return () => {
      active.delete(one)
      target.removeEventListener('keydown', press)
    }
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
