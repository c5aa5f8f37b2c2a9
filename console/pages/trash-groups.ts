import { useInfiniteQuery } from '@tanstack/react-query'
import { type EntityData, get, type Page } from '../api.ts'
import { type EntityType, nameOf, useModel } from '../model.ts'
import type { Undoing } from '../parts/undo-preview.tsx'

/** An Entity in the trash. */
export interface Deleted {
  readonly entity: string
  readonly id: number
  readonly name: string
  readonly data: EntityData
}

/** The Entities that one operation deleted, as far as they are loaded. */
export interface Deletion {
  readonly operation: string
  readonly actor: string | null
  readonly at: string
  readonly members: readonly Deleted[]
  /** Types with more Entities than are loaded. */
  readonly partial: ReadonlySet<string>
}

interface DeletedData extends EntityData {
  readonly deletion?: { readonly operation: string; readonly actor: string | null }
}

interface Loaded extends Deleted {
  readonly at: string
  readonly operation: string
  readonly actor: string | null
}

/** By type, the time before which to read on; `null` if there is nothing more. */
type Before = Readonly<Record<string, string | null>>

interface TrashPage {
  readonly all: readonly Loaded[]
  readonly next: Before
  /** `operation type` of deletions that are not completely loaded. */
  readonly partial: readonly string[]
}

const PAGE = 50

/** Returns the types whose deleted Entities the user may see. */
export function useTrashTypes(): readonly EntityType[] {
  return useModel().entities.filter(({ may }) => may.restore !== false && may.list !== false)
}

/** Returns deletions, newest first. Each page continues before the oldest deletion of the last, whatever its size. */
export function useTrash(types: readonly EntityType[], words: string) {
  const first: Before = Object.fromEntries(types.map(({ name }) => [name, '']))
  return useInfiniteQuery({
    queryKey: ['trash', types.map(({ name }) => name), words],
    // Without `signal`: see `paged`.
    queryFn: async ({ pageParam }) => {
      const pages = await Promise.all(
        types
          .filter(({ name }) => typeof pageParam[name] === 'string')
          .map((type) => readDeleted(type, { words, before: pageParam[type.name] ?? '' })),
      )
      return joined(pages, first)
    },
    initialPageParam: first,
    getNextPageParam: ({ next }) => (Object.values(next).some((one) => one !== null) ? next : undefined),
  })
}

function joined(pages: readonly TrashPage[], first: Before): TrashPage {
  const none = Object.fromEntries(Object.keys(first).map((name) => [name, null]))
  return {
    all: pages.flatMap(({ all }) => all),
    next: Object.assign(none, ...pages.map(({ next }) => next)),
    partial: pages.flatMap(({ partial }) => partial),
  }
}

interface TrashQuery {
  readonly words: string
  readonly before: string
}

async function readDeleted(type: EntityType, query: TrashQuery): Promise<TrashPage> {
  const filter = filterOf(type, query)
  if (filter === undefined) return { all: [], next: { [type.name]: null }, partial: [] }
  const page = await get<Page<DeletedData>>(`${type.name}/`, {
    trashed: 'only',
    sort: '-deleted_at',
    limit: PAGE,
    ...(filter !== '' && { filter }),
  })
  const all = page.data.map((one) => ({
    entity: type.name,
    id: one.id,
    name: nameOf(type, one),
    data: one,
    at: one.deleted_at ?? '',
    operation: one.deletion?.operation ?? '',
    actor: one.deletion?.actor ?? null,
  }))
  const last = page.next === null ? undefined : all.at(-1)
  return {
    all,
    next: { [type.name]: last?.at ?? null },
    partial: last === undefined ? [] : [`${last.operation} ${type.name}`],
  }
}

/** Returns undefined if no Entity of the type can match the words. */
function filterOf(type: EntityType, { words, before }: TrashQuery): string | undefined {
  const older = before === '' ? [] : [`deleted_at < timestamp(${JSON.stringify(before)})`]
  if (words === '') return older.join('')
  const title = type.fields.find(({ path }) => path === type.title)
  if (title === undefined || title.filterable === false) return undefined
  const named = title.fold
    ? `fold(${title.path}).contains(${JSON.stringify(words)})`
    : `${title.path}.lowerAscii().contains(${JSON.stringify(words.toLowerCase())})`
  return [...older, named].join(' && ')
}

/** Groups Entities by the operation that deleted them. Deletions that may be incomplete wait for the next page. */
export function deletionsOf(pages: readonly TrashPage[]): readonly Deletion[] {
  const reached = Object.values(pages.at(-1)?.next ?? {}).reduce<string>(
    (newest, one) => (one !== null && one > newest ? one : newest),
    '',
  )
  const partial = new Set(pages.flatMap((page) => page.partial))
  const groups = Map.groupBy(
    pages.flatMap(({ all }) => all).filter(({ at }) => at >= reached),
    ({ operation }) => operation,
  )
  return [...groups]
    .map(([operation, members]) => ({
      operation,
      actor: members[0]?.actor ?? null,
      at: members[0]?.at ?? '',
      members,
      partial: new Set(
        members.map(({ entity }) => entity).filter((entity) => partial.has(`${operation} ${entity}`)),
      ),
    }))
    .sort((a, b) => b.at.localeCompare(a.at))
}

/** Returns how to take back a deletion: by its main Entity. That also restores the rest, even if a part was purged. */
export function restoringOf(deletion: Deletion, types: readonly EntityType[]): Undoing {
  const root = rootOf(deletion, types)
  if (root === undefined) return { operation: deletion.operation }
  return { entity: root.entity, id: root.id, step: 'restore' }
}

/** Returns the Entity with which all others were deleted, if there is one. */
export function rootOf({ members }: Deletion, types: readonly EntityType[]): Deleted | undefined {
  const names = new Set(members.map(({ entity }) => entity))
  const isBelow = (from: string) =>
    types.some(
      ({ name, referrers }) =>
        name !== from && names.has(name) && referrers.some(({ entity }) => entity === from),
    )
  const roots = members.filter(({ entity }) => !isBelow(entity))
  return roots.length === 1 ? roots[0] : undefined
}
