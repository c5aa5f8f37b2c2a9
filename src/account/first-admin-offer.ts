import { randomBytes } from 'node:crypto'
import { compile, param, type Statement, sql, word } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { Store } from '../store/store.ts'

const META = sql`"takeback_meta"`
const KEY = word('first admin')
/** What stands there once somebody uses the account of the first admin, or has made it. */
const MADE = 'made'

/** That the account of the first admin is still to be had. */
export interface FirstAdminOffer {
  /** The account that the first start has made, for somebody to take over; `null` if it could not make one. */
  readonly id: number | null
  /** From this the token is made that the terminal shows. */
  readonly nonce: string
}

/**
 * What the database says about the first admin. It is on offer from the first start until somebody logs in with the printed
 * password, or makes the account their own: by compare-and-set, so only one of many can.
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
    const made = word(MADE)
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

  /** Undefined if there never was an offer. */
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

  /** It is used: nobody else can take it over. */
  async settle(): Promise<void> {
    await this.#store.write(this.#settle, {})
  }
}

/** As it stands in the database. */
export function offerText({ id, nonce }: FirstAdminOffer): string {
  return JSON.stringify({ id, nonce })
}
