import { addError } from '../errors.ts'
import { columnOf, type Field, type IndexKey, walk } from './model.ts'

/** The bytes that every database can keep in one index entry, for all texts of a set together. */
const INDEX_BYTES = 2600

interface Most {
  readonly bytes: number
  readonly because: string
}

/** Limits the length of texts in unique and declared indexes, whose entries have a maximum size. */
export function withinIndexes(
  fields: readonly Field[],
  uniques: readonly (readonly string[])[],
  indexes: readonly (readonly IndexKey[])[],
): Field[] {
  const isText = (field: Field) => field.kind === 'value' && field.column === 'text'
  const texts = new Set([...walk(fields)].filter(isText).map(columnOf))
  const most = new Map<string, Most>()
  const limit = (set: readonly string[], because: string) => {
    const ofSet = set.filter((column) => texts.has(column))
    const bytes = Math.floor(INDEX_BYTES / ofSet.length)
    for (const column of ofSet)
      if (bytes < (most.get(column)?.bytes ?? Number.POSITIVE_INFINITY)) most.set(column, { bytes, because })
  }
  for (const set of uniques) limit(set, 'unique')
  for (const keys of indexes)
    limit(
      keys.map(({ column }) => column),
      'indexed',
    )
  return fields.map((field) => bounded(field, most))
}

function bounded(field: Field, most: ReadonlyMap<string, Most>): Field {
  if (field.kind === 'object')
    return Object.freeze({ ...field, fields: field.fields.map((inner) => bounded(inner, most)) })
  const limit = most.get(columnOf(field))
  if (field.kind !== 'value' || limit === undefined) return field
  const { check } = field
  return Object.freeze({
    ...field,
    check: (value: unknown, path: string, errors: Parameters<typeof check>[2]) => {
      const checked = check(value, path, errors)
      if (typeof checked === 'string' && Buffer.byteLength(checked) > limit.bytes)
        return addError(errors, path, `must have at most ${limit.bytes} bytes, since it is ${limit.because}`)
      return checked
    },
  })
}
