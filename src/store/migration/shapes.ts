import { type Column, pathOf, type Table } from '../tables.ts'
import type { Draft } from './draft.ts'
import { contentOf } from './limits.ts'

/** How the field at a dot path is stored: a value in a column of that name, or in columns under it. */
interface Shape {
  readonly kind: 'value' | 'reference' | 'object'
  /** Its content in words. */
  readonly content: string
}

const objectShape: Shape = { kind: 'object', content: 'an object' }

/**
 * Refuses to change a field between a value, a reference and an object, also for aside data. They are stored in
 * different columns, so there is no conversion. Returns the dot paths.
 */
export function refuseOtherShapes(old: Table, table: Table, draft: Draft): string[] {
  const before = shapesOf(old.columns)
  const refused: string[] = []
  for (const [path, { kind, content }] of shapesOf(table.columns)) {
    const former = before.get(path)
    if (former === undefined || former.kind === kind || refused.some((outer) => isWithin(outer, path)))
      continue
    refused.push(path)
    draft.refuse(`${table.name}.${path}`, cannotBecome(`${table.name}.${path}`, former.content, content))
  }
  return refused
}

export function cannotBecome(path: string, former: string, content: string): string {
  return `holds ${former} and cannot become ${content}: declare it as it was, or choose another name. To give up its data, leave it out of the declaration first, then drop it with "takeback migrate --drop ${path}"`
}

/** The table without the columns at these dot paths. */
export function withoutPaths(table: Table, paths: readonly string[]): Table {
  if (paths.length === 0) return table
  const isOut = (name: string) => paths.some((path) => isWithin(path, name.replace(/~$/, '')))
  return {
    ...table,
    columns: table.columns.filter(({ name }) => !isOut(name)),
    indexes: table.indexes.filter(({ columns }) => !columns.some(isOut)),
  }
}

/** The shapes by dot path, outer ones first. Declared columns win over aside ones. */
function shapesOf(columns: readonly Column[]): Map<string, Shape> {
  const shapes = new Map<string, Shape>()
  const put = (path: string, shape: Shape) => shapes.has(path) || shapes.set(path, shape)
  const ofData = columns.filter(({ words }) => words === undefined)
  for (const column of [...ofData.filter(({ aside }) => !aside), ...ofData.filter(({ aside }) => aside)]) {
    const path = pathOf(column)
    const names = path.split('.')
    for (let depth = 1; depth < names.length; depth++) put(names.slice(0, depth).join('.'), objectShape)
    put(path, shapeOf(column))
  }
  return shapes
}

function shapeOf(column: Column): Shape {
  if (column.kind === 'presence') return objectShape
  return { kind: column.references === undefined ? 'value' : 'reference', content: contentOf(column) }
}

function isWithin(outer: string, path: string): boolean {
  return path === outer || path.startsWith(`${outer}.`)
}
