import { budget } from './budget.ts'

/** Every way in which a request can fail. A test compares `docs/errors.md` and the OpenAPI document with it. */
export const catalogue = {
  malformed_json: { status: 400, message: 'The body is not valid JSON in UTF-8.' },
  not_an_object: { status: 400, message: 'The body must be a JSON object.' },
  malformed_header: { status: 400, message: 'A header is malformed.' },
  abandoned: {
    status: 400,
    message: 'The connection ended, or another request followed before the answer. Nothing was written.',
  },
  too_deep: { status: 400, message: `The body is nested more than ${budget.bodyDepth} levels deep.` },
  unauthenticated: { status: 401, message: 'Sign in first: this needs a token.' },
  invalid_token: { status: 401, message: 'The token is invalid, expired or revoked.' },
  forbidden: { status: 403, message: 'You may not do this.' },
  own_login_required: {
    status: 403,
    message: 'This needs your own login. Keys, and admins who act as a user, cannot do it.',
  },
  recent_login_required: {
    status: 403,
    message: 'This needs a recent login. Log in again.',
  },
  provider_denied: { status: 403, message: 'The login was cancelled at the provider.' },
  provider_email_unverified: {
    status: 403,
    message: 'The provider does not say that this e-mail address is verified. Verify it there first.',
  },
  sign_up_closed: {
    status: 403,
    message: 'There is no account for this login, and you cannot sign up this way.',
  },
  password_change_required: {
    status: 403,
    message: 'The password was temporary and has expired. Change it with /api/auth/password first.',
  },
  second_factor_setup_required: {
    status: 403,
    message: 'This account needs a second factor. Set it up with /api/auth/totp/ first.',
  },
  not_found: { status: 404, message: 'There is nothing here.' },
  method_not_allowed: { status: 405, message: 'This path does not allow this method.' },
  not_acceptable: { status: 406, message: 'The Accept header is required and must allow application/json.' },
  in_use: { status: 409, message: 'Something still refers to it.' },
  target_deleted: { status: 409, message: 'It refers to something that is deleted.' },
  not_deleted: { status: 409, message: 'Only a deleted Entity can be purged.' },
  last_admin: { status: 409, message: 'This is the last admin: add another one first.' },
  second_factor_exists: { status: 409, message: 'There is already a second factor. Remove it first.' },
  last_login: { status: 409, message: 'This is the last way to log in. Set a password first.' },
  account_exists: {
    status: 409,
    message: 'There is already an account with this e-mail. Log in to it, then link the provider.',
  },
  identity_taken: { status: 409, message: 'This provider login already belongs to an account.' },
  first_admin_exists: { status: 409, message: 'There is already an admin. Log in.' },
  nothing_to_undo: { status: 409, message: 'There is nothing to undo.' },
  nothing_to_redo: { status: 409, message: 'There is nothing to redo.' },
  cannot_undo: { status: 409, message: 'This cannot be undone: there are conflicts.' },
  changed_meanwhile: { status: 409, message: 'Others have changed the same fields since you read them.' },
  key_ended: { status: 409, message: 'The key has ended. Create a new one.' },
  busy: { status: 409, message: 'Others are changing this right now. Try again.' },
  position_gone: {
    status: 410,
    message: 'Changes cannot be followed from this position. Read the data again, and continue from there.',
  },
  version_gone: {
    status: 410,
    message: 'The journal no longer has that version. Read the Entity again.',
  },
  plan_changed: {
    status: 412,
    message: 'This would no longer do what its preview shows. Nothing was written.',
  },
  stale: { status: 412, message: 'It has changed since you read it.' },
  too_large: { status: 413, message: 'The body is larger than 1 MiB.' },
  unsupported_media_type: { status: 415, message: 'A body must be sent as application/json.' },
  unsupported_encoding: { status: 415, message: 'A body must be sent uncompressed.' },
  invalid_data: { status: 422, message: 'Invalid Data' },
  login_failed: { status: 422, message: 'The e-mail or the password is wrong.' },
  unverified: {
    status: 422,
    message: 'The e-mail address is not confirmed yet. Follow the link in the mail, or ask for a new one.',
  },
  second_factor_required: {
    status: 422,
    message:
      'The password is right. Send it again with the code of the second factor as "code", or log in with a passkey.',
  },
  second_factor_failed: { status: 422, message: 'The code is wrong, has expired or was used already.' },
  passkey_failed: { status: 422, message: 'The passkey is unknown here, or its response is invalid.' },
  invalid_link: {
    status: 422,
    message: 'The link is wrong, has expired or was used already. Ask for a new one.',
  },
  invalid_code: {
    status: 422,
    message: 'The code is wrong, has expired or was used already. Start the login again.',
  },
  login_expired: {
    status: 422,
    message: 'The login has expired, or was started in another browser. Start it again.',
  },
  sign_up_incomplete: {
    status: 422,
    message: 'The provider did not send everything that a new account needs.',
  },
  too_many_attempts: { status: 429, message: 'Too many failed attempts. Try again later.' },
  rate_limited: { status: 429, message: 'Too many requests. Try again later.' },
  over_budget: { status: 429, message: 'This is more than the key may change. Nothing was written.' },
  internal: { status: 500, message: 'Something went wrong on our side.' },
  provider_failed: {
    status: 502,
    message: 'The provider refused the login, or its answer cannot be trusted.',
  },
  provider_unavailable: { status: 503, message: 'The provider does not answer. Try again later.' },
  unavailable: { status: 503, message: 'The service is unavailable right now. Try again.' },
  starting: { status: 503, message: 'The server is starting. Try again.' },
  stopping: { status: 503, message: 'The server is stopping: send requests to another one.' },
  outdated: {
    status: 503,
    message: 'The database was migrated to a newer declaration. Restart this server with it.',
  },
  disk_full: { status: 507, message: 'The disk is full: nothing was written.' },
} as const

export type Code = keyof typeof catalogue

/** The failures of an input: dot path → sentences. A Map, so that a key named `__proto__` is a key like any other. */
export type Errors = Map<string, string[]>

/** How many sentences an `Errors` has, and how many the limit has left out. */
const tallies = new WeakMap<Errors, { kept: number; more: number }>()

function tallyOf(errors: Errors): { kept: number; more: number } {
  const known = tallies.get(errors)
  if (known !== undefined) return known
  const tally = { kept: 0, more: 0 }
  for (const sentences of errors.values()) tally.kept += sentences.length
  tallies.set(errors, tally)
  return tally
}

/**
 * Adds a failure. Returns undefined, so that a check can end with it. Past the limit failures are only counted. Then
 * neither the path is shortened nor the sentence made, so even long ones cost nothing.
 */
export function addError(errors: Errors, path: string, sentence: string | (() => string)): undefined {
  const tally = tallyOf(errors)
  if (tally.kept >= budget.failures) {
    tally.more++
    return
  }
  const key = shortened(path, budget.pathCharacters)
  const known = errors.get(key)
  const whole = typeof sentence === 'string' ? sentence : sentence()
  const said = shortened(whole, budget.sentenceCharacters, 0)
  if (known?.includes(said)) return
  if (known === undefined) errors.set(key, [said])
  else known.push(said)
  tally.kept++
}

/** For a part of a request, after parts with so many failures: all count against one limit, but each part names one. */
export function errorsAfter(named: number): Errors {
  const errors: Errors = new Map()
  tallies.set(errors, { kept: Math.min(named, budget.failures - 1), more: 0 })
  return errors
}

/** Adds all failures of another `Errors`. */
export function addErrors(errors: Errors, others: Errors): void {
  for (const [path, sentences] of others) for (const one of sentences) addError(errors, path, one)
  tallyOf(errors).more += tallyOf(others).more
}

/** Whether failures were left out: then a path without a failure may be wrong as well. */
export function isOverfull(errors: Errors): boolean {
  return tallyOf(errors).more > 0
}

/** The failures as they are sent. */
export function shownErrors(errors: Errors): Record<string, string[]> {
  const { more } = tallyOf(errors)
  const shown = Object.fromEntries(errors)
  return more === 0 ? shown : { ...shown, '': [...(shown[''] ?? []), `and ${more} more`] }
}

/** Replaces the middle of a text by `…`, or its end if `last` is 0. */
function shortened(text: string, most: number, last = Math.floor(most / 2)): string {
  if (text.length <= most) return text
  return `${text.slice(0, most - last - 1)}…${last === 0 ? '' : text.slice(-last)}`.toWellFormed()
}

/** A failure of the catalogue. It may be thrown anywhere, and is answered in one place. */
export class Failure extends Error {
  readonly code: Code
  readonly errors: Errors | undefined
  readonly headers: Readonly<Record<string, string>>
  /** The rule that denied the request, for developers only. */
  readonly denied: string | undefined
  /** Additional keys of the answer. */
  readonly more: Readonly<Record<string, unknown>>

  constructor(
    code: Code,
    detail: {
      errors?: Errors
      headers?: Record<string, string>
      cause?: unknown
      denied?: string
      more?: Record<string, unknown>
      /** Replaces the message of the catalogue. */
      message?: string
    } = {},
  ) {
    super(detail.message ?? catalogue[code].message, { cause: detail.cause })
    this.code = code
    this.errors = detail.errors
    this.headers = detail.headers ?? {}
    this.denied = detail.denied
    this.more = detail.more ?? {}
  }
}

/** Returns the body of the answer; with `explains`, also the rule behind it. */
export function shownFailure(failure: Failure, explains = false): Record<string, unknown> {
  const { message, errors, code, more, denied } = failure
  return {
    message,
    ...(errors !== undefined && { errors: shownErrors(errors) }),
    code,
    ...more,
    ...(explains && denied !== undefined && { denied_by: denied }),
  }
}

/** The user's code has taken too long. It still runs: `later` settles when it ends. */
export class TooLate extends Failure {
  readonly later: Promise<unknown>

  constructor(name: string, later: Promise<unknown>) {
    super('unavailable', { cause: new Error(`${name} has taken too long`), headers: { 'Retry-After': '1' } })
    this.later = later
  }
}

/** The failure of a server whose database was migrated to a newer declaration. */
export function outdated(cause?: unknown): Failure {
  return new Failure('outdated', { cause, headers: { 'Retry-After': '5' } })
}

export function invalid(errors: Errors): Failure {
  return new Failure('invalid_data', { errors })
}

/** Returns the failure of one item of a list: its paths get the item's position as a prefix. */
export function placed(failure: Failure, at: number): Failure {
  const errors: Errors = new Map()
  for (const [path, sentences] of failure.errors ?? [])
    for (const one of sentences) addError(errors, path === '' ? `${at}` : `${at}.${path}`, one)
  if (errors.size === 0) addError(errors, `${at}`, failure.message)
  if (failure.errors !== undefined) tallyOf(errors).more += tallyOf(failure.errors).more
  return new Failure(failure.code, {
    errors,
    headers: { ...failure.headers },
    cause: failure.cause,
    message: failure.message,
    ...(failure.denied !== undefined && { denied: failure.denied }),
  })
}

/** A failure at one path, the commonest case. */
export function invalidAt(path: string, sentence: string): Failure {
  return invalid(new Map([[path, [sentence]]]))
}

/** A mistake of the person who starts Takeback. Its message is printed without a stack, and the exit code is 1. */
export class StartError extends Error {}
