import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { errorOf } from '../client/errors.ts'
import { followFeed } from '../client/feed.ts'
import { pause } from '../client/transport.ts'
import {
  ApiError,
  actingAs,
  firstPosition,
  forgetPosition,
  type Json,
  positionKnown,
  transport,
} from './api.ts'
import { markPresent, markRemoved } from './removed.ts'
import { signedInAgain } from './session-end.ts'

/** A change that the caller may see, as `/api/changes/` sends it. */
export interface SeenChange {
  readonly type: 'upsert' | 'remove' | 'reset'
  readonly entity: string
  readonly id?: number
  readonly version?: number
  readonly operation?: string
  readonly actor?: string | null
  readonly data?: Json
}

type Listener = (changes: readonly SeenChange[]) => void

const listeners = new Set<Listener>()
const GATHER_MS = 150
/** How long a page without a list waits before it follows the feed. */
const FIRST_LIST_MS = 1000
let connected = false
const watchers = new Set<() => void>()

function setConnected(now: boolean): void {
  connected = now
  for (const watcher of watchers) watcher()
}

/** Whether changes of others are received now. */
export function useIsLive(): boolean {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    () => connected,
  )
}

/** Calls `listener` with changes, by others or by oneself. */
export function useChanges(listener: Listener): void {
  useEffect(() => {
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  }, [listener])
}

/** Follows all changes that the caller may see while the console is open, and refetches the queries that show them. */
export function useFeed(): void {
  const queries = useQueryClient()
  useEffect(() => {
    const ended = new AbortController()
    void follow(queries, ended.signal, gathering(queries))
    return () => ended.abort()
  }, [queries])
}

/** Collects changes that come close together, and passes them on together. */
function gathering(queries: QueryClient): (change: SeenChange) => void {
  let gathered: SeenChange[] = []
  const tell = () => {
    const changes = gathered
    gathered = []
    for (const { type, entity, id } of changes) {
      if (id === undefined) continue
      if (type === 'remove') markRemoved(entity, id)
      else markPresent(entity, id)
    }
    for (const listener of listeners) listener(changes)
    renew(queries, changes)
  }
  return (change) => {
    if (gathered.push(change) === 1) setTimeout(tell, GATHER_MS)
  }
}

/**
 * Refetches queries. A key with `entity`, `list` or `history` and a type concerns that type; one with `operations` or
 * `trash` concerns all types.
 */
function renew(queries: QueryClient, changes: readonly SeenChange[]): void {
  const types = new Set(changes.map(({ entity }) => entity))
  const ids = new Set(changes.map(({ entity, id }) => `${entity}/${id}`))
  void queries.invalidateQueries({
    predicate: ({ queryKey: [kind, type, id] }) => {
      if (kind === 'operations' || kind === 'trash') return true
      if (!types.has(String(type))) return false
      return kind === 'list' || ids.has(`${type}/${id}`) || changes.some((one) => one.type === 'reset')
    },
  })
}

async function follow(
  queries: QueryClient,
  signal: AbortSignal,
  tell: (change: SeenChange) => void,
): Promise<void> {
  let since: string | undefined
  const opened = (from: string | undefined) => {
    setConnected(true)
    // The page may show data that was read before this moment.
    if (from === undefined) void queries.invalidateQueries()
  }
  // Starts where the first list was read, if there is one: then nothing has to be read again.
  await Promise.race([positionKnown, pause(FIRST_LIST_MS, signal).catch(() => {})])
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const from = since ?? firstPosition()
      let isOpen = false
      await followFeed(transport, [{ since: from }], signal, (data, position) => {
        const change = data === undefined ? undefined : JSON.parse(data)
        if (change?.type === 'error') throw errorOf(change.status, data ?? '')
        if (!isOpen) opened(from)
        isOpen = true
        failures = 0
        if (change !== undefined) tell(change as SeenChange)
        if (position !== undefined) since = position
      })
    } catch (error) {
      if (error instanceof ApiError && error.status === 410) {
        // The missed changes are lost, so everything on the page is read again.
        since = undefined
        forgetPosition()
        void queries.invalidateQueries()
      } else if (error instanceof ApiError && error.status === 403) break
      else if (error instanceof ApiError && error.status === 401 && !(await isBack(error))) break
    }
    setConnected(false)
    await pause(Math.min(10_000, 500 * 2 ** failures), signal).catch(() => {})
  }
  setConnected(false)
}

/** Whether the user has signed in again after the session ended. */
async function isBack(error: ApiError): Promise<boolean> {
  const again = actingAs() === undefined ? signedInAgain(error) : undefined
  return again === undefined ? false : again.then(() => true).catch(() => false)
}
