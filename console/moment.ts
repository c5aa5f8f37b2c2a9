import { useCallback } from 'react'
import { useLocation, useSearch } from 'wouter'

/** Parameters of the page: `useParameter('filter')`. They stay in the address, so that it can be shared. */
export function useParameter(
  name: string,
): [value: string | undefined, change: (value: string | undefined) => void] {
  const search = useSearch()
  const [path, navigate] = useLocation()
  const value = new URLSearchParams(search).get(name) ?? undefined
  const change = useCallback(
    (next: string | undefined) => {
      const parameters = new URLSearchParams(location.search)
      if (next === undefined || next === '') parameters.delete(name)
      else parameters.set(name, next)
      const text = parameters.toString()
      navigate(text === '' ? path : `${path}?${text}`, { replace: true })
    },
    [navigate, path, name],
  )
  return [value, change]
}

/** The moment that lists and Entities are shown at: `?at=` of the page. Undefined: now. */
export function useMoment(): ReturnType<typeof useParameter> {
  return useParameter('at')
}
