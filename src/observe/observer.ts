import type { ServerEvent } from './events.ts'

type Subscriber = (event: ServerEvent) => void

/** Passes events on to subscribers, such as the log. The sender need not know them. */
export class Observer {
  #subscribers: readonly Subscriber[] = []

  /** Returns the function that ends the subscription. */
  subscribe(subscriber: Subscriber): () => void {
    this.#subscribers = [...this.#subscribers, subscriber]
    return () => {
      this.#subscribers = this.#subscribers.filter((one) => one !== subscriber)
    }
  }

  /** All subscribers have the event when this returns. If one throws, the others and the server go on. */
  emit(event: ServerEvent): void {
    for (const subscriber of this.#subscribers)
      try {
        subscriber(event)
      } catch {
        // There is nobody left to tell about it.
      }
  }
}
