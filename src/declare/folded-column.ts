/** The column with the folded form of a text. No dot path ends like this, and a rename of the field renames both. */
export function foldedColumn(path: string): string {
  return `${path}^`
}

/** The column with the original text of a folded column; any other column is returned as it is. */
export function unfoldedColumn(column: string): string {
  return isFoldedColumn(column) ? column.slice(0, -1) : column
}

export function isFoldedColumn(column: string): boolean {
  return column.endsWith('^')
}
