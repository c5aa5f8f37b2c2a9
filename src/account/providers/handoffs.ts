import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { budget } from '../../budget.ts'
import { SKEW_MS } from '../../clock.ts'
import type { Dialect, Params } from '../../store/dialect.ts'
import { compile, param, type Statement, sql } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'
import type { Store } from '../../store/store.ts'

/** An account. */
export interface AccountName {
  readonly entity: string
  readonly id: number
}

/** Somebody, as a provider knows them. */
export interface Identity {
  /** The name of the provider here, for people. */
  readonly provider: string
  readonly issuer: string
  readonly subject: string
}

/** What a login through a provider was asked for with. */
export interface LoginAsked {
  /** The name of the provider. */
  readonly provider: string
  readonly returnTo: string
  /** The code must be exchanged with the text that this is the digest of (RFC 7636). */
  readonly challenge: string | null
  /** The account that the identity is to be linked to; otherwise somebody logs in. */
  readonly link: AccountName | null
}

/**
 * What each kind of handoff stands for. `link`: the owner of an account wants to link a provider. `state`: somebody was
 * sent to a provider. `code`: somebody has come back. `slow_code`: the same, if they must look for a second factor.
 */
export interface Handoff {
  readonly link: LoginAsked
  readonly state: LoginAsked & {
    /** The user type that was asked for. */
    readonly userType: string | null
    /** The digest of the cookie of the browser that started it. */
    readonly browser: string
  }
  readonly code: ReturnedCode
  readonly slow_code: ReturnedCode
}

/** What the code that a browser comes back with stands for. */
export interface ReturnedCode extends Pick<LoginAsked, 'challenge'> {
  readonly account: AccountName
  /** The identity to be linked to the account, if that was asked for. */
  readonly identity: Identity | null
  /** Of a login: the epoch of the tokens of the account. If all of its sessions end, the code does, too. */
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
 * Texts that pass through URLs while somebody logs in through a provider. Each is random and works once, and the database
 * has only its digest, with what it stands for. All instances share them.
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

  /** A new one. */
  async make<Kind extends HandoffKind>(
    kind: Kind,
    payload: Handoff[Kind],
    text = randomText(),
  ): Promise<string> {
    const params = { ...paramsOf(kind, text), $payload: JSON.stringify(payload) }
    await this.#store.write(this.#statements[kind].make, params)
    return text
  }

  /** What it stands for; undefined if it is not valid. */
  async find<Kind extends HandoffKind>(kind: Kind, text: string): Promise<Handoff[Kind] | undefined> {
    const [row] = await this.#store.read(this.#statements[kind].find, paramsOf(kind, text))
    return row === undefined ? undefined : JSON.parse(String(row[0]))
  }

  /** Uses it up. Of many at once, one gets what it stands for. */
  async use<Kind extends HandoffKind>(kind: Kind, text: string): Promise<Handoff[Kind] | undefined> {
    const outcome = await this.#store.write([this.#statements[kind].use], paramsOf(kind, text))
    const [row] = outcome.done ? outcome.rows : []
    return row === undefined ? undefined : JSON.parse(String(row[0]))
  }

  /** Uses it up in a transaction, which is refused if it is not valid. */
  using(kind: HandoffKind, text: string): { step: Step; params: Params } {
    return { step: this.#statements[kind].use, params: paramsOf(kind, text) }
  }
}

export function randomText(): string {
  return randomBytes(32).toString('base64url')
}

/** SHA-256, as RFC 7636 has it for challenges. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** Whether a digest is that of a text. */
export function isDigestOf(digest: string, text: string): boolean {
  const [one, other] = [Buffer.from(digest), Buffer.from(sha256(text))]
  return one.length === other.length && timingSafeEqual(one, other)
}

function compileHandoffs(dialect: Dialect, ms: number): HandoffStatements {
  const { clock, shift } = dialect
  // A time further ahead was written by a wrong clock.
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
