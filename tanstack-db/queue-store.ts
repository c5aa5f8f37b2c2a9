import type { QueuedWrite } from './queued-write.ts'

/** Stores writes that are not sent yet. */
export interface QueueStore {
  /** Returns all writes, in any order. */
  read(): readonly QueuedWrite[] | Promise<readonly QueuedWrite[]>
  /** Stores a write. It replaces one with the same id. */
  put(write: QueuedWrite): void | Promise<void>
  remove(id: string): void | Promise<void>
}

/** Stores each write under its own key, so that pages of one origin do not overwrite each other's writes. */
export function inLocalStorage(name: string): QueueStore {
  const prefix = `takeback queue ${name} `
  return {
    read: () =>
      Object.keys(localStorage)
        .filter((key) => key.startsWith(prefix))
        .map((key) => JSON.parse(localStorage.getItem(key) ?? 'null') as QueuedWrite),
    put: (write) => localStorage.setItem(prefix + write.id, JSON.stringify(write)),
    remove: (id) => localStorage.removeItem(prefix + id),
  }
}

/** Stores writes until this page or process ends. */
export function inMemory(): QueueStore {
  return { read: () => [], put: () => {}, remove: () => {} }
}
