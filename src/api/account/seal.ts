import type { Plan } from '../../plan/compile.ts'
import { sealedName } from '../../plan/past/seals.ts'
import { type Act, read } from '../../store/act.ts'
import type { Bound, Params } from '../../store/dialect.ts'
import type { Step } from '../../store/step.ts'
import { type Context, isMatch } from '../context.ts'

/** A sealed former value: the Entity's id, the column, the last version that had the value, and the value. */
export type SealedRow = readonly [id: number, column: string, version: number, value: string | null]

/**
 * Returns the steps that keep the old values of secrets, for the transaction of an update that sets them. The old
 * values must not change before the write, so the update requires their version.
 */
export function* sealFormer(context: Context, plan: Plan, params: Params): Act<readonly Step[]> {
  const { seals } = plan
  const set = seals?.columns.filter((column) => Object.hasOwn(params, column)) ?? []
  if (seals === undefined || set.length === 0) return []
  const [row] = yield* read(seals.current, params)
  // If the Entity is missing or has another version, the write itself is refused.
  if (row === undefined || !isMatch(params.$versions as string | null, row[0])) return []
  const [version, ...hashes] = row
  const rows = set.map((column) =>
    sealOne(context, {
      id: Number(params.$id),
      column,
      version: Number(version),
      hash: hashes[seals.columns.indexOf(column)],
    }),
  )
  params.$versions = `|${version}|`
  params[sealedName(plan.type.name)] = JSON.stringify(rows)
  return [seals.keep]
}

export function sealOne(
  { seals }: Context,
  { id, column, version, hash }: { id: number; column: string; version: number; hash: Bound | undefined },
): SealedRow {
  return [id, column, version, hash == null ? null : seals.seal(String(hash), sealedAbout(id, version))]
}

/** Has no names, since they may change. */
export function sealedAbout(id: number, version: number): string {
  return `${id}/${version}`
}
