import { Failure } from '../errors.ts'
import type { Store } from '../store/store.ts'

/** Whether this server should get requests. */
export class Health {
  readonly #store: Store
  #stopping = false

  constructor(store: Store) {
    this.#store = store
  }

  /** It serves what comes, but wants no more. */
  stop(): void {
    this.#stopping = true
  }

  /** Throws where requests should go elsewhere. */
  async check(): Promise<void> {
    if (this.#stopping) throw new Failure('stopping', { headers: { 'Retry-After': '1' } })
    await this.#store.ping()
  }
}
