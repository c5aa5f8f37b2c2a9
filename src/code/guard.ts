import { Failure, TooLate } from '../errors.ts'
import { isOurs, originOf, refusalOf } from './errors.ts'

/** Code of the user's, and what the log calls it. */
export interface Guarded<T> {
  readonly name: string
  /** Aborted when it has taken too long. */
  readonly until: AbortSignal
  run(): T | Promise<T>
  /** Makes an answer of what it threw, if there is one besides the usual refusals. */
  answer?(error: unknown): Failure | undefined
}

/**
 * Runs code of the user's. Whatever it throws is an answer: its own refusals as they are, anything else a 500 whose line
 * in the log names the code.
 */
export async function guarded<T>({ name, until, run, answer }: Guarded<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  if (until.aborted) throw new TooLate(name, late)
  const running = Promise.try(run)
  // Hardly anybody waits for it after the deadline: what it throws then must not end the process.
  running.catch(() => {})
  const give = () => reject(new TooLate(name, running))
  until.addEventListener('abort', give, { once: true })
  try {
    return await Promise.race([running, late])
  } catch (error) {
    if (error instanceof Failure) throw error
    const origin = originOf(error)?.failure
    throw (
      refusalOf(error) ??
      (origin !== undefined && isOurs(origin) ? origin : answer?.(error)) ??
      new CodeFailed(name, error)
    )
  } finally {
    until.removeEventListener('abort', give)
    late.catch(() => {})
  }
}

/** A mistake in the user's code. */
export class CodeFailed extends Error {
  constructor(name: string, cause: unknown) {
    super(`${name} failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    // Where it happened, for whoever mends it.
    if (cause instanceof Error && cause.stack !== undefined) this.stack = `${this.message}\n${cause.stack}`
  }
}
