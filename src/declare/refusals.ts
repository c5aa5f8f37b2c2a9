/** What a call of the API rejects with, and what code may throw to refuse a request. */
export class ApiError extends Error {
  /** As the HTTP API would answer: 404. */
  readonly status: number
  /** The stable word: `not_found`. */
  readonly code: string
  /** What is wrong, by dot path. */
  readonly errors: Readonly<Record<string, readonly string[]>> | undefined

  constructor(
    status: number,
    code: string,
    { message, errors }: { readonly message: string; readonly errors?: ApiError['errors'] },
  ) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = code
    this.errors = errors
  }
}

/** 422: something in what was sent is wrong. */
export class InvalidData extends ApiError {
  declare readonly errors: Readonly<Record<string, readonly string[]>>

  constructor(errors: Readonly<Record<string, readonly string[]>>) {
    super(422, 'invalid_data', { message: 'Invalid Data', errors })
    this.name = 'InvalidData'
  }
}

/** To be thrown by code that refuses what was sent: sentences by dot path, `{ 'lines.2.sku': 'is sold out' }`. */
export function invalidData(errors: Readonly<Record<string, string | readonly string[]>>): InvalidData {
  const listed = Object.entries(errors).map(([path, said]) => [
    path,
    typeof said === 'string' ? [said] : said,
  ])
  return new InvalidData(Object.fromEntries(listed))
}

/** To be thrown by code that does not let the caller do something: 403, with a sentence that tells them why. */
export function forbidden(message = 'You may not do this.'): ApiError {
  return new ApiError(403, 'forbidden', { message })
}
