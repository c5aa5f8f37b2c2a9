import type { Params, Row } from './dialect.ts'
import type { Statement } from './sql.ts'
import type { Outcome, Step } from './step.ts'

/** A request to the Store: to read, or to write as one transaction. */
export type SingleRequest =
  | { readonly kind: 'read'; readonly statement: Statement; readonly params: Params }
  | { readonly kind: 'write'; readonly steps: readonly Step[]; readonly params: Params }

/** `together`: several requests that need not wait for each other. Their outcomes are put into `outcomes`, in order. */
export type StoreRequest =
  | SingleRequest
  | { readonly kind: 'together'; readonly requests: readonly SingleRequest[]; readonly outcomes: Outcome[] }

/** Work that is not for the Store and must not be done inside a transaction. */
export type Effect =
  /** Waits a moment, because others are in the way. */
  | { readonly kind: 'pause'; readonly ms: number }
  /** Slow work that always has the same result, or one just as good. */
  | { readonly kind: 'work'; readonly on: string; readonly run: Run }
  /** Runs as soon as the writes are committed. */
  | { readonly kind: 'after'; run(): void | Promise<void> }

/** `signal`: aborted once nobody waits for the result. */
export type Run = (signal?: AbortSignal) => Promise<string>

/**
 * An operation that yields what it wants and leaves the execution to others. `perform` runs one request after the
 * other, `transact` runs all of them in one transaction. So the same code serves a single call and a part of many.
 */
export type Act<T> = Generator<StoreRequest | Effect, T, Outcome>

/** An Act without effects, as a Store runs it. */
export type StoreAct<T> = Generator<StoreRequest, T, Outcome>

export function* read(statement: Statement, params: Params): Act<readonly Row[]> {
  const { rows } = yield { kind: 'read', statement, params }
  return rows
}

export function* write(steps: readonly Step[], params: Params): Act<Outcome> {
  return yield { kind: 'write', steps, params }
}

export function* pause(ms: number): Act<void> {
  yield { kind: 'pause', ms }
}

export function* work(on: string, run: Run): Act<string> {
  const { rows } = yield { kind: 'work', on, run }
  return String(rows[0]?.[0])
}

export function* after(run: () => void | Promise<void>): Act<void> {
  yield { kind: 'after', run }
}

/** Runs independent Acts side by side. What they ask for at the same time is sent together. */
export function* all<T>(acts: readonly Act<T>[]): Act<T[]> {
  const results: T[] = []
  let open = acts.map((act, at) => ({ act, at, next: act.next() }))
  while (open.length > 0) {
    const waiting: typeof open = []
    const requests: SingleRequest[] = []
    for (const { act, at, next: first } of open) {
      let next = first
      while (!next.done && !isSingleRequest(next.value)) next = act.next(yield next.value)
      if (next.done) results[at] = next.value
      else if (isSingleRequest(next.value)) {
        waiting.push({ act, at, next })
        requests.push(next.value)
      }
    }
    const outcomes: Outcome[] = []
    if (requests.length > 0) yield { kind: 'together', requests, outcomes }
    open = waiting.map(({ act, at }, place) => ({ act, at, next: act.next(outcomes[place] ?? NOTHING) }))
  }
  return results
}

function isSingleRequest(request: StoreRequest | Effect): request is SingleRequest {
  return request.kind === 'read' || request.kind === 'write'
}

/** The outcome of a request without a result. */
export const NOTHING: Outcome = { done: true, rows: [] }
