import { useCallback, useMemo } from 'react'
import { useLocation, useSearch } from 'wouter'

/** What a list shows, and how: all of it stands in the address, so that it can be kept and shared. */
export interface View {
  readonly filter?: string
  readonly search?: string
  readonly sort?: string
  readonly columns?: string
  readonly trashed?: string
  readonly at?: string
  /** Where somebody went: to the `end`, or to a value of what it is sorted by, as JSON. */
  readonly go?: string
}

export const VIEW_KEYS = ['filter', 'search', 'sort', 'columns', 'trashed', 'at', 'go'] as const

export function readView(search: string): View {
  const parameters = new URLSearchParams(search)
  return Object.fromEntries(
    VIEW_KEYS.map((key) => [key, parameters.get(key) ?? undefined]).filter(
      ([, value]) => value !== undefined,
    ),
  )
}

/** The part of an address behind `?`. */
export function writeView(view: View): string {
  const parameters = new URLSearchParams()
  for (const key of VIEW_KEYS) if (view[key] !== undefined && view[key] !== '') parameters.set(key, view[key])
  return parameters.toString()
}

/** A key that is undefined is taken out. */
export type ViewChange = { readonly [Key in keyof View]?: View[Key] | undefined }

/** With one of these changed it is another list, which begins at its top. */
const WHAT = ['filter', 'search', 'sort', 'trashed'] as const

export function useView(): [view: View, change: (change: ViewChange) => void] {
  const search = useSearch()
  const [path, navigate] = useLocation()
  const view = useMemo(() => readView(search), [search])
  const change = useCallback(
    (next: ViewChange) => {
      const place = WHAT.some((key) => key in next) ? { go: undefined } : {}
      const text = writeView({ ...readView(location.search), ...place, ...next } as View)
      navigate(text === '' ? path : `${path}?${text}`, { replace: true })
    },
    [navigate, path],
  )
  return [view, change]
}

/** `-starts_at,room.id` → its keys with their directions. */
export interface SortKey {
  readonly path: string
  readonly isDown: boolean
}

export function readSort(sort: string | undefined): readonly SortKey[] {
  if (sort === undefined || sort === '') return []
  return sort.split(',').map((key) => ({ path: key.replace(/^-/, ''), isDown: key.startsWith('-') }))
}

/** What a list is sorted by, also if nobody has said so. */
export function sortOf({ sort, trashed }: View): string {
  return sort ?? (trashed === undefined ? '-id' : '-deleted_at')
}

/** Up, then down, then not at all. With `more`, behind the keys that there are. */
export function sortBy(sort: string | undefined, path: string, more: boolean): string | undefined {
  const keys = readSort(sort)
  const was = keys.find((key) => key.path === path)
  const others = more ? keys.filter((key) => key.path !== path) : []
  const next = was === undefined ? [path] : was.isDown ? [] : [`-${path}`]
  const all = [...others.map((key) => (key.isDown ? `-${key.path}` : key.path)), ...next]
  return all.length === 0 ? undefined : all.join(',')
}
