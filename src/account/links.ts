import { createHash, randomBytes } from 'node:crypto'
import { budget } from '../budget.ts'
import { SKEW_MS } from '../clock.ts'
import { emailKey } from '../declare/email-key.ts'
import type { LinkKind } from '../declare/mail.ts'
import type { Bound, Dialect, Params } from '../store/dialect.ts'
import { namedColumns } from '../store/named-columns.ts'
import { compile, param, quoted, type Sql, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import type { AccountId } from './account-id.ts'
import { accountLock, ownerLock } from './owner-lock.ts'

const HOUR = 60 * 60_000
const DAY = 24 * HOUR

/** How long a link in a mail is valid. */
const lifetimes: Readonly<Record<LinkKind, number>> = {
  reset: budget.resetLinkMinutes * 60_000,
  invite: budget.inviteLinkDays * DAY,
  verify: budget.verifyLinkDays * DAY,
  email: budget.emailLinkHours * HOUR,
  revert: budget.revertLinkDays * DAY,
}

/** Expired invitations are kept, so that they can be sent again. */
export const INVITE = quoted('invite' satisfies LinkKind)

/** The step that uses up a link. If it refuses a transaction, the link is no longer valid. */
export const LINK = 'link'

/** The account that a link is for, in the state in which it is valid. */
export interface LinkTarget extends AccountId {
  /** From `stateDigest`; empty if the link is valid whatever happens to the account. */
  readonly bound: string
  /** The e-mail address that the link is for, if it is not that of the account, or may soon differ from it. */
  readonly address?: string | undefined
  /** Links with the same purpose but different slots exist side by side. */
  readonly slot?: string
}

/** The account that uses a link, in the state in which the link was found valid; undefined if any state will do. */
export interface LinkHolder extends AccountId {
  readonly state: AccountState | undefined
}

interface LinkStatements {
  readonly find: Statement
  /** Finds a link by account, purpose and slot. */
  readonly held: Statement
  readonly make: readonly Step[]
  readonly renew: readonly Step[]
  readonly use: readonly Step[]
  /** Refused if a link has taken back a change at `$since` or later. */
  readonly unlessTakenBack: Step
}

/** Long enough that nobody guesses a token, and short enough that a link to this machine fits on one line of a mail. */
const TOKEN_BYTES = 24

const columns = namedColumns({
  entity: sql`"entity"`,
  id: sql`"entity_id"`,
  bound: sql`"bound"`,
  address: sql`"address"`,
})
const isIt = sql`"digest" = ${param('$link')} AND "purpose" = ${param('$purpose')}`
const isOfAccount = sql`"entity" = ${param('$link_entity')} AND "entity_id" = ${param('$link_id', 'integer')}`
const isHeld = sql`${isOfAccount} AND "purpose" = ${param('$new_purpose')} AND "slot" = ${param('$slot')}`
const isRevert = sql`"purpose" = ${quoted('revert' satisfies LinkKind)}`
/** Ends the links that take back later changes than the one in `$first_slot`. */
const endLater = sql`DELETE FROM "takeback_links" WHERE ${isOfAccount} AND ${isRevert} AND "slot" <> ${param('$first_slot')}
  AND "until" >= (SELECT m."until" FROM "takeback_links" m WHERE m.${isRevert} AND m."slot" = ${param('$first_slot')}
    AND m."entity" = ${param('$link_entity')} AND m."entity_id" = ${param('$link_id', 'integer')})`
/** The purpose of a link that has taken back a change. It is kept as long as a new one would be valid. */
export const TAKEN_BACK = quoted('reverted')

/**
 * Links in mails. The database stores only digests of their tokens. An account has one link for each purpose and slot:
 * a new one replaces the old one.
 */
export class Links {
  readonly #store: Store
  readonly #statements: ReadonlyMap<LinkKind, LinkStatements>
  /** The slots and addresses of the links that can take back changes of an account, oldest first. */
  readonly #reverts: Statement
  readonly #endLater: Step
  readonly #lock: (entity: string) => Step
  readonly #lockAlone: (entity: string) => Step
  readonly #lockAccount: (entity: string) => Step

  constructor(store: Store) {
    const { dialect } = store
    this.#store = store
    this.#reverts = compile(
      sql`SELECT "slot", "address" FROM "takeback_links" WHERE ${isOfAccount} AND ${isRevert} AND "until" > ${dialect.clock} ORDER BY "until"`,
      dialect.placeholder,
    )
    this.#endLater = step(dialect, 'later', 'any', endLater)
    this.#lock = ownerLock(dialect, '$link_id')
    this.#lockAlone = ownerLock(dialect, '$link_id', true)
    this.#lockAccount = accountLock(dialect, LINK)
    const kinds = Object.keys(lifetimes) as LinkKind[]
    this.#statements = new Map(kinds.map((kind) => [kind, compileLinks(dialect, kind)] as const))
  }

  #of(purpose: LinkKind): LinkStatements {
    const found = this.#statements.get(purpose)
    if (found === undefined) throw new Error(`There are no links for ${purpose}.`)
    return found
  }

  /** Makes a link and returns its token; undefined if its user is gone. */
  async make(store: Store, purpose: LinkKind, target: LinkTarget): Promise<string | undefined> {
    const token = newToken()
    const steps = [this.#lock(target.entity), ...this.#of(purpose).make]
    const { done } = await store.write(steps, targetParams(purpose, target, token))
    return done ? token : undefined
  }

  /**
   * Makes the token of a link that takes back a change made at `since`. Undefined if its user is gone, or if a link has
   * taken back this change or an earlier one: whoever took over an account must not get another way in.
   */
  async makeRevert(store: Store, target: LinkTarget, since: string): Promise<string | undefined> {
    const token = newToken()
    const { unlessTakenBack, make } = this.#of('revert')
    const steps = [this.#lockAlone(target.entity), unlessTakenBack, ...make]
    const params = { ...targetParams('revert', target, token), $since: since }
    return (await store.write(steps, params)).done ? token : undefined
  }

  /** Reserves a link without a known token: `renew` makes that, with the mail. For a transaction of its own. */
  reserving(purpose: LinkKind, target: LinkTarget): { steps: readonly Step[]; params: Params } {
    const { steps, params } = this.reservingFor(purpose, target)
    return { steps: [this.#lock(target.entity), ...steps], params }
  }

  /** The same for a transaction that changes the user. */
  reservingFor(purpose: LinkKind, target: LinkTarget): { steps: readonly Step[]; params: Params } {
    return { steps: this.#of(purpose).make, params: targetParams(purpose, target, newToken()) }
  }

  /** The slot of the first link that can give an account this address back; undefined if there is none. */
  async findRevert({ entity, id }: AccountId, key: string): Promise<string | undefined> {
    const rows = await this.#store.read(this.#reverts, { $link_entity: entity, $link_id: id })
    const found = rows.find(([, address]) => emailKey(String(address)) === key)
    return found && String(found[0])
  }

  /** Ends the links for later changes, in a transaction that takes these changes back without the link in `slot`. */
  endingLater({ entity, id }: AccountId, slot: string): { steps: readonly Step[]; params: Params } {
    return { steps: [this.#endLater], params: { $link_entity: entity, $link_id: id, $first_slot: slot } }
  }

  /** Makes a token for a reserved link, and returns it with the link's address; undefined if it has expired. */
  async renew(
    store: Store,
    purpose: LinkKind,
    account: Pick<LinkTarget, 'entity' | 'id' | 'slot'>,
  ): Promise<{ token: string; address: string } | undefined> {
    const token = newToken()
    const params = targetParams(purpose, { ...account, bound: '' }, token)
    const [row] = await store.read(this.#of(purpose).held, params)
    if (row === undefined || !(await store.write(this.#of(purpose).renew, params)).done) return undefined
    return { token, address: String(columns.read(row).address) }
  }

  /** Finds the account that a link is for; undefined if the link is not valid. */
  async find(purpose: LinkKind, token: string): Promise<LinkTarget | undefined> {
    const [row] = await this.#store.read(this.#of(purpose).find, tokenParams(purpose, token))
    if (row === undefined) return undefined
    const { entity, id, bound, address } = columns.read(row)
    const more = address === null ? {} : { address: String(address) }
    return { entity: String(entity), id: Number(id), bound: String(bound), ...more }
  }

  /**
   * Uses up a link, in the transaction that the link allows. Of many at once, one succeeds. It is refused if the
   * account has changed since the link was found. A link that reverts a change also ends the links for later changes,
   * since it takes those changes back too. `first`: steps that run before the link is used up, and still find it.
   */
  using(
    purpose: LinkKind,
    token: string,
    { entity, id, state }: LinkHolder,
    first: readonly Step[] = [],
  ): { steps: readonly Step[]; params: Params } {
    const held = { $held_id: id, $held_key: state?.key ?? null, $held_hash: state?.hash ?? null }
    return {
      steps: [this.#lockAccount(entity), ...first, ...this.#of(purpose).use],
      params: { ...tokenParams(purpose, token), ...held },
    }
  }
}

/** The credentials of an account: its e-mail and its password. */
export interface AccountState {
  /** The key of the e-mail address. */
  readonly key: string
  readonly hash: string
}

/** Reads the state of an account from its row, with the digest that links are bound to. */
export function accountState(
  row: Readonly<Record<keyof AccountState, Bound>>,
): AccountState & { readonly bound: string } {
  const [key, hash] = [String(row.key), String(row.hash)]
  return { key, hash, bound: stateDigest(key, hash) }
}

/** A link is valid as long as the account keeps the e-mail and the password that it had when the link was made. */
export function stateDigest(emailKey: string, passwordHash: string): string {
  return digestOf(`${emailKey}\n${passwordHash}`)
}

function compileLinks(dialect: Dialect, kind: LinkKind): LinkStatements {
  const { clock, shift } = dialect
  const ms = lifetimes[kind]
  const any = (name: string, source: Sql) => step(dialect, name, 'any', source)
  const some = (source: Sql) => step(dialect, LINK, 'some', source)
  // A time further ahead was set by a wrong clock.
  const isValid = sql`"until" > ${clock} AND "until" <= ${shift(clock, ms + SKEW_MS)}`
  const find = (which: Sql) =>
    compile(
      sql`SELECT ${columns.sql} FROM "takeback_links" WHERE ${which} AND ${isValid}`,
      dialect.placeholder,
    )
  const isUsed = sql`${isIt} AND ${isValid}`
  return {
    find: find(isIt),
    held: find(isHeld),
    make: making(any, clock, shift(clock, ms)),
    renew: [
      some(sql`UPDATE "takeback_links" SET "digest" = ${param('$new_link')} WHERE ${isHeld} AND ${isValid}`),
    ],
    use:
      kind === 'revert'
        ? takingBack(any, some(markTakenBack(isUsed, shift(clock, ms))))
        : [some(sql`DELETE FROM "takeback_links" WHERE ${isUsed}`)],
    unlessTakenBack: step(
      dialect,
      'taken back',
      'none',
      sql`SELECT 1 FROM "takeback_links" WHERE ${isOfAccount} AND "purpose" = ${TAKEN_BACK} AND ${shift(sql`"until"`, -ms)} >= ${param('$since', 'datetime')}`,
    ),
  }
}

/** Replaces the link that the account has for this purpose and slot. */
function making(any: (name: string, source: Sql) => Step, clock: Sql, until: Sql): readonly Step[] {
  return [
    // An expired invitation is kept, since it can be sent again.
    any('old', sql`DELETE FROM "takeback_links" WHERE "until" < ${clock} AND "purpose" <> ${INVITE}`),
    any(
      'make',
      sql`INSERT INTO "takeback_links" ("entity", "entity_id", "purpose", "slot", "digest", "bound", "address", "until")
        VALUES (${param('$link_entity')}, ${param('$link_id', 'integer')}, ${param('$new_purpose')}, ${param('$slot')}, ${param('$new_link')}, ${param('$bound')}, ${param('$address')}, ${until})
        ON CONFLICT ("entity", "entity_id", "purpose", "slot") DO UPDATE
        SET "digest" = excluded."digest", "bound" = excluded."bound", "address" = excluded."address", "until" = excluded."until"`,
    ),
  ]
}

/** Ends the links for later changes, and marks the used link as `TAKEN_BACK`. */
function takingBack(any: (name: string, source: Sql) => Step, use: Step): readonly Step[] {
  const isOfUsed = sql`m."digest" = ${param('$link')} AND m."entity" = "takeback_links"."entity" AND m."entity_id" = "takeback_links"."entity_id"`
  const isUsed = (also: Sql) => sql`EXISTS (SELECT 1 FROM "takeback_links" m WHERE ${isOfUsed}${also})`
  const isLater = sql` AND m."slot" <> "takeback_links"."slot" AND m."until" <= "takeback_links"."until"`
  return [
    any(
      'later',
      sql`DELETE FROM "takeback_links" WHERE "purpose" = ${param('$purpose')} AND ${isUsed(isLater)}`,
    ),
    any('former', sql`DELETE FROM "takeback_links" WHERE "purpose" = ${TAKEN_BACK} AND ${isUsed(sql``)}`),
    use,
  ]
}

function markTakenBack(which: Sql, until: Sql): Sql {
  return sql`UPDATE "takeback_links" SET "purpose" = ${TAKEN_BACK}, "slot" = '', "address" = NULL, "until" = ${until} WHERE ${which}`
}

function tokenParams(purpose: LinkKind, token: string): Params {
  return { $purpose: purpose, $link: digestOf(token) }
}

/** These names differ from those of `tokenParams`: one transaction may use up a link and make another one. */
function targetParams(
  purpose: LinkKind,
  { entity, id, bound, address = undefined, slot = '' }: LinkTarget,
  token: string,
): Params {
  const account = { $link_entity: entity, $link_id: id, $slot: slot }
  const made = { $new_purpose: purpose, $new_link: digestOf(token) }
  return { ...made, ...account, $bound: bound, $address: address ?? null }
}

function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
