import type { Params } from '../store/dialect.ts'
import type { Step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import type { AccountId } from './account-id.ts'
import { ownerLock } from './owner-lock.ts'
import type { Seals } from './seals.ts'
import {
  compileFactors,
  type FactorStatements,
  factorColumns,
  sealedColumns,
} from './second-factor-statements.ts'
import type { CallingSession } from './sessions.ts'
import type { AttemptAccount } from './throttle.ts'
import { newRecoveryCodes, newTotpSecret, recoveryDigest, stepOfCode } from './totp.ts'

/** The name under which wrong codes are counted. */
export function codeAccount({ entity, id }: AccountId): AttemptAccount {
  return `second-factor ${entity}/${id}`
}

/** What the owner of a second factor may see of it. */
export interface FactorState {
  readonly since: string
  /** How many recovery codes are left. */
  readonly codes: number
}

/**
 * Second factors: a secret from which an authenticator app makes codes, and recovery codes in case it is lost. The
 * secret is sealed with the server's secret. Of recovery codes only digests are stored. Each code works once.
 */
export class SecondFactors {
  readonly #store: Store
  readonly #seals: Seals
  readonly #statements: FactorStatements
  readonly #lock: (entity: string) => Step

  constructor(store: Store, seals: Seals) {
    this.#store = store
    this.#seals = seals
    this.#statements = compileFactors(store.dialect)
    this.#lock = ownerLock(store.dialect, '$id')
  }

  /** Undefined if there is no second factor, or if it was never confirmed. */
  async state(owner: AccountId): Promise<FactorState | undefined> {
    const row = await this.#find(owner)
    if (row === undefined || row.confirmed === null) return undefined
    return { since: new Date(String(row.confirmed)).toISOString(), codes: Number(row.codes) }
  }

  /** Makes a secret, which does nothing until a code confirms it. Undefined if there is a second factor, or no user. */
  async begin(owner: AccountId): Promise<Buffer | undefined> {
    const secret = newTotpSecret()
    const params = { ...ownerParams(owner), $secret: this.#seal(secret, owner) }
    const steps = [this.#lock(owner.entity), ...this.#statements.begin]
    const { done } = await this.#store.write(steps, params)
    return done ? secret : undefined
  }

  /** Turns it on and returns its recovery codes. Undefined if the code is wrong or the session has ended. */
  async confirm(
    owner: AccountId,
    code: string,
    calling: CallingSession,
  ): Promise<readonly string[] | undefined> {
    const row = await this.#find(owner)
    if (row === undefined || row.confirmed !== null) return undefined
    const step = this.#stepOf(String(row.secret), owner, code)
    if (step === undefined) return undefined
    const codes = newRecoveryCodes()
    const params = { ...codesParams(owner, codes), ...calling.params, $secret: row.secret, $step: step }
    const { done } = await this.#store.write([...calling.steps, ...this.#statements.confirm], params)
    return done ? codes : undefined
  }

  /** Whether a code of the app or for recovery is right. It is then used up. Of many at once, one succeeds. */
  async use(owner: AccountId, code: string): Promise<boolean> {
    const row = await this.#find(owner)
    if (row === undefined || row.confirmed === null) return false
    const step = this.#stepOf(String(row.secret), owner, code)
    const params = { ...ownerParams(owner), $step: step ?? 0, $digest: recoveryDigest(code) }
    const steps = step === undefined ? this.#statements.recover : this.#statements.use
    return (await this.#store.write(steps, params)).done
  }

  /** New recovery codes in place of the old ones. Undefined if there is no second factor. */
  async renewCodes(owner: AccountId): Promise<readonly string[] | undefined> {
    const codes = newRecoveryCodes()
    const { done } = await this.#store.write(this.#statements.renewCodes, codesParams(owner, codes))
    return done ? codes : undefined
  }

  /** Removes the second factor. False if there is none. */
  async remove(owner: AccountId): Promise<boolean> {
    return (await this.#store.write(this.#statements.remove, ownerParams(owner))).done
  }

  /** Seals all secrets with the server's present secret, so that the previous one can be removed. */
  async reseal(job: { readonly store: Store; pause(): Promise<void> }): Promise<void> {
    const { store } = job
    let last: AccountId = { entity: '', id: 0 }
    for (;;) {
      const rows = await store.read(this.#statements.after, ownerParams(last))
      const found = rows.map((row) => sealedColumns.read(row))
      for (const { entity, id, secret } of found) {
        last = { entity: String(entity), id: Number(id) }
        const $sealed = this.#seals.reseal(String(secret), sealedFor(last)) ?? null
        if ($sealed === null) continue
        await store.write(this.#statements.reseal, { ...ownerParams(last), $secret: secret, $sealed })
      }
      if (found.length === 0) return
      await job.pause()
    }
  }

  async #find(owner: AccountId) {
    const [row] = await this.#store.read(this.#statements.find, ownerParams(owner))
    return row === undefined ? undefined : factorColumns.read(row)
  }

  #seal(secret: Buffer, owner: AccountId): string {
    return this.#seals.seal(secret.toString('base64url'), sealedFor(owner))
  }

  /** Undefined if the code is wrong, or if the server's secret was replaced since. */
  #stepOf(sealed: string, owner: AccountId, code: string): number | undefined {
    const secret = this.#seals.open(sealed, sealedFor(owner))
    return secret === undefined ? undefined : stepOfCode(Buffer.from(secret, 'base64url'), code)
  }
}

function ownerParams({ entity, id }: AccountId): Params {
  return { $entity: entity, $id: id }
}

function codesParams(owner: AccountId, codes: readonly string[]): Params {
  return { ...ownerParams(owner), $digests: JSON.stringify(codes.map((code) => [recoveryDigest(code)])) }
}

/** Leaves out the name of the type, which may change. */
function sealedFor({ id }: AccountId): string {
  return `totp ${id}`
}
