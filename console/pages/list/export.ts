import { type EntityData, get, type Page } from '../../api.ts'
import { valueAt } from '../../model.ts'
import type { Column } from './columns.ts'
import type { Selection } from './selection.ts'
import type { View } from './view.ts'

export type Format = 'csv' | 'json'

export interface Exported {
  readonly entity: string
  readonly view: View
  readonly sort: string | undefined
  /** Undefined means everything that the list shows. */
  readonly selection?: Selection
  readonly columns: readonly Column[]
}

const PAGE = 200
const AT_ONCE = 90

/** Reads all pages, and reports its progress. */
async function readAll(what: Exported, tell: (count: number) => void): Promise<EntityData[]> {
  const { filter, search, trashed, at } = what.view
  const ids = what.selection === undefined || what.selection.isAll ? undefined : [...what.selection.ids]
  const rows: EntityData[] = []
  for (const part of filtersOf(filter, ids)) {
    let cursor: string | null | undefined
    do {
      const query = { filter: part, search, trashed, at, sort: what.sort, limit: PAGE, cursor }
      const page: Page<EntityData> = await get(`${what.entity}/`, query)
      rows.push(...page.data)
      cursor = page.next
      tell(rows.length)
    } while (cursor !== null)
  }
  return rows
}

/** Splits ids into several filters, because a filter can hold about 97 values. */
function filtersOf(filter: string | undefined, ids: readonly number[] | undefined): (string | undefined)[] {
  if (ids === undefined) return [filter]
  const count = Math.ceil(ids.length / AT_ONCE)
  return Array.from(
    { length: count },
    (_, at) => `id in [${ids.slice(at * AT_ONCE, (at + 1) * AT_ONCE).join(', ')}]`,
  )
}

/** Returns the content of the file. */
export async function exportFile(
  what: Exported,
  format: Format,
  tell: (count: number) => void,
): Promise<Blob> {
  const rows = await readAll(what, tell)
  if (format === 'json') return new Blob([JSON.stringify(rows, null, 2)], { type: 'application/json' })
  return new Blob(['\uFEFF', csvOf(rows, what.columns)], { type: 'text/csv;charset=utf-8' })
}

/** Returns CSV (RFC 4180). The first column is always the id, so that rows can be identified. */
export function csvOf(rows: readonly EntityData[], columns: readonly Column[]): string {
  const paths = ['id', ...columns.map(({ path, field }) => (field.type === 'ref' ? `${path}.id` : path))]
  const unique = [...new Set(paths)]
  const lines = rows.map((row) => unique.map((path) => cellOf(valueAt(row, path))))
  return [unique.map(quoted), ...lines].map((cells) => cells.join(',')).join('\r\n')
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'object') return quoted(JSON.stringify(value))
  if (typeof value !== 'string') return String(value)
  // Escaped, because a spreadsheet would run it as a formula. Numbers are not formulas.
  const isFormula = /^\s*[=+\-@]/.test(value) && !/^-?\d+(\.\d+)?$/.test(value)
  return quoted(isFormula ? `'${value}` : value)
}

/** Some spreadsheets end a cell at a semicolon or a tab, too. */
function quoted(text: string): string {
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Lets the browser download a file. */
export function download(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
