import { createHash, randomBytes } from 'node:crypto'
import { budget } from '../budget.ts'
import { SKEW_MS } from '../clock.ts'
import type { Dialect, Params } from '../store/dialect.ts'
import { namedColumns } from '../store/named-columns.ts'
import { compile, param, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { Store } from '../store/store.ts'

/** What a link in a mail is good for, and for how long. */
const lifetimes = {
  reset: budget.resetLinkMinutes * 60_000,
  invite: budget.inviteLinkDays * 24 * 60 * 60_000,
} as const
export type LinkPurpose = keyof typeof lifetimes

/** The step that uses a link up: a transaction that is refused because of it had a link that is no longer valid. */
const LINK = 'link'

/** The account that a link is for, in the state in which it is valid. */
export interface LinkTarget {
  readonly entity: string
  readonly id: number
  /** From `stateDigest`. */
  readonly bound: string
}

interface LinkStatements {
  readonly find: Statement
  readonly make: readonly Step[]
  readonly use: Step
}

/** So long that nobody guesses one, and so short that a link to this machine fits in a line of a mail. */
const TOKEN_BYTES = 24

const columns = namedColumns({ entity: sql`"entity"`, id: sql`"entity_id"`, bound: sql`"bound"` })
const isIt = sql`"digest" = ${param('$link')} AND "purpose" = ${param('$purpose')}`

/**
 * Links in mails. The database has only digests of their tokens. An account has one link for each purpose: a new one
 * replaces the old one.
 */
export class Links {
  readonly #store: Store
  readonly #statements: Readonly<Record<LinkPurpose, LinkStatements>>

  constructor(store: Store) {
    this.#store = store
    const { dialect } = store
    this.#statements = {
      reset: compileLinks(dialect, lifetimes.reset),
      invite: compileLinks(dialect, lifetimes.invite),
    }
  }

  /** The token of a new link. */
  async make(store: Store, purpose: LinkPurpose, { entity, id, bound }: LinkTarget): Promise<string> {
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    const params = { ...paramsOf(purpose, token), $entity: entity, $id: id, $bound: bound }
    await store.write(this.#statements[purpose].make, params)
    return token
  }

  /** Whom a link is for; undefined if it is not valid. */
  async find(purpose: LinkPurpose, token: string): Promise<LinkTarget | undefined> {
    const [row] = await this.#store.read(this.#statements[purpose].find, paramsOf(purpose, token))
    if (row === undefined) return undefined
    const { entity, id, bound } = columns.read(row)
    return { entity: String(entity), id: Number(id), bound: String(bound) }
  }

  /** Uses a link up, in the transaction of what it is good for. Of many at once, one succeeds. */
  using(purpose: LinkPurpose, token: string): { step: Step; params: Params } {
    return { step: this.#statements[purpose].use, params: paramsOf(purpose, token) }
  }
}

/** A link is valid as long as the account has the e-mail and the password that it had when the link was made. */
export function stateDigest(emailKey: string, passwordHash: string): string {
  return digestOf(`${emailKey}\n${passwordHash}`)
}

function compileLinks(dialect: Dialect, ms: number): LinkStatements {
  const { clock, shift } = dialect
  // A time further ahead was written by a wrong clock.
  const isValid = sql`"until" > ${clock} AND "until" <= ${shift(clock, ms + SKEW_MS)}`
  return {
    find: compile(
      sql`SELECT ${columns.sql} FROM "takeback_links" WHERE ${isIt} AND ${isValid}`,
      dialect.placeholder,
    ),
    make: [
      step(dialect, 'old', 'any', sql`DELETE FROM "takeback_links" WHERE "until" < ${clock}`),
      step(
        dialect,
        'make',
        'any',
        sql`INSERT INTO "takeback_links" ("entity", "entity_id", "purpose", "digest", "bound", "until")
          VALUES (${param('$entity')}, ${param('$id', 'integer')}, ${param('$purpose')}, ${param('$link')}, ${param('$bound')}, ${shift(clock, ms)})
          ON CONFLICT ("entity", "entity_id", "purpose") DO UPDATE
          SET "digest" = excluded."digest", "bound" = excluded."bound", "until" = excluded."until"`,
      ),
    ],
    use: step(dialect, LINK, 'some', sql`DELETE FROM "takeback_links" WHERE ${isIt} AND ${isValid}`),
  }
}

function paramsOf(purpose: LinkPurpose, token: string): Params {
  return { $purpose: purpose, $link: digestOf(token) }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
