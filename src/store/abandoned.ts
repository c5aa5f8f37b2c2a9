import { Failure } from '../errors.ts'

/**
 * A client that has gone is not answered, so nothing is written for it. Bun also drops the answers to requests that are
 * well-formed: those with a trailer, and those with another request close behind. It says so through the request's
 * signal, one turn of the event loop after the last byte of the body, not before.
 */
export function refuseAbandoned(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new Failure('abandoned')
}

let turn: Promise<void> | undefined

/** The next turn of the event loop, in which a signal tells what this one has brought. */
export function nextTurn(): Promise<void> {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined
      resolve()
    })
  })
  return turn
}
