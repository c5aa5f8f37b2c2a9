import { didYouMean } from './closest.ts'
import { foldedColumn, isFoldedColumn, unfoldedColumn } from './folded-column.ts'
import { columnOf, type Field, type IndexKey, walk } from './model.ts'
import type { Problems } from './problems.ts'

/** The columns that every Entity has and sorts can use. `deleted_at` is not one of them. */
const OWN = ['id', 'version', 'created_at', 'updated_at']

/** The declared indexes of one type. Each ends with `id`, as every sort does. */
export function resolveIndexes(
  sets: unknown,
  fields: readonly Field[],
  path: string,
  problems: Problems,
): (readonly IndexKey[])[] {
  if (!Array.isArray(sets) || !sets.every(isListOfTexts)) {
    problems.push([
      `${path}.index`,
      "must be a list of lists of dot paths, such as [['status', '-starts_at']]",
    ])
    return []
  }
  const seen = new Set<string>()
  return sets.map((set: readonly string[], at) => {
    const where = `${path}.index.${at}`
    const given = set.map(keyOf)
    refuseUnfit(given, fields, where, problems)
    const keys = given.map((key) => sortedKey(key, fields))
    const all = withId(
      keys,
      ({ column }) => column === 'id',
      (descending) => [{ column: 'id', descending }],
    )
    const said = all.map(({ column, descending }) => (descending ? '-' : '') + column).join('+')
    if (keys[0]?.column === 'id')
      problems.push([where, 'is the order that every type has already; leave it out'])
    else if (seen.has(said) || new Set(keys.map(({ column }) => column)).size < keys.length)
      problems.push([where, 'is a duplicate; remove it'])
    seen.add(said)
    return Object.freeze(all)
  })
}

function isListOfTexts(set: unknown): boolean {
  return Array.isArray(set) && set.length > 0 && set.every((one) => typeof one === 'string')
}

function keyOf(text: string): IndexKey {
  const descending = text.startsWith('-')
  const said = descending ? text.slice(1) : text
  const [, folded] = /^fold\((.*)\)$/.exec(said) ?? []
  return { column: folded === undefined ? said : foldedColumn(folded), descending }
}

/** The key of an index. A text that is sorted folded is indexed folded. */
function sortedKey({ column, descending }: IndexKey, fields: readonly Field[]): IndexKey {
  const sorts = [...walk(fields)].some(
    (field) => field.path === column && field.kind === 'value' && field.sortsFolded,
  )
  return { column: sorts ? foldedColumn(column) : column, descending }
}

/** Adds `id` in the direction of the last key, so that one index serves both directions. */
export function withId<Key extends { readonly descending: boolean }>(
  keys: readonly Key[],
  isId: (key: Key) => boolean,
  idKey: (descending: boolean) => readonly Key[],
): Key[] {
  return keys.some(isId) ? [...keys] : [...keys, ...idKey(keys.at(-1)?.descending ?? false)]
}

function refuseUnfit(
  keys: readonly IndexKey[],
  fields: readonly Field[],
  where: string,
  problems: Problems,
): void {
  const single = [...walk(fields)].filter((field) => field.kind !== 'object')
  const known = [...single.map(columnOf), ...OWN]
  const unfit = single
    .filter((f) => f.kind === 'links' || (f.kind === 'value' && (f.secret || f.column === 'json')))
    .map(columnOf)
  const folded = single.filter((field) => field.kind === 'value' && field.fold).map(columnOf)
  for (const { column } of keys)
    if (isFoldedColumn(column)) {
      const text = unfoldedColumn(column)
      if (!known.includes(text))
        problems.push([where, `"${text}" is not a value of this type${didYouMean(text, known)}`])
      else if (!folded.includes(text))
        problems.push([where, `has fold(${text}), which needs text({ fold: true })`])
    } else if (!known.includes(column))
      problems.push([where, `"${column}" is not a value of this type${didYouMean(column, known)}`])
    else if (unfit.includes(column)) problems.push([where, `"${column}" is of a type that cannot be indexed`])
}
