import { note } from '../errors.ts'
import { columnOf, type Field, walk } from './model.ts'

/** What every database can keep in an index, of all texts of a set together. */
const INDEX_BYTES = 2600

/** Texts that must be unique stand in an index, which takes only so many bytes. */
export function withinIndexes(fields: readonly Field[], sets: readonly (readonly string[])[]): Field[] {
  const isText = (field: Field) => field.kind === 'value' && field.column === 'text'
  const texts = new Set([...walk(fields)].filter(isText).map(columnOf))
  const most = new Map<string, number>()
  for (const set of sets) {
    const ofSet = set.filter((column) => texts.has(column))
    for (const column of ofSet)
      most.set(column, Math.min(most.get(column) ?? INDEX_BYTES, Math.floor(INDEX_BYTES / ofSet.length)))
  }
  return fields.map((field) => bounded(field, most))
}

function bounded(field: Field, most: ReadonlyMap<string, number>): Field {
  if (field.kind === 'object')
    return Object.freeze({ ...field, fields: field.fields.map((inner) => bounded(inner, most)) })
  const limit = most.get(columnOf(field))
  if (field.kind !== 'value' || limit === undefined) return field
  const { check } = field
  return Object.freeze({
    ...field,
    check: (value: unknown, path: string, errors: Parameters<typeof check>[2]) => {
      const checked = check(value, path, errors)
      if (typeof checked === 'string' && Buffer.byteLength(checked) > limit)
        return note(errors, path, `must have at most ${limit} bytes, since it is unique`)
      return checked
    },
  })
}
