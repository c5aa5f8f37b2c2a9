import type { OnDelete } from '../../declare/define.ts'
import type { Edge, EntityType, Model } from '../../declare/model.ts'
import type { MigrationStep } from '../../store/migration/steps.ts'

/** The types and references that a deletion of one type can reach. */
export interface Reach {
  /** The type itself first, then all types that cascade from it, at any depth. */
  readonly types: readonly EntityType[]
  /** Cascading references among them. */
  readonly cascades: readonly Edge[]
  /** References into them, by their `onDelete`. */
  readonly restricts: readonly Edge[]
  readonly clears: readonly Edge[]
  /** Cleared lists that have a minimum length. */
  readonly floors: readonly Edge[]
  /** References from them, to any type. */
  readonly out: readonly Edge[]
  /** All references into them, including those that are no longer declared. */
  readonly into: readonly Edge[]
}

/** What former declarations have left in the database. */
export interface Legacy {
  /** References that are no longer declared but still stored. */
  readonly aside: readonly Edge[]
  /** Whether a reference was ever declared with this `onDelete`. */
  did(edge: Edge, what: OnDelete): boolean
  /** The changes that migrations made to values. */
  readonly steps: readonly MigrationStep[]
}

export const noLegacy: Legacy = { aside: [], did: () => false, steps: [] }

/** `back`: for a restore or a purge, which must follow the declaration at the time of the deletion. */
export function reachOf(
  type: EntityType,
  model: Model,
  legacy: Legacy = noLegacy,
  way: 'there' | 'back' = 'there',
): Reach {
  const does = (edge: Edge, what: OnDelete) =>
    edge.onDelete === what || (way === 'back' && legacy.did(edge, what))
  const types = [type]
  for (const reached of types)
    for (const edge of model.edges.filter(({ to }) => to === reached.name)) {
      const from = model.entities.get(edge.from)
      if (does(edge, 'cascade') && from !== undefined && !types.includes(from)) types.push(from)
    }
  const names = new Set(types.map(({ name }) => name))
  const into = model.edges.filter((edge) => names.has(edge.to))
  return {
    types,
    cascades: into.filter((edge) => does(edge, 'cascade')),
    restricts: into.filter((edge) => edge.onDelete === 'restrict'),
    clears: into.filter((edge) => does(edge, 'clear')),
    floors: into.filter(({ onDelete, list }) => onDelete === 'clear' && (list?.min ?? 0) > 0),
    out: model.edges.filter((edge) => names.has(edge.from)),
    into: [...into, ...legacy.aside.filter((edge) => names.has(edge.to))],
  }
}

/** The edges, grouped by the type that they come from. */
export function byType(edges: readonly Edge[], model: Model): { type: EntityType; edges: Edge[] }[] {
  return [...model.entities.values()]
    .map((type) => ({ type, edges: edges.filter((edge) => edge.from === type.name) }))
    .filter(({ edges }) => edges.length > 0)
}
