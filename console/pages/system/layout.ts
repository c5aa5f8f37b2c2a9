import type { EntityType, Field } from '../../model.ts'

/** A reference from one type to another. */
export interface Reference {
  readonly from: string
  readonly to: string
  readonly path: string
  readonly onDelete: string
}

export interface Box {
  readonly type: EntityType
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface Layout {
  readonly boxes: readonly Box[]
  readonly references: readonly Reference[]
  readonly width: number
  readonly height: number
}

const WIDTH = 210
const GAP_X = 90
const GAP_Y = 28
const HEAD = 30
export const LINE = 20
/** The most fields that are shown. The rest is counted. */
export const SHOWN = 10

/** Returns all references of a type, including those in objects and lists. */
export function referencesOf(type: EntityType): Reference[] {
  const found: Reference[] = []
  const look = (field: Pick<Field, 'to' | 'on_delete' | 'fields' | 'items'>, path: string) => {
    if (typeof field.to === 'string')
      found.push({ from: type.name, to: field.to, path, onDelete: field.on_delete ?? 'restrict' })
    for (const inner of field.fields ?? []) look(inner, inner.path)
    if (field.items !== undefined) look(field.items, path)
  }
  for (const field of type.fields) look(field, field.path)
  // A list of references has its target twice: in the list and in its items.
  return found.filter(
    (one, at) => found.findIndex((other) => other.path === one.path && other.to === one.to) === at,
  )
}

/** Arranges types in columns: a type is left of those that it refers to, except in circles. */
export function layOut(types: readonly EntityType[]): Layout {
  const references = types.flatMap(referencesOf).filter(({ to }) => types.some(({ name }) => name === to))
  const columns: EntityType[][] = []
  const depths = depthsOf(types, references)
  const deepest = Math.max(0, ...depths.values())
  for (const type of types) {
    const at = deepest - (depths.get(type.name) ?? 0)
    columns[at] = [...(columns[at] ?? []), type]
  }
  const boxes: Box[] = []
  for (const [column, members] of columns.entries()) {
    let y = 0
    for (const type of members ?? []) {
      const height = HEAD + LINE * Math.min(type.fields.length, SHOWN + 1) + 8
      boxes.push({ type, x: column * (WIDTH + GAP_X), y, width: WIDTH, height })
      y += height + GAP_Y
    }
  }
  return {
    boxes,
    references,
    width: Math.max(...boxes.map(({ x, width }) => x + width), WIDTH),
    height: Math.max(...boxes.map(({ y, height }) => y + height), HEAD),
  }
}

/** Returns each type's distance to a type without references. Circles are cut where they close. */
function depthsOf(types: readonly EntityType[], references: readonly Reference[]): Map<string, number> {
  const depths = new Map<string, number>()
  const visit = (name: string, above: readonly string[]): number => {
    const known = depths.get(name)
    if (known !== undefined) return known
    if (above.includes(name)) return 0
    const targets = references.filter(({ from, to }) => from === name && to !== name)
    const depth = Math.max(-1, ...targets.map(({ to }) => visit(to, [...above, name]))) + 1
    depths.set(name, depth)
    return depth
  }
  for (const { name } of types) visit(name, [])
  return depths
}
