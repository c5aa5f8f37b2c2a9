/** The column that holds the text of another without capitals and accents: no dot path ends like this, and both are renamed alike. */
export function foldedColumn(path: string): string {
  return `${path}^`
}

/** The column whose text a folded one holds; any other is its own. */
export function unfoldedColumn(column: string): string {
  return isFoldedColumn(column) ? column.slice(0, -1) : column
}

export function isFoldedColumn(column: string): boolean {
  return column.endsWith('^')
}
