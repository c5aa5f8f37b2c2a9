/** The error of every API call. Code may throw it to refuse a request. */
export class ApiError extends Error {
  /** The HTTP status, such as 404. */
  declare readonly status: number
  /** The stable error code, such as `not_found`. */
  declare readonly code: string
  /** The errors by dot path. */
  declare readonly errors: Readonly<Record<string, readonly string[]>> | undefined

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

/** 422: something in the request is wrong. The message says what: tests and browsers show nothing else of an error. */
export class InvalidData extends ApiError {
  declare readonly errors: Readonly<Record<string, readonly string[]>>

  constructor(errors: Readonly<Record<string, readonly string[]>>) {
    const fields = Object.entries(errors)
      .map(([path, sentences]) => `${path} ${sentences.join(', ')}`)
      .join('; ')
    super(422, 'invalid_data', { message: `Invalid Data${fields && `: ${fields}`}`, errors })
    this.name = 'InvalidData'
  }
}

/** For code that refuses a body: sentences by dot path, `{ 'lines.2.sku': 'is sold out' }`. */
export function invalidData(errors: Readonly<Record<string, string | readonly string[]>>): InvalidData {
  const listed = Object.entries(errors).map(([path, said]) => [
    path,
    typeof said === 'string' ? [said] : said,
  ])
  return new InvalidData(Object.fromEntries(listed))
}

/** For code that refuses the caller: 403, with a sentence that says why. */
export function forbidden(message = 'You may not do this.'): ApiError {
  return new ApiError(403, 'forbidden', { message })
}
