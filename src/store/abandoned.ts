import { Failure } from '../errors.ts'

/**
 * Refuses to write for a client that is gone, since nobody would get the answer. Bun also drops the answers to some
 * well-formed requests: those with a trailer, and those with another request close behind. It reports that through the
 * request's signal, one turn of the event loop after the last byte of the body, not before.
 */
export function refuseAbandoned(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new Failure('abandoned')
}

let turn: Promise<void> | undefined

/** Waits for the next turn of the event loop, when a signal reports what happened in this one. */
export function nextTurn(): Promise<void> {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined
      resolve()
    })
  })
  return turn
}
