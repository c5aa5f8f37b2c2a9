import type { Edge, EntityType, Model } from '../declare/model.ts'

/** What a deletion of one type can reach, found once from the reference graph. */
export interface Reach {
  /** The type itself first, then all that cascade from it, at any depth. */
  readonly types: readonly EntityType[]
  /** Cascading references among them. */
  readonly cascades: readonly Edge[]
  /** References into them, by what they do. */
  readonly restricts: readonly Edge[]
  readonly clears: readonly Edge[]
  /** References from them, to any type. */
  readonly out: readonly Edge[]
  /** All references into them, of data that are no longer declared too. */
  readonly into: readonly Edge[]
}

export function reachOf(type: EntityType, model: Model, aside: readonly Edge[] = []): Reach {
  const types = [type]
  for (const reached of types)
    for (const edge of model.edges) {
      const from = model.entities.get(edge.from)
      if (
        edge.to === reached.name &&
        edge.onDelete === 'cascade' &&
        from !== undefined &&
        !types.includes(from)
      )
        types.push(from)
    }
  const names = new Set(types.map(({ name }) => name))
  const into = model.edges.filter((edge) => names.has(edge.to))
  return {
    types,
    cascades: into.filter((edge) => edge.onDelete === 'cascade'),
    restricts: into.filter((edge) => edge.onDelete === 'restrict'),
    clears: into.filter((edge) => edge.onDelete === 'clear'),
    out: model.edges.filter((edge) => names.has(edge.from)),
    into: [...into, ...aside.filter((edge) => names.has(edge.to))],
  }
}

/** The edges of each type that they come from. */
export function byType(edges: readonly Edge[], model: Model): { type: EntityType; edges: Edge[] }[] {
  return [...model.entities.values()]
    .map((type) => ({ type, edges: edges.filter((edge) => edge.from === type.name) }))
    .filter(({ edges }) => edges.length > 0)
}
