import { type Column, pathOf, type Table } from '../tables.ts'

/**
 * The possible other name of a column that only one of two tables has: the only column of the other table with its kind
 * and in its object that the first one lacks. Undefined if there are none or several.
 */
export function maybeRenamed(column: Column, table: Table, other: Table): string | undefined {
  const likely = other.columns.filter(
    (one) => isLike(one, column) && !table.columns.some(({ name }) => name === one.name),
  )
  const [only] = likely
  return only !== undefined && likely.length === 1 ? placeOf(only).name : undefined
}

/** The same for Entity types: they must share a field of the same name and kind. */
export function maybeRenamedType(
  table: Table,
  tables: readonly Table[],
  others: readonly Table[],
): string | undefined {
  const likely = others.filter(
    (other) =>
      !tables.some(({ name }) => name === other.name) &&
      other.columns.some((one) =>
        table.columns.some((column) => column.name === one.name && isLike(one, column)),
      ),
  )
  return likely.length === 1 ? likely[0]?.name : undefined
}

function isLike(one: Column, other: Column): boolean {
  const isMade = one.words !== undefined || one.derived !== undefined || one.aside === true
  return (
    !isMade &&
    one.kind === other.kind &&
    one.references === other.references &&
    one.links === other.links &&
    placeOf(one).parent === placeOf(other).parent
  )
}

function placeOf(column: Column): { readonly parent: string; readonly name: string } {
  const steps = pathOf(column).split('.')
  const name = steps.pop() ?? ''
  return { parent: steps.join('.'), name }
}
