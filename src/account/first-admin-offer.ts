import { randomBytes } from 'node:crypto'
import { compile, param, quoted, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { Store } from '../store/store.ts'

const META = sql`"takeback_meta"`
const KEY = quoted('first admin')
/** The value once somebody uses the account of the first admin, or has created it. */
const MADE = 'made'

/** An offer: the account of the first admin is still free to take. */
export interface FirstAdminOffer {
  /** The account that the first start created, for somebody to take over; `null` if it could not create one. */
  readonly id: number | null
  /** The terminal shows a token that is made from this. */
  readonly nonce: string
}

/**
 * The offer of the first admin's account, as the database has it. It stands from the first start until somebody logs in
 * with the printed password, or takes the account over. That is a compare-and-set, so only one of many succeeds.
 */
export class FirstAdminOffers {
  readonly #store: Store
  readonly #read: Statement
  readonly #offer: readonly Step[]
  readonly #settle: readonly Step[]
  /** Takes the offer `$offer`. */
  readonly take: readonly Step[]

  constructor(store: Store) {
    const { dialect } = store
    const made = quoted(MADE)
    const insert = sql`INSERT INTO ${META} ("key", "value")`
    const set = sql`UPDATE ${META} SET "value" = ${made} WHERE "key" = ${KEY}`
    this.#store = store
    this.#read = compile(sql`SELECT "value" FROM ${META} WHERE "key" = ${KEY}`, dialect.placeholder)
    this.#offer = [
      step(
        dialect,
        'offer',
        'any',
        sql`${insert} VALUES (${KEY}, ${param('$offer')}) ON CONFLICT ("key") DO NOTHING`,
      ),
    ]
    this.#settle = [step(dialect, 'settle', 'any', set)]
    this.take = [step(dialect, 'take', 'some', sql`${set} AND "value" = ${param('$offer')} RETURNING "key"`)]
  }

  /** Reads the offer; undefined if there never was one. */
  async read(): Promise<FirstAdminOffer | typeof MADE | undefined> {
    const [row] = await this.#store.read(this.#read, {})
    if (row === undefined) return undefined
    const value = String(row[0])
    return value === MADE ? MADE : (JSON.parse(value) as FirstAdminOffer)
  }

  async make(id: number | null): Promise<void> {
    const nonce = randomBytes(16).toString('base64url')
    await this.#store.write(this.#offer, { $offer: offerText({ id, nonce }) })
  }

  /** Marks the account as used: nobody else can take it over. */
  async settle(): Promise<void> {
    await this.#store.write(this.#settle, {})
  }
}

/** The offer as the database stores it. */
export function offerText({ id, nonce }: FirstAdminOffer): string {
  return JSON.stringify({ id, nonce })
}
