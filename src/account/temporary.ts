import { createHash } from 'node:crypto'
import { budget } from '../budget.ts'
import { hasPassed } from '../clock.ts'
import type { Bound, Params } from '../store/dialect.ts'
import { param, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import { ownerHold } from './hold-owner.ts'

const GOOD_MS = budget.temporaryPasswordHours * 3_600_000

/**
 * Passwords that were printed, and so seen by whoever reads along. Each is good for a day; then its account can do
 * nothing but change it. What is kept is a digest of the password's hash: once the account has another password, this
 * says nothing any more, however the change was made, and an undo of that change brings it back.
 */
export class TemporaryPasswords {
  readonly #store: Store
  readonly #mark: Step
  readonly #hold: (entity: string) => Step

  constructor(store: Store) {
    const { dialect } = store
    const [entity, id, digest] = [param('$entity'), param('$id', 'integer'), param('$digest')]
    const until = param('$until', 'datetime')
    this.#store = store
    this.#hold = ownerHold(dialect, '$id')
    this.#mark = step(
      dialect,
      'mark',
      'any',
      sql`INSERT INTO "takeback_temporary_passwords" ("entity", "entity_id", "digest", "until") VALUES (${entity}, ${id}, ${digest}, ${until})
        ON CONFLICT ("entity", "entity_id") DO UPDATE SET "digest" = excluded."digest", "until" = excluded."until"`,
    )
  }

  /** From now on this hash is the one of a temporary password. Does nothing if the account is gone. */
  async mark(entity: string, id: number, hash: string): Promise<void> {
    const until = new Date(Date.now() + GOOD_MS).toISOString()
    const params: Params = { $entity: entity, $id: id, $digest: digestOf(hash), $until: until }
    await this.#store.write([this.#hold(entity), this.#mark], params)
  }
}

/** When the password of an account expires; undefined where it is not a temporary one. */
export function expiryOf({
  hash,
  digest,
  until,
}: Readonly<Record<'hash' | 'digest' | 'until', Bound>>): string | undefined {
  if (digest === null || digestOf(String(hash)) !== digest) return undefined
  return new Date(String(until)).toISOString()
}

export function isExpired(expiry: string): boolean {
  return hasPassed(Date.parse(expiry), GOOD_MS)
}

function digestOf(hash: string): string {
  return createHash('sha256').update(hash).digest('base64url')
}
