import type { EntityType, Field } from '../model.ts'

/** Whether the user may fill in a field. Items of lists have no such rights: those of the list count. */
export function isEditable(field: Field, mode: 'create' | 'edit'): boolean {
  if (field.read_only === true || field.computed === true) return false
  const may = field.may?.[mode === 'create' ? 'create' : 'update']
  return may !== false
}

/** Returns the fields to fill in, and the fields that are only shown. */
export function fieldsOf(type: EntityType, mode: 'create' | 'edit'): { editable: Field[]; shown: Field[] } {
  const editable = type.fields.filter((field) => isEditable(field, mode))
  const shown = type.fields.filter((field) => !isEditable(field, mode) && field.may?.read !== false)
  return { editable, shown: mode === 'create' ? [] : shown }
}
