import type { Expression } from '../../declare/cel/expression.ts'
import { foldedColumn } from '../../declare/folded-column.ts'
import type { EntityType, IndexKey } from '../../declare/model.ts'
import { bodyColumns } from '../tables/columns.ts'

/**
 * Whether a declared index has the live rows in the order of a sort: apart from columns that have one value in the
 * whole list, the index has the keys of the sort, in the same or in all the opposite directions.
 */
export function isServedByIndex(
  { indexes }: EntityType,
  sort: readonly IndexKey[],
  held: ReadonlySet<string>,
): boolean {
  const wanted = sort.filter(({ column }) => !held.has(column))
  return indexes.some((index) => {
    const from = index.findIndex(({ column }) => !held.has(column))
    const keys = from < 0 ? [] : index.slice(from)
    const turned = keys[0]?.descending !== wanted[0]?.descending
    const same = ({ column, descending }: IndexKey, other: IndexKey | undefined) =>
      column === other?.column && (descending !== turned) === other.descending
    return keys.length === wanted.length && keys.every((key, place) => same(key, wanted[place]))
  })
}

/** The columns that have the same value in all rows of a list, because a condition compares them with `==`. */
export function constantColumns(conditions: readonly Expression[]): Set<string> {
  const held = new Set<string>()
  const visit = (one: Expression): void => {
    if (one.op === 'and') for (const part of one.of) visit(part)
    if (one.op !== 'compare' || one.how !== '==') return
    for (const [side, other] of [
      [one.left, one.right],
      [one.right, one.left],
    ] as const) {
      const same = other.op === 'literal' || (other.op === 'value' && other.place.root.of === 'me')
      if (same && side.op === 'value' && side.place.root.of === 'self' && side.place.hops.length === 0)
        held.add(side.place.column)
    }
  }
  for (const one of conditions) visit(one)
  return held
}

/** The columns that are never null, for a viewer who sees them in every Entity. */
export function nonNullColumns(type: EntityType, always: (path: string) => boolean): ReadonlySet<string> {
  const fields = bodyColumns(type.fields).filter(
    ({ field, within }) => !field.optional && within === undefined && always(field.path),
  )
  const names = fields.flatMap(({ name }) => [name, foldedColumn(name)])
  return new Set(['id', 'version', 'created_at', 'updated_at', ...names])
}
