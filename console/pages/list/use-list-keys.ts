import { useEffect, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { type EntityType, labelOf } from '../../model.ts'
import { type KeyMap, useKeys } from '../../parts/keys.tsx'
import { type Command, useCommands } from '../../parts/palette.tsx'
import { useTexts } from '../../texts/index.ts'
import type { Selecting } from './selection.ts'
import type { LiveRows } from './use-rows.ts'

interface Walked {
  readonly type: EntityType
  readonly rows: LiveRows
  readonly selecting: Selecting
  /** Whether the past is shown, where nothing can be changed. */
  readonly isPast: boolean
  hrefOf(id: number): string
  go(to: string | undefined): void
}

/** The position of the keyboard in a list. */
export interface Walking {
  /** The place of the current row; -1 for none. */
  readonly current: number
  /** How often it was moved. Each move scrolls to the row. */
  readonly moves: number
}

/** The keys of a list. */
export function useListKeys({ type, rows, selecting, isPast, hrefOf, ...walked }: Walked): Walking {
  const { loaded, next, previous, start } = rows
  const [, navigate] = useLocation()
  const [{ id: currentId, moves }, setCurrent] = useState<{ id?: number; moves: number }>({ moves: 0 })
  const current = useMemo(
    () => (currentId === undefined ? -1 : loaded.placeOf(currentId)),
    [loaded, currentId],
  )
  useEffect(() => {
    if (start !== undefined) setCurrent((was) => ({ ...was, id: start.id }))
  }, [start])
  const goTo = (place: number, isSelecting = false) => {
    const next = loaded.idAt(Math.max(0, Math.min(loaded.count - 1, place)))
    if (next === undefined) return
    if (isSelecting && currentId !== undefined) selecting.choose([...selecting.ids, currentId, next])
    setCurrent({ id: next, moves: moves + 1 })
  }
  const go = (step: number, isSelecting = false) => goTo(current + step, isSelecting)
  const at = () => (current < 0 ? undefined : loaded.idAt(current))
  const act = (run: (id: number) => void) => () => {
    const id = at()
    if (id !== undefined) run(id)
  }
  const open = act((id) => navigate(hrefOf(id)))
  const create = () => navigate(`/${type.name}/new`)
  const find = () => findIn(document)
  const map: KeyMap = {
    j: () => go(1),
    k: () => go(-1),
    arrowdown: () => go(1),
    arrowup: () => go(-1),
    home: () => (previous === null ? goTo(0) : walked.go(undefined)),
    end: () => (next === null ? goTo(loaded.count - 1) : walked.go('end')),
    g: () => document.querySelector<HTMLElement>('[data-order] button')?.click(),
    'shift+arrowdown': () => go(1, true),
    'shift+arrowup': () => go(-1, true),
    enter: open,
    e: open,
    x: act((id) => selecting.toggle(id)),
    // Escape closes an open menu first.
    escape: () => document.querySelector('.menu:popover-open') === null && selecting.clear(),
    '/': find,
    ...(!isPast && type.may.create !== false && { c: create }),
  }
  useKeys(withoutButtons(map))
  useListCommands({ type, isPast, create, find, clear: selecting.clear })
  return { current, moves }
}

/** Focuses the search, or the filter if there is no search. */
function findIn(page: Document): void {
  const input = page.querySelector<HTMLElement>('[data-find], .filter-text textarea')
  if (input !== null) input.focus()
  else page.querySelector<HTMLElement>('[data-filter] button')?.click()
}

/** Enter and the arrow keys have another meaning on a button or a link. */
function withoutButtons(map: KeyMap): KeyMap {
  const own = ['enter', 'arrowdown', 'arrowup']
  return Object.fromEntries(
    Object.entries(map).map(([key, run]) => [
      key,
      !own.includes(key)
        ? run
        : (event: KeyboardEvent) => {
            const isControl =
              event.target instanceof Element && event.target.closest('button, a, summary') !== null
            if (isControl && event.target instanceof HTMLElement && key === 'enter') event.target.click()
            else run(event)
          },
    ]),
  )
}

interface Commanded {
  readonly type: EntityType
  readonly isPast: boolean
  create(): void
  find(): void
  clear(): void
}

function useListCommands({ type, isPast, ...act }: Commanded): void {
  const texts = useTexts()
  const mayCreate = !isPast && type.may.create !== false
  const canSearch = type.search && !isPast
  // biome-ignore lint/correctness/useExhaustiveDependencies: what they do is the same each time.
  const commands = useMemo((): Command[] => {
    const group = labelOf(type)
    return [
      ...(mayCreate
        ? [
            {
              id: 'list new',
              title: texts.list.create,
              group,
              icon: 'plus' as const,
              keys: 'c',
              run: act.create,
            },
          ]
        : []),
      ...(canSearch
        ? [
            {
              id: 'list find',
              title: texts.list.find,
              group,
              icon: 'search' as const,
              keys: '/',
              run: act.find,
            },
          ]
        : []),
      { id: 'list none', title: texts.list.selectNone, group, keys: 'escape', run: act.clear },
    ]
  }, [texts, type, mayCreate, canSearch])
  useCommands(commands)
}
