import { droppedReason, nameBeforeDrop } from '../store/dropped.ts'
import type { Store } from '../store/store.ts'

/** What background work can use. */
export interface Job {
  /** The database. After another instance has taken over, every write through it throws a LeaseLost. */
  readonly store: Store
  /** Aborted when the server stops or another instance has taken over: end soon, and throw. */
  readonly signal: AbortSignal
  /**
   * Aborted only when another instance has taken over. For requests to other servers, which would arrive twice if they
   * were cut off. A stopping server waits a moment for them.
   */
  readonly lost: AbortSignal
  /** Call it between two steps: requests run meanwhile. Throws if the signal is aborted. */
  pause(): Promise<void>
}

/** Another instance has taken over: this one was frozen or disconnected for longer than a lease lasts. */
export class LeaseLost extends Error {
  constructor(what: string) {
    super(`another instance has taken over "${what}"`)
  }
}

/** The server stops. Another instance starts the work again at once. */
export class Interrupted extends Error {
  constructor() {
    super('the server stops')
  }
}

/**
 * Thrown by recurring work that cannot run now, for a reason that an admin should see. The health details show it, and
 * the work runs again at its next regular time.
 */
export class Postponed extends Error {}

/** Thrown by a task that no retry can help. The task is set aside at once. */
export class PermanentFailure extends Error {}

/** Throws if the Entity type of a task was dropped. */
export function refuseDropped(entity: string): void {
  const name = nameBeforeDrop(entity)
  if (name !== undefined) throw new PermanentFailure(droppedReason(name))
}
