import { useQuery } from '@tanstack/react-query'
import { type EntityData, get, type Page } from '../api.ts'
import { type EntityType, type Field, useModel, valueAt } from '../model.ts'
import type { OperationChange } from '../operations.ts'

/** A change, and the changes that came with it. */
export interface Branch {
  readonly change: OperationChange
  /** The Entity as it is now, or as it was when it was deleted. */
  readonly data: EntityData | undefined
  readonly branches: Branch[]
}

const keyOf = (entity: string, id: number | null) => `${entity}/${id}`

interface Reference {
  readonly path: string
  readonly to: string
  readonly cascades: boolean
  readonly isList: boolean
}

/** Returns all references of a type; those with a cascading delete come first. */
function referencesOf(fields: readonly Field[]): Reference[] {
  const found = fields.flatMap((field): Reference[] => {
    const own = field.type === 'list' ? field.items : field
    const reference = own?.type === 'ref' && own.to ? own : undefined
    if (reference?.to)
      return [
        {
          path: field.path,
          to: reference.to,
          cascades: reference.on_delete === 'cascade',
          isList: field.type === 'list',
        },
      ]
    return field.fields === undefined ? [] : referencesOf(field.fields)
  })
  return found.sort((a, b) => Number(b.cascades) - Number(a.cascades))
}

/** Returns the ids of a reference: before and after the change, and now. */
function targets(
  change: OperationChange,
  data: EntityData | undefined,
  { path, isList }: Reference,
): number[] {
  const { changed } = change
  const values = isList
    ? [changed?.[path]?.from, changed?.[path]?.to, valueAt(data, path)]
    : [changed?.[`${path}.id`]?.from, changed?.[`${path}.id`]?.to, valueAt(data, `${path}.id`)]
  return values.flatMap((value) => {
    const all = Array.isArray(value) ? value : [value]
    return all.flatMap((one) => {
      const id = typeof one === 'object' && one !== null ? (one as { id?: unknown }).id : one
      return typeof id === 'number' ? [id] : []
    })
  })
}

/** Returns the changes of an operation as a tree: each Entity is below a changed one that it refers to. */
export function treeOf(
  changes: readonly OperationChange[],
  types: readonly EntityType[],
  data: ReadonlyMap<string, EntityData>,
): readonly Branch[] {
  const branches = new Map(
    changes.map((change) => [
      keyOf(change.entity, change.id),
      { change, data: data.get(keyOf(change.entity, change.id)), branches: [] as Branch[] },
    ]),
  )
  const references = new Map(types.map(({ name, fields }) => [name, referencesOf(fields)]))
  const parents = new Map<string, string>()
  for (const [key, { change, data: own }] of branches)
    for (const reference of references.get(change.entity) ?? [])
      for (const id of targets(change, own, reference)) {
        const parent = keyOf(reference.to, id)
        if (!parents.has(key) && branches.has(parent) && !isBelow(parent, key, parents))
          parents.set(key, parent)
      }
  const roots: Branch[] = []
  for (const [key, branch] of branches) {
    const parent = branches.get(parents.get(key) ?? '')
    ;(parent?.branches ?? roots).push(branch)
  }
  return roots
}

/** References can form circles, but a tree must not. */
function isBelow(key: string, other: string, parents: ReadonlyMap<string, string>): boolean {
  for (let at: string | undefined = key; at !== undefined; at = parents.get(at)) if (at === other) return true
  return false
}

const MOST = 200

/** Returns the Entities of these changes as they are now, even deleted ones: they contain the references. */
export function useChangedData(changes: readonly OperationChange[]): ReadonlyMap<string, EntityData> {
  const { entities } = useModel()
  const ids = Map.groupBy(changes, ({ entity }) => entity)
  const asked = [...ids].map(
    ([entity, all]) => [entity, all.flatMap(({ id }) => (id === null ? [] : [id])).slice(0, MOST)] as const,
  )
  const { data } = useQuery({
    queryKey: ['operation tree', asked],
    queryFn: async ({ signal }) => {
      const found = new Map<string, EntityData>()
      for (const [entity, some] of asked) {
        const type = entities.find(({ name }) => name === entity)
        // An Entity with a name and no references is shown by its name alone.
        const isPlain = type?.title !== null && referencesOf(type?.fields ?? []).length === 0
        if (type === undefined || some.length === 0 || isPlain) continue
        const query = {
          filter: `id in [${some.join(', ')}]`,
          limit: MOST,
          ...(type.may.restore !== false && { trashed: 'with' }),
        }
        const page = await get<Page<EntityData>>(`${entity}/`, query, signal).catch(() => undefined)
        for (const one of page?.data ?? []) found.set(keyOf(entity, one.id), one)
      }
      return found
    },
    enabled: changes.length > 0,
    staleTime: 60_000,
  })
  return data ?? NOTHING
}

const NOTHING: ReadonlyMap<string, EntityData> = new Map()
