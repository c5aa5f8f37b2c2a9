import { useSyncExternalStore } from 'react'

/**
 * A session that ends while somebody works: what they have asked for waits until they have signed in again, so that
 * nothing they have typed is lost.
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

/** Whether there is a session that could end. */
export function noteSignedIn(now: boolean): void {
  isSignedIn = now
}

/** After a 401: resolves once they are signed in again, rejects if they give up. Undefined if nobody was signed in. */
export function signedInAgain(error: unknown): Promise<void> | undefined {
  if (!isSignedIn) return undefined
  if (waiting === undefined) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    // Whoever waits is told; if nobody does any more, that is no mistake.
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

/** Whether everything waits for somebody to sign in again. */
export function isSessionOver(): boolean {
  return waiting !== undefined
}

export function useIsSessionOver(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, isSessionOver)
}
