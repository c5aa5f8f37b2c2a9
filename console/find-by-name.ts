import { type EntityType, type Field, fieldAt } from './model.ts'
import { namingFields } from './names.ts'

/** Returns list parameters that find Entities whose name contains a text, or that have it as their id; newest first. */
export function byName(type: EntityType, text: string, limit: number): object {
  const shape = { limit, fields: ['id', ...namingFields(type)].join(',') }
  const wanted = text.trim()
  if (wanted === '') return { ...shape, sort: '-id' }
  if (/^\d{1,15}$/.test(wanted)) return { ...shape, filter: `id == ${wanted}` }
  if (type.search) return { ...shape, search: wanted }
  const conditions = searchedFields(type).map(({ path, fold }) =>
    fold === true
      ? `fold(${path}).contains(${JSON.stringify(wanted)})`
      : `${path}.lowerAscii().contains(${JSON.stringify(wanted.toLowerCase())})`,
  )
  return { ...shape, filter: conditions.length === 0 ? 'false' : conditions.join(' || '), sort: '-id' }
}

/** The text fields that may name an Entity. */
export function searchedFields(type: EntityType): readonly Field[] {
  return namingFields(type).flatMap((path) => {
    const field = fieldAt(type.fields, path)
    const isText = field !== undefined && (field.type === 'text' || field.type === 'email')
    return isText && field.filterable !== false ? [field] : []
  })
}
