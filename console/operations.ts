import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { Operation, OperationChange, OperationFilter, OperationInFull } from '../client/answers.ts'
import { get, type Page } from './api.ts'
import { type Model, useModel } from './model.ts'
import { paged } from './query-cache.ts'

export type { Operation, OperationChange, OperationFilter, OperationInFull }

/** The kinds of changes, in the order in which they are shown. */
export const KINDS = ['create', 'update', 'delete', 'restore', 'purge', 'migrate'] as const
export type Kind = (typeof KINDS)[number]

export function kindOf(text: string): Kind {
  return KINDS.find((one) => one === text) ?? 'update'
}

const PAGE = 40

/** Returns operations, newest first, page by page. */
export function useOperations(
  filter: OperationFilter,
  { kind, limit = PAGE }: { readonly kind?: string | undefined; readonly limit?: number } = {},
) {
  return useInfiniteQuery({
    queryKey: ['operations', filter, kind, limit],
    ...paged((cursor) => get<Page<Operation>>('operations/', { ...filter, kind, limit, cursor })),
  })
}

/** Returns one operation with its first change. It can be undone later, so it is read again. */
export function useOperation(id: string, isEnabled = true) {
  return useQuery({
    queryKey: ['operations', 'one', id],
    queryFn: ({ signal }) => get<OperationInFull>(`operations/${id}/`, { limit: 1 }, signal),
    enabled: isEnabled,
  })
}

const FIRST = 20

/** Returns the first changes of an operation. They never change. */
export function useFirstChanges(id: string, isEnabled = true): readonly OperationChange[] | undefined {
  return useQuery({
    queryKey: ['first changes', id],
    queryFn: ({ signal }) => get<OperationInFull>(`operations/${id}/`, { limit: FIRST }, signal),
    enabled: isEnabled,
    staleTime: Number.POSITIVE_INFINITY,
  }).data?.data
}

/** The operation that a chain of undos is about. With `isAgain`, the chain does it again: an undo of an undo. */
export interface TakenBack {
  readonly operation: Operation
  readonly isAgain: boolean
}

/** Returns what an undo of one operation took back. Null if the user may not see it, or if this is no such undo. */
export function useTakenBack({ id, undoes = [] }: Operation, isEnabled = true): TakenBack | null | undefined {
  const [first] = undoes.length === 1 ? undoes : []
  const { data } = useQuery({
    queryKey: ['taken back', id],
    queryFn: async ({ client, signal }): Promise<TakenBack | null> => {
      let found: OperationInFull | undefined
      let steps = 0
      for (let next = first; next !== undefined; steps++) {
        found = await get<OperationInFull>(`operations/${next}/`, { limit: FIRST }, signal)
        next = found.undoes?.length === 1 ? found.undoes[0] : undefined
      }
      if (found === undefined) return null
      client.setQueryData(['first changes', found.id], found)
      return { operation: found, isAgain: steps % 2 === 0 }
    },
    enabled: isEnabled && first !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
  return first === undefined ? null : data
}

/** How many Entities of a type had a kind of change. */
export interface Count {
  readonly entity: string
  readonly kind: Kind
  readonly count: number
}

/** Returns the changes of an operation by type and kind, largest first. */
export function countsOf({ summary }: Pick<Operation, 'summary'>): readonly Count[] {
  return Object.entries(summary)
    .flatMap(([entity, kinds]) =>
      Object.entries(kinds).map(([kind, count]) => ({ entity, kind: kindOf(kind), count })),
    )
    .sort((a, b) => b.count - a.count)
}

/**
 * Returns the type of the Entity that caused all other changes: it is the only one of its type, and refers to none of
 * the other types. Undefined if there is none.
 */
export function rootType(counts: readonly Count[], { entities }: Model): Count | undefined {
  if (counts.length === 1) return counts[0]?.count === 1 ? counts[0] : undefined
  const types = new Set(counts.map(({ entity }) => entity))
  const refers = (from: string) =>
    entities.some(
      ({ name, referrers }) =>
        name !== from && types.has(name) && referrers.some(({ entity }) => entity === from),
    )
  const roots = counts.filter(({ entity }) => !refers(entity))
  return roots.length === 1 && roots[0]?.count === 1 ? roots[0] : undefined
}

/** Returns the Entity that an operation is about, once it is known. */
export function useRoot(operation: Operation, isEnabled = true): OperationChange | undefined {
  const root = rootType(countsOf(operation), useModel())
  const changes = useFirstChanges(operation.id, isEnabled && root !== undefined)
  return changes?.find(({ entity, kind }) => entity === root?.entity && kind === root.kind)
}

/**
 * Whether an operation is taken back now: an undo of its undo makes it valid again. An undo that is not loaded counts
 * as valid.
 */
export function isTakenBack(
  { undone_by = [] }: Operation,
  known: ReadonlyMap<string, Operation>,
  depth = 0,
): boolean {
  return undone_by.some((id) => {
    const by = known.get(id)
    return by === undefined || depth > 20 || !isTakenBack(by, known, depth + 1)
  })
}

/** Returns the operation to undo: this one, or, if it is taken back, its latest undo. Ids grow with time. */
export function undoingOf({ id, undone_by = [] }: Operation, isBack: boolean): string {
  return (isBack ? undone_by.toSorted().at(-1) : undefined) ?? id
}
