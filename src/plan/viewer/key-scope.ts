import { type Action, actions } from '../../declare/define.ts'
import type { EntityType, Model } from '../../declare/model.ts'

/** The maximum rights of a key, as they were declared. */
export interface KeyRights {
  /** The actions by Entity type. Default: all. */
  readonly entities?: Readonly<Record<string, readonly Action[]>>
  readonly read_only?: boolean
}

/** How much a key may change. */
export interface KeyLimits {
  readonly changes_per_operation?: number
  readonly changes_per_hour?: number
  readonly deletes_per_day?: number
}

/** The names of all limits. */
export const keyLimits = ['changes_per_operation', 'changes_per_hour', 'deletes_per_day'] as const

/** The maximum rights of a key. The rules of its user apply as well. */
export interface KeyScope {
  /** Keys with the same shape have the same rights, and share a Viewer. */
  readonly shape: string
  /** The actions by Entity type; undefined if only the rules of its user apply. */
  readonly entities: ReadonlyMap<string, ReadonlySet<Action>> | undefined
  readonly readOnly: boolean
  /** Whether it may only do what can be taken back. */
  readonly agent: boolean
}

/** Actions that change nothing. */
const READING: readonly Action[] = ['read', 'history']

/** Actions that do not require the right to read. */
export const ALONE: readonly Action[] = ['create', 'read']

/** The scope of a key. Undeclared types give no rights. A migration that renames a type also renames it in keys. */
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

/** Whether a scope permits an action on a type, if the rules do. */
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
  // A purge cannot be undone, and accounts control who can log in.
  return !agent || !changes || (action !== 'purge' && type.login === undefined)
}
