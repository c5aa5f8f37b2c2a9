import { budget } from '../src/budget.ts'
import type { FieldDeclaration } from '../src/declare/define.ts'
import { fieldsOf, personFields, referring, rowFields } from './cel-rows.ts'

/** The types that can be compared; decimals by their scale. */
export const KINDS = [
  'text',
  'integer',
  'number',
  'decimal 0',
  'decimal 2',
  'decimal 9',
  'date',
  'datetime',
] as const
export type Kind = (typeof KINDS)[number]

/** The dot paths of an Entity, or of an item of a list, by what can be done with them. */
export interface Paths {
  readonly values: Readonly<Record<Kind | 'boolean', readonly string[]>>
  /** Choices, and the values that they are compared with. */
  readonly choices: ReadonlyMap<string, readonly string[]>
  readonly lists: readonly List[]
  /** Referrers. */
  readonly relations: readonly List[]
  /** Texts that support `fold(…)`. */
  readonly folds: readonly string[]
  /** All paths that may be null. */
  readonly places: readonly string[]
}

export interface List {
  readonly path: string
  readonly items: FieldDeclaration
  /** For referrers: their type, and how many references away they are. */
  readonly relation?: { readonly type: string; readonly away: number }
}

type Declarations = Readonly<Record<string, FieldDeclaration>>

const ownFields: Declarations = {
  id: { type: 'integer' },
  version: { type: 'integer' },
  created_at: { type: 'datetime' },
  updated_at: { type: 'datetime' },
  deleted_at: { type: 'datetime' },
}

function pathsOf(found: readonly Found[]): Paths {
  // Ids of different types are unrelated, and are not compared.
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
    relations: found.flatMap(([path, field, away]) => relationsOf(path, field, away)),
    folds: found.flatMap(([path, field]) =>
      field.type === 'text' && (field.fold || field.sort) ? [path] : [],
    ),
    places: found.map(([path]) => path),
  }
}

/** A path, its field, and how many references away it is. */
type Found = readonly [path: string, field: FieldDeclaration, away: number]

/** Returns the referrers of the target of a reference. */
function relationsOf(path: string, field: FieldDeclaration, away: number): List[] {
  if (field.type !== 'ref' || away + 2 > budget.expressionHops) return []
  return namesOf(field.target, `${path}.`, away + 2)
}

/** Returns the referrers of a type, this many references away. */
function namesOf(target: string, prefix: string, away: number): List[] {
  return Object.entries(referring[target] ?? {}).map(([name, [type]]) => ({
    path: `${prefix}${name}`,
    items: { type: 'object', fields: fieldsOf[type as keyof typeof fieldsOf] },
    relation: { type, away },
  }))
}

export function kindOf(field: FieldDeclaration): Kind | 'boolean' | undefined {
  switch (field.type) {
    case 'text':
    case 'email':
    case 'url':
    case 'choice':
      return 'text'
    case 'decimal':
      return `decimal ${field.scale ?? 2}` as Kind
    case 'integer':
    case 'number':
    case 'date':
    case 'datetime':
    case 'boolean':
      return field.type
    default:
      return undefined
  }
}

/** Returns every path from here, also over references, up to the limit. */
function walk(fields: Declarations, prefix: string, away = 0): Found[] {
  return Object.entries(fields).flatMap(([name, field]): Found[] => {
    const path = `${prefix}${name}`
    if (field.type === 'object') return [[path, field, away], ...walk(field.fields, `${path}.`, away)]
    // Lists of references are handled elsewhere.
    if (field.type === 'list' && field.items.type === 'ref') return []
    if (field.type === 'ref' && away < budget.expressionHops) {
      const target: Declarations = fieldsOf[field.target as keyof typeof fieldsOf]
      return [[path, field, away], ...walk({ ...target, ...ownFields }, `${path}.`, away + 1)]
    }
    return [[path, field, away]]
  })
}

const rowPaths = walk({ ...rowFields, ...ownFields }, '')
const mine = walk({ ...personFields, ...ownFields }, 'me.')
const all = pathsOf([...rowPaths, ...mine])
const own: List = {
  path: 'ds',
  items: { type: 'object', fields: fieldsOf.ds },
  relation: { type: 'ds', away: 1 },
}
const ofMe: List = { ...own, path: 'me.ds' }
export const self: Paths = { ...all, relations: [own, ofMe, ...all.relations] }
/** Paths that a list can be sorted by: of the row and of its targets. */
export const sortable: readonly string[] = [
  ...rowPaths.filter(([, field]) => kindOf(field) !== undefined).map(([path]) => path),
  ...[...all.lists, ...all.relations, own]
    .map(({ path }) => path)
    .flatMap((path) => (path.startsWith('me.') ? [] : [`size(${path})`])),
  ...all.folds.map((path) => `fold(${path})`),
]

export function itemPaths({ items, relation }: List, name: string): Paths {
  if (items.type !== 'object') return pathsOf([[name, items, 0]])
  if (relation === undefined) return pathsOf([[name, items, 0], ...walk(items.fields, `${name}.`)])
  const found = walk({ ...items.fields, ...ownFields }, `${name}.`, relation.away)
  const further =
    relation.away < budget.expressionHops ? namesOf(relation.type, `${name}.`, relation.away + 1) : []
  const paths = pathsOf(found)
  return { ...paths, relations: [...paths.relations, ...further] }
}
