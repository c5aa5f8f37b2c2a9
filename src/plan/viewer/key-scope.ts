import { type Action, actions } from '../../declare/define.ts'
import type { EntityType, Model } from '../../declare/model.ts'

/** What a key may do at most, as it was declared. */
export interface KeyRights {
  /** By Entity type; without it, all. */
  readonly entities?: Readonly<Record<string, readonly Action[]>>
  readonly read_only?: boolean
}

/** The most that a key may change. */
export interface KeyLimits {
  readonly changes_per_operation?: number
  readonly changes_per_hour?: number
  readonly deletes_per_day?: number
}

/** The names of all limits. */
export const keyLimits = ['changes_per_operation', 'changes_per_hour', 'deletes_per_day'] as const

/** What a key may do at most. The rules of its user hold besides. */
export interface KeyScope {
  /** Keys with the same shape may do the same, and share a Viewer. */
  readonly shape: string
  /** By the name of a type; undefined: whatever its user may. */
  readonly entities: ReadonlyMap<string, ReadonlySet<Action>> | undefined
  readonly readOnly: boolean
  /** Whether it does only what can be taken back. */
  readonly agent: boolean
}

/** Actions that change nothing. */
const READING: readonly Action[] = ['read', 'history']

/** Actions that do not need the right to read. */
export const ALONE: readonly Action[] = ['create', 'read']

/** Types that are not declared any more give no rights. A migration that renames a type renames it in keys, too. */
export function keyScope(
  { entities }: Model,
  { entities: named, read_only: readOnly = false }: KeyRights,
  agent: boolean,
): KeyScope {
  const found =
    named === undefined
      ? undefined
      : new Map(
          Object.entries(named)
            .filter(([name]) => entities.has(name))
            .map(([name, may]) => [name, new Set(may)]),
        )
  const shape = [...(found ?? [])].map(([name, may]) => [name, actions.filter((one) => may.has(one))]).sort()
  return Object.freeze({
    shape: JSON.stringify([readOnly, agent, found === undefined ? null : shape]),
    entities: found,
    readOnly,
    agent,
  })
}

/** Whether a scope leaves an action on a type to the rules. */
export function scopeAllows(
  { entities, readOnly, agent }: KeyScope,
  type: EntityType,
  action: Action,
): boolean {
  const named = entities?.get(type.name)
  if (entities !== undefined && !named?.has(action)) return false
  if (named !== undefined && !ALONE.includes(action) && !named.has('read')) return false
  const changes = !READING.includes(action)
  if (readOnly && changes) return false
  // What is purged cannot come back, and an account is how somebody gets in.
  return !agent || !changes || (action !== 'purge' && type.login === undefined)
}
