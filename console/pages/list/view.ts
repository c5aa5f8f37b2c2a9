import { useCallback, useMemo } from 'react'
import { useLocation, useSearch } from 'wouter'

/** What a list shows, and how. All of it is in the address, so that it can be stored and shared. */
export interface View {
  readonly filter?: string
  readonly search?: string
  readonly sort?: string
  readonly columns?: string
  readonly trashed?: string
  readonly at?: string
  /** Where the user went: to the `end`, or to a value of the first sort key, as JSON. */
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

/** Returns the query of the address, without `?`. */
export function writeView(view: View): string {
  const parameters = new URLSearchParams()
  for (const key of VIEW_KEYS) if (view[key] !== undefined && view[key] !== '') parameters.set(key, view[key])
  return parameters.toString()
}

/** A key that is undefined is removed. */
export type ViewChange = { readonly [Key in keyof View]?: View[Key] | undefined }

/** A change of these makes another list, which starts at its top. */
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

/** One key of `-starts_at,room.id`, with its direction. */
export interface SortKey {
  readonly path: string
  readonly isDown: boolean
}

export function readSort(sort: string | undefined): readonly SortKey[] {
  if (sort === undefined || sort === '') return []
  return sort.split(',').map((key) => ({ path: key.replace(/^-/, ''), isDown: key.startsWith('-') }))
}

/** Returns the sort of a list, or its default. */
export function sortOf({ sort, trashed }: View): string {
  return sort ?? (trashed === undefined ? '-id' : '-deleted_at')
}

/** Cycles a sort key: ascending, descending, none. With `more`, it is added to the other keys. */
export function sortBy(sort: string | undefined, path: string, more: boolean): string | undefined {
  const keys = readSort(sort)
  const was = keys.find((key) => key.path === path)
  const others = more ? keys.filter((key) => key.path !== path) : []
  const next = was === undefined ? [path] : was.isDown ? [] : [`-${path}`]
  const all = [...others.map((key) => (key.isDown ? `-${key.path}` : key.path)), ...next]
  return all.length === 0 ? undefined : all.join(',')
}
