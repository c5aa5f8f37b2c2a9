import { useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import type { EntityData } from '../../api.ts'
import { type EntityType, labelOf } from '../../model.ts'
import { type KeyMap, useKeys } from '../../parts/keys.tsx'
import { type Command, useCommands } from '../../parts/palette.tsx'
import { useTexts } from '../../texts/index.ts'
import type { Selecting } from './selection.ts'

interface Walked {
  readonly type: EntityType
  readonly rows: readonly EntityData[]
  readonly selecting: Selecting
  /** In the past, nothing can be changed. */
  readonly isPast: boolean
  hrefOf(id: number): string
}

/** Through a list by keyboard. Gives the place of the row that it is at, -1 for none. */
export function useListKeys({ type, rows, selecting, isPast, hrefOf }: Walked): number {
  const [, navigate] = useLocation()
  const [currentId, setCurrentId] = useState<number>()
  const current = useMemo(() => rows.findIndex(({ id }) => id === currentId), [rows, currentId])
  const go = (step: number, isSelecting = false) => {
    const next = rows[Math.max(0, Math.min(rows.length - 1, current + step))]
    if (next === undefined) return
    if (isSelecting && currentId !== undefined) selecting.choose([...selecting.ids, currentId, next.id])
    setCurrentId(next.id)
  }
  const at = () => rows[current]?.id
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
    'shift+arrowdown': () => go(1, true),
    'shift+arrowup': () => go(-1, true),
    enter: open,
    e: open,
    x: act((id) => selecting.toggle(id)),
    escape: () => selecting.clear(),
    '/': find,
    ...(!isPast && type.may.create !== false && { c: create }),
  }
  useKeys(withoutButtons(map))
  useListCommands({ type, isPast, create, find, clear: selecting.clear })
  return current
}

/** To the search; a list without one has its filter. */
function findIn(page: Document): void {
  const input = page.querySelector<HTMLElement>('[data-find], .filter-text textarea')
  if (input !== null) input.focus()
  else page.querySelector<HTMLElement>('[data-filter] button')?.click()
}

/** Enter and the arrows mean something else on a button or a link. */
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
