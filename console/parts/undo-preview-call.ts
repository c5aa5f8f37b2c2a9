import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, send } from '../api.ts'
import type { OperationChange, OperationFilter } from '../operations.ts'
import { usePlanned } from '../planned.ts'
import { useWrite } from '../writes.ts'

/** What to take back: one operation, several, all that match, or one step or the deletion of one Entity. */
export type Undoing =
  | { readonly operation: string }
  | { readonly operations: readonly string[] }
  | { readonly filter: OperationFilter }
  | { readonly entity: string; readonly id: number; readonly step: 'undo' | 'redo' | 'restore' }

/** The answer of a dry run. */
export interface UndoAnswer {
  readonly operation: string | null
  readonly undone?: number
  readonly total: number
  readonly changes: readonly (Pick<OperationChange, 'entity' | 'id' | 'kind' | 'changed'> & {
    readonly secrets?: readonly string[]
  })[]
  readonly skipped?: Readonly<Record<string, readonly string[]>>
  readonly effects?: readonly {
    readonly operation: string
    readonly at: string
    readonly actor: string | null
    readonly changes: number
  }[]
  readonly plan?: string
  readonly next?: string | null
}

export interface UndoChoices {
  readonly skip: boolean
  readonly targets: boolean
  readonly dependents: boolean
  readonly effects: boolean
}

const NONE: UndoChoices = { skip: false, targets: false, dependents: false, effects: false }

interface UndoRequest {
  readonly method?: 'DELETE'
  readonly path: string
  readonly query?: object
  readonly body?: object
}

function requestOf(undoing: Undoing): UndoRequest {
  if ('operation' in undoing) return { path: `operations/${undoing.operation}/undo/` }
  if ('entity' in undoing) {
    const { entity, id, step } = undoing
    if (step === 'restore') return { method: 'DELETE', path: `${entity}/${id}/`, query: { restore: true } }
    return { path: `${entity}/${id}/${step}/` }
  }
  if ('operations' in undoing) return { path: 'operations/undo/', body: { operations: undoing.operations } }
  return { path: 'operations/undo/', body: undoing.filter }
}

/** Sends only what is chosen, because the undo of one Entity does not take all parameters. */
function parametersOf({ skip, targets, dependents, effects }: UndoChoices): object {
  const and = [...(targets ? ['targets'] : []), ...(dependents ? ['dependents'] : [])]
  return {
    ...(skip && { skip_conflicts: true }),
    ...(and.length > 0 && { with: and }),
    ...(effects && { with_effects: true }),
  }
}

async function ask(undoing: Undoing, query: object, signal?: AbortSignal): Promise<UndoAnswer> {
  const { method = 'POST', path, query: own, body } = requestOf(undoing)
  const { body: answer } = await send(method, path, {
    query: { ...own, ...query, dry_run: true },
    repeat: 'always',
    ...(body !== undefined && { body }),
    ...(signal !== undefined && { options: { signal } }),
  })
  return answer as UndoAnswer
}

/** Returns the preview of an undo, the choices, and a function that does what is shown. `done` is the toast's text. */
export function useUndo(undoing: Undoing, done: string) {
  const write = useWrite()
  const [choices, setChoices] = useState(NONE)
  const { run, renew, ...planned } = usePlanned<UndoAnswer>({
    key: ['undo preview', undoing, choices],
    read: (signal) => ask(undoing, parametersOf(choices), signal),
    perform: ({ plan }) =>
      write(done, () => {
        const { method = 'POST', path, query: own, body } = requestOf(undoing)
        const query = { ...own, ...parametersOf(choices), plan }
        return send(method, path, { query, ...(body !== undefined && { body }) })
      }),
  })
  const { preview } = planned
  const choose = (change: Partial<UndoChoices>) => setChoices({ ...choices, ...change })
  const more = async () => {
    const next = await ask(undoing, { ...parametersOf(choices), cursor: preview?.next })
    if (preview !== undefined)
      renew({ ...preview, changes: [...preview.changes, ...next.changes], next: next.next ?? null })
  }
  /** Returns the operation that did it; `null` if it was not done. */
  const undo = async (): Promise<string | null> => {
    const received = await run()
    return received === undefined ? null : (received.headers.get('takeback-operation') ?? '')
  }
  return { ...planned, choices, choose, run: undo, more }
}

/** Whether anything could be taken back if conflicts were skipped. False until the server has answered. */
export function useHasRest(undoing: Undoing, choices: UndoChoices, isEnabled: boolean): boolean {
  const { data } = useQuery({
    queryKey: ['undo rest', undoing, choices],
    queryFn: ({ signal }) => ask(undoing, parametersOf({ ...choices, skip: true }), signal),
    enabled: isEnabled,
    gcTime: 0,
    refetchOnWindowFocus: false,
    retry: false,
  })
  return data !== undefined && data.total > 0
}

/** Returns the conflicts by Entity. */
export function conflictsOf(error: unknown): Readonly<Record<string, readonly string[]>> {
  return error instanceof ApiError ? (error.errors ?? {}) : {}
}
