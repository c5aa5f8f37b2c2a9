/** Asks before the user leaves a page with unsaved changes. Only one page has a guard at a time. */
type Guard = (go: () => void) => void

let guard: Guard | undefined

export function setNavigationGuard(next: Guard): () => void {
  guard = next
  return () => {
    if (guard === next) guard = undefined
  }
}

/** Wraps every navigation of the router. A change of the page's own parameters does not leave it. */
export function guardedNavigation<O>(go: (to: string, options?: O) => void, to: string, options?: O): void {
  const isSamePage = new URL(to, location.href).pathname === location.pathname
  if (guard === undefined || isSamePage) go(to, options)
  else guard(() => go(to, options))
}
