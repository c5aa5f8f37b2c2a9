import { type ReactNode, useEffect, useId, useMemo, useRef, useState } from 'react'
import { Button } from './button.tsx'
import type { IconName } from './icon.tsx'
import { type Command, useCommands } from './palette.tsx'

interface MenuProps {
  readonly label: string
  readonly icon?: IconName
  readonly tone?: 'main' | 'plain'
  /** Whether the button shows only its icon. */
  readonly isSmall?: boolean
  readonly isWide?: boolean
  /** The group under which the menu is also listed in ⌘K. */
  readonly group?: string
  /** Rendered only while the menu is open. `close` returns the focus to the button. */
  children(close: () => void): ReactNode
}

/** A button with a popover below it. */
export function Menu({ label, icon, tone, isSmall = false, isWide = false, group, children }: MenuProps) {
  const id = useId()
  const button = useRef<HTMLSpanElement>(null)
  const box = useRef<HTMLDivElement>(null)
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const popover = box.current
    if (popover === null) return
    const toggle = (event: Event) => setOpen((event as ToggleEvent).newState === 'open')
    popover.addEventListener('toggle', toggle)
    return () => popover.removeEventListener('toggle', toggle)
  }, [])
  useEffect(() => {
    const popover = box.current
    if (!isOpen || popover === null) return
    // The content may be loaded later.
    const sized = new ResizeObserver(() => place(button.current, popover))
    sized.observe(popover)
    return () => sized.disconnect()
  }, [isOpen])
  const commands = useMemo(
    (): readonly Command[] =>
      group === undefined
        ? []
        : [{ id: `menu ${group} ${label}`, title: label, group, run: () => box.current?.showPopover() }],
    [group, label],
  )
  useCommands(commands)
  return (
    <span ref={button} className="menu-button">
      <Button
        {...(icon !== undefined && { icon })}
        {...(tone !== undefined && { tone })}
        {...(isSmall && { 'aria-label': label })}
        aria-expanded={isOpen}
        popoverTarget={id}
      >
        {isSmall ? undefined : label}
      </Button>
      <div
        ref={box}
        id={id}
        popover="auto"
        className={isWide ? 'menu wide' : 'menu'}
        role="dialog"
        aria-label={label}
      >
        {isOpen && children(() => box.current?.hidePopover())}
      </div>
    </span>
  )
}

const MARGIN = 8

/** Places the menu below the button, within the window. */
function place(button: HTMLElement | null, box: HTMLElement): void {
  if (button === null) return
  const at = button.getBoundingClientRect()
  const { offsetWidth: width, offsetHeight: height } = box
  const left = Math.max(MARGIN, Math.min(at.left, innerWidth - width - MARGIN))
  const below = at.bottom + 4
  const top = below + height > innerHeight - MARGIN ? Math.max(MARGIN, innerHeight - height - MARGIN) : below
  box.style.left = `${left}px`
  box.style.top = `${top}px`
  box.style.position = 'fixed'
}
