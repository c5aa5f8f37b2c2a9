import type { ServerEvent } from './events.ts'

type Subscriber = (event: ServerEvent) => void

/** Passes on events. The sender need not know who listens: the log, metrics, nobody. */
export class Observer {
  #subscribers: readonly Subscriber[] = []

  /** Gives back how to end it. */
  subscribe(subscriber: Subscriber): () => void {
    this.#subscribers = [...this.#subscribers, subscriber]
    return () => {
      this.#subscribers = this.#subscribers.filter((one) => one !== subscriber)
    }
  }

  /** All subscribers have it when this returns. What one of them throws stops neither the others nor the server. */
  emit(event: ServerEvent): void {
    for (const subscriber of this.#subscribers)
      try {
        subscriber(event)
      } catch {
        // There is nobody left to tell.
      }
  }
}
