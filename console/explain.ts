import { ApiError, InvalidData, NetworkError } from './api.ts'
import type { Texts } from './texts/index.ts'

/** An error in words for people. */
export function explain(error: unknown, texts: Texts): string {
  if (error instanceof NetworkError) return texts.errors.offline
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error)
  const whole = texts.errors.whole(error.code, error.message)
  const parts = listed(fieldErrors(error, texts))
  return error instanceof InvalidData ? parts || whole : [whole, parts].filter(Boolean).join(' ')
}

function listed(errors: Errors): string {
  return Object.entries(errors)
    .slice(0, 3)
    .map(([path, messages]) => `${path} ${messages.join(', ')}`.trim())
    .join('; ')
}

type Errors = Readonly<Record<string, readonly string[]>>

/** The messages for fields, by dot path; with texts, in their language. */
export function fieldErrors(error: unknown, texts?: Texts): Errors {
  const errors = error instanceof ApiError ? (error.errors ?? {}) : {}
  if (texts === undefined) return errors
  return Object.fromEntries(
    Object.entries(errors).map(([path, messages]) => [path, messages.map(texts.errors.sentence)]),
  )
}
