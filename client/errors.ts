import { ApiError, InvalidData } from '../src/declare/refusals.ts'
import type { Preview } from './answers.ts'

export { ApiError, InvalidData }

/** 401: nobody is signed in, or the session has ended. */
export class Unauthenticated extends ApiError {}
/** 403: a rule forbids it. */
export class Forbidden extends ApiError {}
/** 404: there is nothing, or nothing that the caller may see. */
export class NotFound extends ApiError {}
/** 409: a conflict with other data; `code` and `errors` say which. */
export class Conflict extends ApiError {}
/** 410: the journal does not go back that far. */
export class Gone extends ApiError {}
/** 412: the Entity was changed since it was read. */
export class Stale extends ApiError {}
/** 429: too many requests, or too many failed logins. */
export class TooMany extends ApiError {}
/** 5xx: the server failed. */
export class ServerError extends ApiError {}
/** No answer: the network or the server is down. */
export class NetworkError extends Error {}

/** A field that others have changed. Only callers who may see the history learn by whom. */
export interface FieldConflict {
  readonly now: unknown
  readonly version?: number
  readonly actor?: string | null
  readonly at?: string
  readonly operation?: string
}

/** 409: others have changed the same fields since the `base` of an update. */
export class ChangedMeanwhile extends Conflict {
  /** The current version. Send it as `base` to overwrite the changes of others. */
  declare readonly version: number
  /** The conflicts by dot path. Missing in batches. */
  declare readonly conflicts?: Readonly<Record<string, FieldConflict>>
}

/** 412: the call would no longer do what its `plan` says. */
export class PlanChanged extends Stale {
  /** What the call would do now. */
  declare readonly preview: unknown
}

/** The key of an agent must preview its writes: nothing was written. The same call with `preview.plan` writes it. */
export class PlanFirst extends Error {
  declare readonly preview: Preview
}

/** The types of errors by `code`, or else by status. */
const types: Record<string, typeof ApiError> = {
  changed_meanwhile: ChangedMeanwhile,
  plan_changed: PlanChanged,
  401: Unauthenticated,
  403: Forbidden,
  404: NotFound,
  409: Conflict,
  410: Gone,
  412: Stale,
  429: TooMany,
}

/** Returns the error to throw for an answer. Other keys of the answer become properties of the error. */
export function errorOf(status: number, text: string): ApiError {
  let body: { message?: string; code?: string; errors?: Record<string, string[]> } = {}
  try {
    body = JSON.parse(text)
  } catch {
    // The body is not JSON: a proxy has answered, not the server.
  }
  const { message = `HTTP ${status}`, code = 'unknown', errors, ...more } = body
  const Type = types[code] ?? types[status] ?? (status >= 500 ? ServerError : ApiError)
  const made =
    code === 'invalid_data' ? new InvalidData(errors ?? {}) : new Type(status, code, { message, errors })
  return Object.assign(made, more)
}
