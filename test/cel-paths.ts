import type { FieldDeclaration } from '../src/declare/define.ts'
import { fieldsOf, personFields, rowFields } from './cel-rows.ts'

/** What can stand on both sides of a comparison; decimals by their scale. */
export const KINDS = ['text', 'number', 'decimal 0', 'decimal 2', 'decimal 9', 'date', 'datetime'] as const
export type Kind = (typeof KINDS)[number]

/** All that can be said of an Entity, or of an item of a list: dot paths. */
export interface Paths {
  readonly values: Readonly<Record<Kind | 'boolean', readonly string[]>>
  /** Of these only some texts are asked for. */
  readonly choices: ReadonlyMap<string, readonly string[]>
  readonly lists: readonly { readonly path: string; readonly items: FieldDeclaration }[]
  /** All that may be null. */
  readonly places: readonly string[]
}

type Declarations = Readonly<Record<string, FieldDeclaration>>

const ownFields: Declarations = {
  id: { type: 'integer' },
  version: { type: 'integer' },
  created_at: { type: 'datetime' },
  updated_at: { type: 'datetime' },
  deleted_at: { type: 'datetime' },
}

function pathsOf(found: readonly (readonly [path: string, field: FieldDeclaration])[]): Paths {
  // Ids of two types have nothing to do with each other, and are not compared.
  const those = (kind: Kind | 'boolean') =>
    found.filter(([path, field]) => kindOf(field) === kind && !path.endsWith('.id')).map(([path]) => path)
  return {
    values: Object.fromEntries(
      ([...KINDS, 'boolean'] as const).map((kind) => [kind, those(kind)]),
    ) as unknown as Paths['values'],
    choices: new Map(
      found.flatMap(([path, field]) => (field.type === 'choice' ? [[path, field.values] as const] : [])),
    ),
    lists: found.flatMap(([path, field]) => (field.type === 'list' ? [{ path, items: field.items }] : [])),
    places: found.map(([path]) => path),
  }
}

export function kindOf(field: FieldDeclaration): Kind | 'boolean' | undefined {
  switch (field.type) {
    case 'text':
    case 'email':
    case 'url':
    case 'choice':
      return 'text'
    case 'integer':
    case 'number':
      return 'number'
    case 'decimal':
      return `decimal ${field.scale ?? 2}` as Kind
    case 'date':
    case 'datetime':
    case 'boolean':
      return field.type
    default:
      return undefined
  }
}

/** Every path from here, over references too. */
function walk(fields: Declarations, prefix: string): [string, FieldDeclaration][] {
  return Object.entries(fields).flatMap(([name, field]): [string, FieldDeclaration][] => {
    const path = `${prefix}${name}`
    if (field.type === 'object') return [[path, field], ...walk(field.fields, `${path}.`)]
    if (field.type === 'ref') {
      const target: Declarations = fieldsOf[field.target as keyof typeof fieldsOf]
      return [[path, field], ...walk({ ...target, ...ownFields }, `${path}.`)]
    }
    return [[path, field]]
  })
}

const rowPaths = walk({ ...rowFields, ...ownFields }, '')
const mine = walk({ ...personFields, ...ownFields }, 'me.')
export const self = pathsOf([...rowPaths, ...mine])
/** Of the row and of what it refers to: what a list can be sorted by. */
export const sortable = rowPaths.filter(([, field]) => kindOf(field) !== undefined)

export function itemPaths(items: FieldDeclaration, name: string): Paths {
  return pathsOf([[name, items], ...(items.type === 'object' ? walk(items.fields, `${name}.`) : [])])
}
