import { ApiError, InvalidData } from '../declare/refusals.ts'
import { catalogue, type Errors, Failure, note, shownErrors } from '../errors.ts'

/** The failures behind errors of the API, as the user's code gets these. */
const failures = new WeakMap<ApiError, Failure>()

/** A failure as the user's code gets it. Errors outside the catalogue stay as they are. */
export function apiErrorOf(error: unknown): unknown {
  if (!(error instanceof Failure)) return error
  const { code, message, errors } = error
  const shown = errors === undefined ? {} : { errors: shownErrors(errors) }
  const made =
    code === 'invalid_data'
      ? new InvalidData(shown.errors ?? {})
      : new ApiError(catalogue[code].status, code, { message, ...shown })
  failures.set(made, error)
  return made
}

/** The failure that an error of the API was made from; undefined for one that the user's code has made. */
export function originOf(error: unknown): Failure | undefined {
  return error instanceof ApiError ? failures.get(error) : undefined
}

/** What code has thrown to refuse a request, as a failure; undefined if it is something else. */
export function refusalOf(error: unknown): Failure | undefined {
  if (!(error instanceof ApiError) || failures.has(error)) return undefined
  if (error instanceof InvalidData) {
    const errors: Errors = new Map()
    for (const [path, sentences] of Object.entries(error.errors))
      for (const one of sentences) note(errors, path, String(one))
    return new Failure('invalid_data', { errors })
  }
  return error.status === 403 && error.code === 'forbidden'
    ? new Failure('forbidden', { message: error.message })
    : undefined
}

/** Whether a failure is about the server and not about what was asked: it is the answer, whoever met it. */
export function isOurs({ code }: Failure): boolean {
  return catalogue[code].status >= 500 || code === 'busy'
}
