import type { EntityType, Model } from '../../declare/model.ts'
import type { Dialect, Params } from '../../store/dialect.ts'
import { mutexKey } from '../../store/mutex.ts'
import { join, quoted, sql } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'

/**
 * Locks the graphs of types that refer to each other. Operations that search for the rows to lock run one at a time
 * there: no lock order suits a graph with cycles, and deadlocks cost far more than waiting. Operations with `shared`
 * locks run side by side.
 */
export function lockGraphs(
  types: readonly EntityType[],
  model: Model,
  dialect: Dialect,
  shared = false,
): Step[] {
  return lockNames(
    types.map((type) => `graph ${componentOf(type, model)}`),
    dialect,
    shared,
  )
}

/** Takes locks by name until the transaction ends. */
export function lockNames(names: readonly string[], dialect: Dialect, shared = false): Step[] {
  if (dialect.lock === undefined) return []
  const rows = sortedKeys(new Set(names.map(mutexKey))).map(
    (key) => sql`(${quoted(String(key))}::bigint, ${shared ? sql`true` : sql`false`})`,
  )
  const listed = sql`(SELECT * FROM (VALUES ${join(rows)}) v("key", "shared"))`
  return [step(dialect, 'mutex', 'any', dialect.lock.keys(listed))]
}

/** Keys that an operation locks before it changes anything. True: others may share the lock. */
export type Keys = ReadonlyMap<bigint, boolean>

/** Locks the bound keys. If every operation locks all of its keys at once and first, there are no deadlocks. */
export function lockKeys(dialect: Dialect): Step[] {
  if (dialect.lock === undefined) return []
  const rows = dialect.rows('$keys', [
    { name: 'key', kind: 'integer' },
    { name: 'shared', kind: 'boolean' },
  ])
  return [step(dialect, 'mutex', 'any', dialect.lock.keys(rows))]
}

export function keyParams(keys: Keys): Params {
  return { $keys: JSON.stringify(sortedKeys(keys.keys()).map((key) => [String(key), keys.get(key)])) }
}

/** Keys are always locked in the same order. */
function sortedKeys(keys: Iterable<bigint>): bigint[] {
  return [...keys].sort((a, b) => (a < b ? -1 : 1))
}

/** The connected component of a type in the reference graph, named by its first type. */
function componentOf(type: EntityType, model: Model): string {
  const names = [type.name]
  for (const name of names)
    for (const { from, to } of model.edges)
      for (const [here, there] of [
        [from, to],
        [to, from],
      ] as const)
        if (here === name && !names.includes(there)) names.push(there)
  return names.sort()[0] ?? type.name
}
