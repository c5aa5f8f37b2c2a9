import { columnOf, type Edge, type EntityType, type Field, linkTableOf } from './model.ts'

/** The references of all types, as edges of one graph. */
export function edgesOf(entities: ReadonlyMap<string, EntityType>): Edge[] {
  return [...entities.values()].flatMap(({ name, fields }) => edgesFrom(name, fields, undefined))
}

function edgesFrom(from: string, fields: readonly Field[], within: string | undefined): Edge[] {
  return fields.flatMap((field): Edge[] => {
    if (field.kind === 'object') return edgesFrom(from, field.fields, field.optional ? field.path : within)
    if (field.kind === 'value') return []
    const { path, target, onDelete } = field
    const list =
      field.kind === 'links'
        ? { links: linkTableOf(from, path).table, member: field.member, min: field.min, max: field.max }
        : undefined
    return [{ from, path, column: columnOf(field), within, to: target, onDelete, list }]
  })
}
