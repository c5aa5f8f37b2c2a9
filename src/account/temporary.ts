import { createHash } from 'node:crypto'
import { budget } from '../budget.ts'
import { hasPassed } from '../clock.ts'
import type { Bound, Params } from '../store/dialect.ts'
import { param, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import { ownerLock } from './owner-lock.ts'

const GOOD_MS = budget.temporaryPasswordHours * 3_600_000

/**
 * Passwords that were printed, and so may have been seen by others. Each is good for a day; then its account can do
 * nothing but change it. Only a digest of the password's hash is stored. It no longer matches once the account has
 * another password, however that was set, and matches again if the change is undone.
 */
export class TemporaryPasswords {
  readonly #store: Store
  readonly #mark: Step
  readonly #lock: (entity: string) => Step

  constructor(store: Store) {
    const { dialect } = store
    const [entity, id, digest] = [param('$entity'), param('$id', 'integer'), param('$digest')]
    const until = param('$until', 'datetime')
    this.#store = store
    this.#lock = ownerLock(dialect, '$id')
    this.#mark = step(
      dialect,
      'mark',
      'any',
      sql`INSERT INTO "takeback_temporary_passwords" ("entity", "entity_id", "digest", "until") VALUES (${entity}, ${id}, ${digest}, ${until})
        ON CONFLICT ("entity", "entity_id") DO UPDATE SET "digest" = excluded."digest", "until" = excluded."until"`,
    )
  }

  /** Marks this hash as that of a temporary password. Does nothing if the account is gone. */
  async mark(entity: string, id: number, hash: string): Promise<void> {
    const until = new Date(Date.now() + GOOD_MS).toISOString()
    const params: Params = { $entity: entity, $id: id, $digest: digestOf(hash), $until: until }
    await this.#store.write([this.#lock(entity), this.#mark], params)
  }
}

/** When a temporary password expires; undefined if the password is not temporary. */
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
