import { useEffect } from 'react'

/** The browser asks before it leaves the page, as long as something would be lost. */
export function useUnloadGuard(isOn: boolean): void {
  useEffect(() => {
    if (!isOn) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [isOn])
}
