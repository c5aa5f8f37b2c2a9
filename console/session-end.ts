import { useSyncExternalStore } from 'react'

/**
 * A session that has ended while the user works. Calls wait until the user has signed in again, so that nothing typed
 * is lost.
 */
interface Waiting {
  readonly over: Promise<void>
  resolve(): void
  reject(error: unknown): void
}

let isSignedIn = false
let waiting: Waiting | undefined
const listeners = new Set<() => void>()

function change(next: Waiting | undefined): void {
  waiting = next
  for (const listener of listeners) listener()
}

/** Notes whether there is a session that could end. */
export function setSignedIn(now: boolean): void {
  isSignedIn = now
}

/** After a 401: resolves after a new sign-in, rejects if the user gives up. Undefined if nobody was signed in. */
export function signedInAgain(error: unknown): Promise<void> | undefined {
  if (!isSignedIn) return undefined
  if (waiting === undefined) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    // Callers handle the rejection. If there are none left, it is no error.
    promise.catch(() => {})
    change({ over: promise, resolve, reject: () => reject(error) })
  }
  return waiting?.over
}

export function goOn(): void {
  waiting?.resolve()
  change(undefined)
}

export function giveUp(): void {
  waiting?.reject(undefined)
  change(undefined)
}

/** Whether all calls wait for the user to sign in again. */
export function isSessionOver(): boolean {
  return waiting !== undefined
}

export function useIsSessionOver(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, isSessionOver)
}
