import { useCallback } from 'react'
import { useLocation, useSearch } from 'wouter'

/** Returns a parameter of the page: `useParameter('filter')`. It is part of the address, so that it can be shared. */
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

/** Returns the moment at which lists and Entities are shown: the page's `?at=`. Undefined means now. */
export function useMoment(): ReturnType<typeof useParameter> {
  return useParameter('at')
}
