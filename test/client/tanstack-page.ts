import { createCollection, createLiveQueryCollection } from '@tanstack/db'
import { connect, type Login } from '../../client/client.ts'
import { offlineQueue, takebackCollection } from '../../tanstack-db/tanstack-db.ts'
import type { Hotel } from './app.ts'

/** Opens a list of rooms that works offline. */
function openRooms(url: string) {
  const api = connect<Hotel>(url, { session: 'localStorage' })
  const refused: unknown[] = []
  const offline = offlineQueue(api, {
    name: 'page',
    onRefused: (error) => refused.push((error as { code?: string }).code),
  })
  const rooms = createCollection(takebackCollection({ api, entity: 'rooms', offline, defaults: { beds: 1 } }))
  const list = createLiveQueryCollection((query) =>
    query.from({ room: rooms }).orderBy(({ room }) => room.title),
  )
  list.subscribeChanges(() => {})
  return {
    refused,
    waiting: () => offline.pending.length,
    insert: (title: string, beds: number) => void rooms.insert({ title, beds }),
    setBeds(title: string, beds: number) {
      const [room] = rooms.toArray.filter((one) => one.title === title)
      rooms.update(room?.id ?? 0, (draft) => {
        draft.beds = beds
      })
    },
    /** A `?` marks rows that the server has not confirmed. */
    shown: () => list.toArray.map(({ title, beds, $synced }) => `${title} ${beds}${$synced ? '' : '?'}`),
  }
}

const signIn = async (url: string, login: Login) =>
  void (await connect(url, { session: 'localStorage' }).login(login))

export type RoomsPage = ReturnType<typeof openRooms>
Object.assign(globalThis, { openRooms, signIn })
