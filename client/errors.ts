import { ApiError, InvalidData } from '../src/declare/refusals.ts'
import type { Preview } from './answers.ts'

export { ApiError, InvalidData }

/** 401: nobody is signed in, or the session has ended. */
export class Unauthenticated extends ApiError {}
/** 403: a rule forbids it. */
export class Forbidden extends ApiError {}
/** 404: there is nothing there, or nothing that one may see. */
export class NotFound extends ApiError {}
/** 409: a conflict with other data; `code` and `errors` say which. */
export class Conflict extends ApiError {}
/** 410: the journal does not go back that far. */
export class Gone extends ApiError {}
/** 412: it was changed since it was read. */
export class Stale extends ApiError {}
/** 429: too many requests, or too many failed logins. */
export class TooMany extends ApiError {}
/** 5xx: the server could not do it. */
export class ServerError extends ApiError {}
/** No answer: the network or the server is down. */
export class NetworkError extends Error {}

/** A field that others have changed. Only those who may see the history learn who did it. */
export interface FieldConflict {
  readonly now: unknown
  readonly version?: number
  readonly actor?: string | null
  readonly at?: string
  readonly operation?: string
}

/** 409: others have changed the same fields since the `base` of an update. */
export class ChangedMeanwhile extends Conflict {
  /** The current version: send it as `base` to overwrite what others have done. */
  declare readonly version: number
  /** By dot path. Not in batches. */
  declare readonly conflicts?: Readonly<Record<string, FieldConflict>>
}

/** 412: it would no longer do what the `plan` says. */
export class PlanChanged extends Stale {
  /** What it would do now. */
  declare readonly preview: unknown
}

/** The key of an agent must plan first: nothing was written. The same call with `preview.plan` does it. */
export class PlanFirst extends Error {
  declare readonly preview: Preview
}

const byCode: Record<string, typeof ApiError> = {
  changed_meanwhile: ChangedMeanwhile,
  plan_changed: PlanChanged,
}
const byStatus: Record<number, typeof ApiError> = {
  401: Unauthenticated,
  403: Forbidden,
  404: NotFound,
  409: Conflict,
  410: Gone,
  412: Stale,
  429: TooMany,
}

/** What an answer with an error is thrown as. What it has besides becomes a property. */
export function errorOf(status: number, text: string): ApiError {
  let body: { message?: string; code?: string; errors?: Record<string, string[]> } = {}
  try {
    body = JSON.parse(text)
  } catch {
    // Not one of the server's own: a proxy has answered.
  }
  const { message = `HTTP ${status}`, code = 'unknown', errors, ...more } = body
  const Type = byCode[code] ?? byStatus[status] ?? (status >= 500 ? ServerError : ApiError)
  const made =
    code === 'invalid_data' ? new InvalidData(errors ?? {}) : new Type(status, code, { message, errors })
  return Object.assign(made, more)
}
