/** Asks before a page is left on which something is not saved. One page at a time has such a guard. */
type Guard = (go: () => void) => void

let guard: Guard | undefined

export function guardLeaving(next: Guard): () => void {
  guard = next
  return () => {
    if (guard === next) guard = undefined
  }
}

/** Around every navigation of the router: other parameters of the same page leave nothing. */
export function aroundNavigation<O>(go: (to: string, options?: O) => void, to: string, options?: O): void {
  const isSamePage = new URL(to, location.href).pathname === location.pathname
  if (guard === undefined || isSamePage) go(to, options)
  else guard(() => go(to, options))
}
