import { Failure, TooLate } from '../errors.ts'
import { isOurs, originOf, refusalOf } from './errors.ts'

/** A piece of the user's code, and its name in the log. */
export interface Guarded<T> {
  readonly name: string
  /** Aborted when the code has taken too long. */
  readonly until: AbortSignal
  run(): T | Promise<T>
  /** Turns a thrown error into an answer, besides the usual refusals. */
  answer?(error: unknown): Failure | undefined
}

/**
 * Runs the user's code. Every error that it throws is answered: its own refusals as they are, anything else with a 500,
 * whose line in the log names the code.
 */
export async function guarded<T>({ name, until, run, answer }: Guarded<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  if (until.aborted) throw new TooLate(name, late)
  const running = Promise.try(run)
  // Usually nobody awaits the code after the deadline. Its errors must then not end the process.
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
    // The stack shows where the mistake is.
    if (cause instanceof Error && cause.stack !== undefined) this.stack = `${this.message}\n${cause.stack}`
  }
}
