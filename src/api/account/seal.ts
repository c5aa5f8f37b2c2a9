import type { Plan } from '../../plan/compile.ts'
import { sealedName } from '../../plan/past/seals.ts'
import { type Act, read } from '../../store/act.ts'
import type { Bound, Params } from '../../store/dialect.ts'
import type { Step } from '../../store/step.ts'
import { type Context, isMatch } from '../context.ts'

/** One former value: the Entity's id, the column, the last version that had it, the value, sealed. */
export type SealedRow = readonly [id: number, column: string, version: number, value: string | null]

/**
 * Steps before an update that sets secrets: they keep the old values. These must be unchanged when the update is
 * written, so the update requires that version.
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

/** Without names, which may change. */
export function sealedAbout(id: number, version: number): string {
  return `${id}/${version}`
}
