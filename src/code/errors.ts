import { ApiError, InvalidData } from '../declare/refusals.ts'
import { addError, type Code, catalogue, type Errors, Failure, shownErrors } from '../errors.ts'

/** The failure that an error of the API was made from. */
interface ErrorOrigin {
  readonly failure: Failure
  /** The same failure, if the caller could have got it too: then it tells them nothing new. */
  readonly asCaller: Failure | undefined
}

const origins = new WeakMap<ApiError, ErrorOrigin>()

/** Converts a failure for the user's code. Errors outside the catalogue stay as they are. */
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

/** Returns the failure that an error of the API was made from; undefined if the user's code made the error. */
export function originOf(error: unknown): ErrorOrigin | undefined {
  return error instanceof ApiError ? origins.get(error) : undefined
}

/** Returns a failure for an error that the user's code made with a code of the catalogue: a route answers with it. */
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
    for (const one of sentences) addError(errors, path, String(one))
  return errors
}

/** Returns a failure for an error that the user's code threw to refuse a request; undefined for other errors. */
export function refusalOf(error: unknown): Failure | undefined {
  if (!(error instanceof ApiError) || origins.has(error)) return undefined
  if (error instanceof InvalidData) return new Failure('invalid_data', { errors: errorsOf(error) })
  return error.status === 403 && error.code === 'forbidden'
    ? new Failure('forbidden', { message: error.message })
    : undefined
}

/** Thrown if code that runs for an agent tries to write: the write would not be in the plan. */
export class NotInPlan extends Failure {
  constructor() {
    const message = 'Code that runs for an agent may only read: what it writes would not be in the plan.'
    super('forbidden', { message })
  }
}

/** Whether a failure is about the server and not about the request: then it is the answer, whoever got it. */
export function isOurs(failure: Failure): boolean {
  const { code } = failure
  return catalogue[code].status >= 500 || code === 'busy' || failure instanceof NotInPlan
}
