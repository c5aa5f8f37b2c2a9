import { ApiError, InvalidData, NetworkError } from './api.ts'
import type { Texts } from './texts/index.ts'

/** An error in words for people. */
export function explain(error: unknown, texts: Texts): string {
  if (error instanceof NetworkError) return texts.errors.offline
  if (error instanceof InvalidData) return listed(error.errors) || error.message
  if (error instanceof ApiError) return [error.message, listed(error.errors)].filter(Boolean).join(' ')
  return error instanceof Error ? error.message : String(error)
}

function listed(errors: Readonly<Record<string, readonly string[]>> | undefined): string {
  return Object.entries(errors ?? {})
    .slice(0, 3)
    .map(([path, messages]) => `${path} ${messages.join(', ')}`.trim())
    .join('; ')
}

/** The messages for fields, by dot path. */
export function fieldErrors(error: unknown): Readonly<Record<string, readonly string[]>> {
  return error instanceof ApiError ? (error.errors ?? {}) : {}
}
