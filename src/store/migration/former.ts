import { isMadeFrom, type Table } from '../tables.ts'

/**
 * What tables and fields were called before. Whoever goes back to a declaration from before a rename means the data that
 * are there, under their former name: that must be told from something new.
 */

/** Whether a column belongs to the field at a path: its own, those that are made from it, and all within it. */
export function isUnder(path: string, column: string): boolean {
  return column === path || isMadeFrom(path, column) || column.startsWith(`${path}.`)
}

export function withFormerName(table: Table, was: string): Table {
  const { formerNames = [], name } = table
  return { ...table, formerNames: [...formerNames.filter((one) => one !== name && one !== was), was] }
}

/** `fresh` gives paths the names that they have by now. */
export function withFormerPath(
  table: Table,
  [from, to]: readonly [from: string, to: string],
  fresh: (path: string) => string,
): Table {
  const moved = (table.formerPaths ?? []).map(([old, now]) => [fresh(old), fresh(now)] as const)
  const others = moved.filter(([old, now]) => old !== now && old !== from && old !== to)
  return { ...table, formerPaths: [...others, [from, to]] }
}

/** What is called otherwise today and leaves, where a table of its former name is new; undefined where there is none. */
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

/** The same of a field, the outermost one: its former path and that of today. */
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
