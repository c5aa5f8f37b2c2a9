import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { budget } from '../../budget.ts'
import { SKEW_MS } from '../../clock.ts'
import type { Dialect, Params } from '../../store/dialect.ts'
import { compile, param, type Statement, sql } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'
import type { Store } from '../../store/store.ts'

/** Names an account. */
export interface AccountName {
  readonly entity: string
  readonly id: number
}

/** A person, as a provider knows them. */
export interface Identity {
  /** The name of the provider on this server, for people. */
  readonly provider: string
  readonly issuer: string
  readonly subject: string
}

/** The parameters with which a login through a provider was requested. */
export interface ProviderLogin {
  readonly provider: string
  readonly returnTo: string
  /** The digest of the text that the code must be exchanged with (RFC 7636). */
  readonly challenge: string | null
  /** The account to link the identity to; `null` if somebody logs in. */
  readonly link: AccountName | null
}

/**
 * The payload of each kind of handoff. `link`: the owner of an account wants to link a provider. `state`: a browser was
 * sent to a provider. `code`: it has come back. `slow_code`: the same, but there is a second factor to look for.
 */
export interface Handoff {
  readonly link: ProviderLogin
  readonly state: ProviderLogin & {
    /** The user type that was requested. */
    readonly userType: string | null
    /** The digest of the cookie of the browser that started the login. */
    readonly browser: string
  }
  readonly code: ReturnedCode
  readonly slow_code: ReturnedCode
}

/** The payload of the code with which a browser comes back. */
export interface ReturnedCode extends Pick<ProviderLogin, 'challenge'> {
  readonly account: AccountName
  /** The identity to link to the account, if that was requested. */
  readonly identity: Identity | null
  /** For a login: the token epoch of the account. If all sessions of the account end, the code ends too. */
  readonly epoch?: number
}
export type HandoffKind = keyof Handoff

const lifetimes: Readonly<Record<HandoffKind, number>> = {
  link: budget.providerCodeSeconds * 1000,
  state: budget.providerLoginMinutes * 60_000,
  code: budget.providerCodeSeconds * 1000,
  slow_code: budget.providerLoginMinutes * 60_000,
}

interface HandoffStatements {
  readonly find: Statement
  readonly make: readonly Step[]
  readonly use: Step
}

const isIt = sql`"digest" = ${param('$handoff')} AND "kind" = ${param('$kind')}`

/**
 * Random texts that pass through URLs while somebody logs in through a provider. Each works once. The database stores
 * only its digest, with its payload. All instances share them.
 */
export class Handoffs {
  readonly #store: Store
  readonly #statements: Readonly<Record<HandoffKind, HandoffStatements>>

  constructor(store: Store) {
    this.#store = store
    const { dialect } = store
    this.#statements = {
      link: compileHandoffs(dialect, lifetimes.link),
      state: compileHandoffs(dialect, lifetimes.state),
      code: compileHandoffs(dialect, lifetimes.code),
      slow_code: compileHandoffs(dialect, lifetimes.slow_code),
    }
  }

  /** Makes a handoff and returns its text. */
  async make<Kind extends HandoffKind>(
    kind: Kind,
    payload: Handoff[Kind],
    text = randomText(),
  ): Promise<string> {
    const params = { ...paramsOf(kind, text), $payload: JSON.stringify(payload) }
    await this.#store.write(this.#statements[kind].make, params)
    return text
  }

  /** Returns the payload of a handoff; undefined if it is not valid. */
  async find<Kind extends HandoffKind>(kind: Kind, text: string): Promise<Handoff[Kind] | undefined> {
    const [row] = await this.#store.read(this.#statements[kind].find, paramsOf(kind, text))
    return row === undefined ? undefined : JSON.parse(String(row[0]))
  }

  /** Uses up a handoff and returns its payload. Of many at once, one succeeds. */
  async use<Kind extends HandoffKind>(kind: Kind, text: string): Promise<Handoff[Kind] | undefined> {
    const outcome = await this.#store.write([this.#statements[kind].use], paramsOf(kind, text))
    const [row] = outcome.done ? outcome.rows : []
    return row === undefined ? undefined : JSON.parse(String(row[0]))
  }

  /** Uses up a handoff in a transaction, which is refused if the handoff is not valid. */
  using(kind: HandoffKind, text: string): { step: Step; params: Params } {
    return { step: this.#statements[kind].use, params: paramsOf(kind, text) }
  }
}

export function randomText(): string {
  return randomBytes(32).toString('base64url')
}

/** SHA-256 in base64url, as RFC 7636 uses it for challenges. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** Whether a digest belongs to a text. */
export function isDigestOf(digest: string, text: string): boolean {
  const [one, other] = [Buffer.from(digest), Buffer.from(sha256(text))]
  return one.length === other.length && timingSafeEqual(one, other)
}

function compileHandoffs(dialect: Dialect, ms: number): HandoffStatements {
  const { clock, shift } = dialect
  // A time further ahead was set by a wrong clock.
  const isValid = sql`"until" > ${clock} AND "until" <= ${shift(clock, ms + SKEW_MS)}`
  return {
    find: compile(
      sql`SELECT "payload" FROM "takeback_handoffs" WHERE ${isIt} AND ${isValid}`,
      dialect.placeholder,
    ),
    make: [
      step(dialect, 'old', 'any', sql`DELETE FROM "takeback_handoffs" WHERE "until" < ${clock}`),
      step(
        dialect,
        'make',
        'any',
        sql`INSERT INTO "takeback_handoffs" ("digest", "kind", "payload", "until")
          VALUES (${param('$handoff')}, ${param('$kind')}, ${param('$payload')}, ${shift(clock, ms)})`,
      ),
    ],
    use: step(
      dialect,
      'handoff',
      'some',
      sql`DELETE FROM "takeback_handoffs" WHERE ${isIt} AND ${isValid} RETURNING "payload"`,
    ),
  }
}

function paramsOf(kind: HandoffKind, text: string): Params {
  return { $kind: kind, $handoff: sha256(text) }
}
