import { ApiError, InvalidData } from '../declare/refusals.ts'
import { type Code, catalogue, type Errors, Failure, note, shownErrors } from '../errors.ts'

/** The failure behind an error of the API. */
interface ErrorOrigin {
  readonly failure: Failure
  /** The same, if the caller could have met it as well: then it tells them nothing new. */
  readonly asCaller: Failure | undefined
}

const origins = new WeakMap<ApiError, ErrorOrigin>()

/** A failure as the user's code gets it. Errors outside the catalogue stay as they are. */
export function apiErrorOf(error: unknown, asCaller: boolean): unknown {
  if (!(error instanceof Failure)) return error
  const { code, message, errors } = error
  const shown = errors === undefined ? {} : { errors: shownErrors(errors) }
  const made =
    code === 'invalid_data'
      ? new InvalidData(shown.errors ?? {})
      : new ApiError(catalogue[code].status, code, { message, ...shown })
  origins.set(made, { failure: error, asCaller: asCaller ? error : undefined })
  return made
}

/** What an error of the API was made from; undefined for one that the user's code has made. */
export function originOf(error: unknown): ErrorOrigin | undefined {
  return error instanceof ApiError ? origins.get(error) : undefined
}

/** An error with a code of the catalogue that code has made itself: it is the answer of a route. */
export function passedOn(error: unknown): Failure | undefined {
  if (!(error instanceof ApiError) || origins.has(error)) return undefined
  const { code, status, message } = error
  const isKnown = Object.hasOwn(catalogue, code) && catalogue[code as Code].status === status && status < 500
  if (!isKnown) return undefined
  return new Failure(code as Code, { message, ...(error.errors && { errors: errorsOf(error) }) })
}

function errorsOf({ errors: given = {} }: ApiError): Errors {
  const errors: Errors = new Map()
  for (const [path, sentences] of Object.entries(given))
    for (const one of sentences) note(errors, path, String(one))
  return errors
}

/** What code has thrown to refuse a request, as a failure; undefined if it is something else. */
export function refusalOf(error: unknown): Failure | undefined {
  if (!(error instanceof ApiError) || origins.has(error)) return undefined
  if (error instanceof InvalidData) return new Failure('invalid_data', { errors: errorsOf(error) })
  return error.status === 403 && error.code === 'forbidden'
    ? new Failure('forbidden', { message: error.message })
    : undefined
}

/** Code that runs for an agent has tried to write: that would not be in the plan. */
export class NotInPlan extends Failure {
  constructor() {
    const message = 'Code that runs for an agent may only read: what it writes would not be in the plan.'
    super('forbidden', { message })
  }
}

/** Whether a failure is about the server and not about what was asked: it is the answer, whoever met it. */
export function isOurs(failure: Failure): boolean {
  const { code } = failure
  return catalogue[code].status >= 500 || code === 'busy' || failure instanceof NotInPlan
}
