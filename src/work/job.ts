import type { Store } from '../store/store.ts'

/** What background work gets to work with. */
export interface Job {
  /** The database. Once another instance has taken over, every write through it is refused, with a LeaseLost. */
  readonly store: Store
  /** Aborted when the server stops, or another instance has taken over: end soon, and throw. */
  readonly signal: AbortSignal
  /** Between two steps: lets requests have their turn. Throws where the signal is aborted. */
  pause(): Promise<void>
}

/** Another instance does it now: this one was frozen or cut off for longer than its lease lasts. */
export class LeaseLost extends Error {
  constructor(what: string) {
    super(`another instance has taken over "${what}"`)
  }
}

/** The server stops. The work is begun anew by the next instance, at once. */
export class Interrupted extends Error {
  constructor() {
    super('the server stops')
  }
}

/**
 * Thrown by recurring work that does not want to be done now, for a reason that people should see: it is shown in the
 * health, and the work comes again at its next regular time.
 */
export class Postponed extends Error {}
