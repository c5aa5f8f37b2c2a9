import type { EntityType, Field } from '../declare/model.ts'
import { isRecord } from '../declare/record.ts'
import { bodyColumns, ownColumns } from '../plan/tables/columns.ts'

/** An Entity as its JSON has it. */
export type State = Readonly<Record<string, unknown>> & { readonly [SECRETS]?: Secrets }

/** The key for hashes of secrets in a state. It is a symbol, so JSON leaves them out and no answer has them. */
export const SECRETS = Symbol('secrets')
export type Secrets = ReadonlyMap<string, string | null>

/**
 * The smallest part of an Entity that is compared and set back: a value, the id of a reference, a whole list, or the
 * presence of an optional object. The journal has no secrets: a state has only those that were added to it.
 */
export interface Leaf {
  readonly column: string
  readonly field: Field
  readonly isPresence: boolean
  readonly isSecret: boolean
  /** The innermost optional object around it. */
  readonly within: string | undefined
  /** Its value in a state: `null` if it is empty, undefined if the state does not contain it. */
  read(state: State): unknown
}

const known = new WeakMap<EntityType, readonly Leaf[]>()

export function leavesOf(type: EntityType): readonly Leaf[] {
  const made = known.get(type)
  if (made !== undefined) return made
  const leaves = bodyColumns(type.fields).map(({ name, kind, field, within, secret }): Leaf => {
    const names = field.path.split('.')
    return {
      column: name,
      field,
      isPresence: kind === 'presence',
      isSecret: secret,
      within,
      read: secret
        ? (state) => state[SECRETS]?.get(name)
        : (state) => leafValue(field, valueInState(state, names)),
    }
  })
  known.set(type, leaves)
  return leaves
}

/** Undefined if a name on the path is missing; `null` if an object on the path is `null`. */
function valueInState(state: State, names: readonly string[]): unknown {
  let at: unknown = state
  for (const name of names) {
    if (at === null) return null
    if (!isRecord(at) || !Object.hasOwn(at, name)) return undefined
    at = at[name]
  }
  return at
}

function leafValue(field: Field, value: unknown): unknown {
  if (value === undefined || value === null) return value
  if (field.kind === 'object') return isRecord(value) ? true : undefined
  if (field.kind === 'reference') return isRecord(value) ? (value.id ?? null) : undefined
  return value
}

export function isEqual(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === 'object' && a !== null && Bun.deepEquals(a, b))
}

/** A body that sets these leaves, for `plan.bind`. */
export function bodyOf(leaves: readonly (readonly [Leaf, unknown])[]): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  for (const [{ field, isPresence }, value] of leaves) {
    const names = field.path.split('.')
    const last = names.pop() ?? ''
    const parent = names.reduce<Record<string, unknown> | undefined>(objectIn, body)
    if (parent === undefined) continue
    if (isPresence) {
      if (value === null) parent[last] = null
      else objectIn(parent, last)
    } else parent[last] = field.kind === 'reference' && value !== null ? { id: value } : value
  }
  return body
}

/** The object at a name, created if missing; undefined if it is `null`. */
function objectIn(
  at: Record<string, unknown> | undefined,
  name: string,
): Record<string, unknown> | undefined {
  if (at === undefined) return undefined
  at[name] ??= at[name] === null ? null : {}
  const inner = at[name]
  return isRecord(inner) ? (inner as Record<string, unknown>) : undefined
}

/** Dot paths in a state that are no longer declared. With two states, only those that differ. */
export function strayPaths(fields: readonly Field[], state: State, other?: State, prefix = ''): string[] {
  const stray = Object.keys(state)
    .filter((name) => !(prefix === '' && Object.hasOwn(ownColumns, name)))
    .filter((name) => !fields.some((field) => field.name === name))
    .filter((name) => other === undefined || !isEqual(state[name], other[name]))
    .map((name) => prefix + name)
  for (const field of fields) {
    const inner = state[field.name]
    if (field.kind !== 'object' || !isRecord(inner)) continue
    const beside = other === undefined ? undefined : other[field.name]
    const former = other === undefined ? undefined : isRecord(beside) ? beside : {}
    stray.push(...strayPaths(field.fields, inner, former, `${field.path}.`))
  }
  return stray
}
