import type { Secrets } from '../../journal/leaves.ts'
import type { Reversal } from '../../journal/reversal.ts'
import type { Touched } from '../../journal/versions.ts'
import type { Plan } from '../../plan/compile.ts'
import { sealedName } from '../../plan/past/seals.ts'
import { type Actor, passesRules } from '../../plan/viewer/actor.ts'
import { type Act, read } from '../../store/act.ts'
import type { Params } from '../../store/dialect.ts'
import type { Step } from '../../store/step.ts'
import type { Context } from '../context.ts'
import { type SealedRow, sealedAbout, sealOne } from './seal.ts'

/** Reasons why a secret cannot be taken back. */
const SEALED = 'cannot be taken back: it was sealed with a former secret of the server'
const OWN = 'can only be changed with /api/auth/password'

/** A value of a secret, up to and including a version; undefined if it cannot be opened. */
interface Former {
  readonly version: number
  readonly hash: string | null | undefined
}

/** The former and present secrets of Entities of one type. */
export class SecretPast {
  /** Values by id and column, oldest first. The last one is the present value. */
  readonly #values: ReadonlyMap<string, readonly Former[]>
  readonly #columns: readonly string[]
  readonly #withheld: ReadonlySet<string>

  constructor(
    columns: readonly string[],
    values: ReadonlyMap<string, readonly Former[]>,
    withheld: ReadonlySet<string>,
  ) {
    this.#columns = columns
    this.#values = values
    this.#withheld = withheld
  }

  /** Returns the secrets at a version, as far as they are known. */
  at(id: number, version: number): Secrets {
    const secrets = new Map<string, string | null>()
    for (const column of this.#columns) {
      const hash = this.#former(id, column, version)?.hash
      if (hash !== undefined && !this.#withheld.has(column)) secrets.set(column, hash)
    }
    return secrets
  }

  /** Adds its secrets to every version of an Entity. */
  addTo(touched: Touched): Touched {
    const versions = touched.versions.map((one) => ({
      ...one,
      snapshot: one.snapshot.withSecrets(this.at(touched.id, one.version)),
    }))
    return { ...touched, versions }
  }

  /** Returns why secrets that changed since a version, or in the next one only, cannot be taken back. */
  lost(id: number, version: number, by: 'next' | 'any' = 'next'): Map<string, string> {
    const lost = new Map<string, string>()
    for (const column of this.#columns) {
      const former = this.#former(id, column, version)
      const changed = former !== undefined && Number.isFinite(former.version)
      if (!changed || (by === 'next' && former.version !== version)) continue
      if (this.#withheld.has(column)) lost.set(column, OWN)
      else if (former.hash === undefined) lost.set(column, SEALED)
    }
    return lost
  }

  #former(id: number, column: string, version: number): Former | undefined {
    return this.#values.get(`${id} ${column}`)?.find((one) => one.version >= version)
  }
}

/** Undefined if the type has no secrets. Only admins can take back a password: a token alone must not be enough. */
export function* secretsOf(
  context: Context,
  actor: Actor,
  { seals, login }: Plan,
  ids: readonly number[],
): Act<SecretPast | undefined> {
  if (seals === undefined) return undefined
  const params = { $ids: JSON.stringify(ids) }
  const values = new Map<string, Former[]>()
  const add = (key: string, former: Former) => {
    const known = values.get(key)
    if (known === undefined) values.set(key, [former])
    else known.push(former)
  }
  for (const [id, column, version, value] of yield* read(seals.former, params)) {
    const about = sealedAbout(Number(id), Number(version))
    const hash = value === null ? null : context.seals.open(String(value), about)
    add(`${id} ${column}`, { version: Number(version), hash })
  }
  for (const [id, , ...hashes] of yield* read(seals.now, params))
    for (const [at, column] of seals.columns.entries())
      add(`${id} ${column}`, { version: Number.POSITIVE_INFINITY, hash: secretText(hashes[at]) })
  const admin = passesRules(actor)
  return new SecretPast(seals.columns, values, new Set(login === undefined || admin ? [] : ['password']))
}

function secretText(value: unknown): string | null {
  return value == null ? null : String(value)
}

/** Steps that keep the secrets which reversals replace, and their parameters. They follow those of the amendment. */
export function sealReplaced(
  context: Context,
  reversals: readonly Reversal[],
): { steps: Step[]; params: Params } {
  const rows = new Map<Plan, SealedRow[]>()
  for (const { plan, columns, now } of reversals)
    for (const column of replacedBy(plan, columns)) {
      const known = rows.get(plan) ?? []
      rows.set(plan, known)
      const hash = now.snapshot.secrets?.get(column) ?? null
      known.push(sealOne(context, { id: now.id, version: now.version, column, hash }))
    }
  const steps = [...rows.keys()].flatMap(({ seals }) => (seals === undefined ? [] : [seals.keep]))
  const params = Object.fromEntries(
    [...rows].map(([{ type }, of]) => [sealedName(type.name), JSON.stringify(of)]),
  )
  return { steps, params }
}

/** Returns the secrets among the columns that are set. */
export function replacedBy({ seals }: Plan, columns: readonly string[]): string[] {
  return seals === undefined ? [] : columns.filter((column) => seals.columns.includes(column))
}
