import { budget } from '../budget.ts'
import { Failure } from '../errors.ts'

/** A time as the database gives it, in milliseconds. */
export function clockTime(value: unknown): number {
  return Date.parse(String(value))
}

/** As the database takes it. */
export function textOfTime(time: number): string {
  return new Date(time).toISOString()
}

/** What went wrong at the bottom of it, short enough to be kept. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Failure ? (error.cause ?? error) : error
  const message = cause instanceof Error ? cause.message : String(cause)
  // Not every database takes every character in a text.
  return message.slice(0, budget.workErrorCharacters).replaceAll('\0', '').toWellFormed()
}
