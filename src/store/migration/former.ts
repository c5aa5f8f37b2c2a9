import { isDerivedFrom, type Table } from '../tables.ts'

/**
 * Former names of tables and fields. A declaration from before a rename means the existing data, under its former name.
 * That must be distinguished from something new.
 */

/** Whether a column belongs to the field at a path: its own, columns derived from it, and all columns inside of it. */
export function isUnder(path: string, column: string): boolean {
  return column === path || isDerivedFrom(path, column) || column.startsWith(`${path}.`)
}

export function withFormerName(table: Table, was: string): Table {
  const { formerNames = [], name } = table
  return { ...table, formerNames: [...formerNames.filter((one) => one !== name && one !== was), was] }
}

/** `fresh` maps a path to its present name. */
export function withFormerPath(
  table: Table,
  [from, to]: readonly [from: string, to: string],
  fresh: (path: string) => string,
): Table {
  const moved = (table.formerPaths ?? []).map(([old, now]) => [fresh(old), fresh(now)] as const)
  const others = moved.filter(([old, now]) => old !== now && old !== from && old !== to)
  return { ...table, formerPaths: [...others, [from, to]] }
}

/** The table that used to have the name of this new table and is no longer declared; undefined if there is none. */
export function formerNameOf(
  { name }: Table,
  now: readonly Table[],
  wanted: readonly Table[],
): string | undefined {
  if (now.some((table) => table.name === name)) return undefined
  const leaves = (table: Table) =>
    !wanted.some((one) => one.name === table.name || one.was === table.name) &&
    table.columns.some(({ aside }) => !aside)
  return now.find((table) => table.formerNames?.includes(name) && leaves(table))?.name
}

/** The same for a field: the former path and the present one. If there are several, those of the outermost. */
export function formerPathIn(
  held: Table,
  wanted: Table,
): readonly [former: string, today: string] | undefined {
  const isWanted = (path: string) => wanted.columns.some(({ name }) => isUnder(path, name))
  const isHeld = (path: string) => held.columns.some(({ name }) => isUnder(path, name))
  const isServed = (path: string) => held.columns.some(({ name, aside }) => !aside && isUnder(path, name))
  return (held.formerPaths ?? [])
    .filter(([former, today]) => isWanted(former) && !isHeld(former) && isServed(today) && !isWanted(today))
    .toSorted(([a], [b]) => a.split('.').length - b.split('.').length)[0]
}
