import type { QueuedWrite } from './queued-write.ts'

/** Where writes are kept that are not sent yet. */
export interface QueueStore {
  /** All of them, in any order. */
  read(): readonly QueuedWrite[] | Promise<readonly QueuedWrite[]>
  /** Keeps a write, in place of the one with the same id. */
  put(write: QueuedWrite): void | Promise<void>
  remove(id: string): void | Promise<void>
}

/** One item for each write, so that pages of the same origin do not overwrite each other's list. */
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

/** Until this page or process ends. */
export function inMemory(): QueueStore {
  return { read: () => [], put: () => {}, remove: () => {} }
}
