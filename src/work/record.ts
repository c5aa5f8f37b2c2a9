import { budget } from '../budget.ts'
import { Failure } from '../errors.ts'

/** A time of the database, in milliseconds. */
export function clockTime(value: unknown): number {
  return Date.parse(String(value))
}

/** A time in the form that the database takes. */
export function textOfTime(time: number): string {
  return new Date(time).toISOString()
}

/** The message of the root cause, short enough to store. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Failure ? (error.cause ?? error) : error
  const message = cause instanceof Error ? cause.message : String(cause)
  // Not every database accepts every character in a text.
  return message.slice(0, budget.workErrorCharacters).replaceAll('\0', '').toWellFormed()
}
