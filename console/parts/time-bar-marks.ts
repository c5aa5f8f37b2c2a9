import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { get, type Page } from '../api.ts'
import { useEntityType } from '../model.ts'
import type { Operation, OperationChange } from '../operations.ts'
import { paged } from '../query-cache.ts'

/** The list or Entity whose past is shown. */
export interface TimeBarTarget {
  readonly entity: string
  readonly id?: number
}

/** A moment at which something changed. */
export interface Mark {
  readonly time: number
  readonly at: string
  readonly operation: string
  readonly actor: string | null
  /** The operation, for a list. */
  readonly done?: Operation
  /** The change, for an Entity. */
  readonly change?: Pick<OperationChange, 'kind' | 'changed'>
}

interface HistoryEntry extends Pick<OperationChange, 'kind' | 'changed'> {
  readonly at: string
  readonly actor: string | null
  readonly operation: string
}

const PAGE = 200

/** Returns when a list or an Entity was changed, oldest first. For lists, only admins see the changes of others. */
export function useMarks({ entity, id }: TimeBarTarget) {
  const query = useInfiniteQuery({
    queryKey: id === undefined ? ['operations', 'marks', entity] : ['history', entity, id, 'marks'],
    ...paged(async (cursor): Promise<Page<Mark>> => {
      const more = { limit: PAGE, cursor }
      if (id === undefined) {
        const page = await get<Page<Operation>>('operations/', { entity, ...more })
        return { data: page.data.map(markOfOperation), next: page.next }
      }
      const page = await get<Page<HistoryEntry>>(`${entity}/${id}/history/`, more)
      return { data: page.data.map(markOfChange), next: page.next }
    }),
  })
  const marks = useMemo(() => inOrder(query.data?.pages.flatMap(({ data }) => data) ?? []), [query.data])
  return { marks, query }
}

function markOfOperation(done: Operation): Mark {
  const { at, id: operation, actor } = done
  return { at, time: Date.parse(at), operation, actor, done }
}

function markOfChange({ at, actor, operation, ...change }: HistoryEntry): Mark {
  return { at, time: Date.parse(at), operation, actor, change }
}

/** Sorts oldest first, and keeps one of those with the same time: there is no state between them. */
function inOrder(marks: readonly Mark[]): readonly Mark[] {
  const byTime = new Map(marks.toReversed().map((mark) => [mark.time, mark]))
  return [...byTime.values()].sort((a, b) => a.time - b.time)
}

/** Returns the earliest time in the journal of a type; undefined if it keeps everything. */
export function useFloor(entity: string): number | undefined {
  const kept = useEntityType(entity)?.retention.journal_ms ?? null
  return kept === null ? undefined : Date.now() - kept
}

/** Returns how many marks are not later than a moment. This is the index of the state shown. */
export function countUntil(marks: readonly Mark[], at: string | undefined): number {
  if (at === undefined) return marks.length
  const time = Date.parse(at)
  return marks.filter((mark) => mark.time <= time).length
}

/** Returns the moment of a state: right after its mark. The last state is now, the first is before all marks. */
export function momentOf(marks: readonly Mark[], count: number): string | undefined {
  if (count >= marks.length) return undefined
  const [first] = marks
  if (count <= 0) return first === undefined ? undefined : new Date(first.time - 1).toISOString()
  return marks[count - 1]?.at
}
