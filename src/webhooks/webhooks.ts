import { isStorable } from '../declare/fields/text.ts'
import type { Webhook } from '../declare/model.ts'
import { Follower, type Following } from '../live/follower.ts'
import { PermanentFailure } from '../work/job.ts'
import { type Queue, type TaskJob, taskParams } from '../work/queues.ts'
import { Deliveries, type DeliveryState } from './deliveries.ts'
import { messagesOf } from './parts.ts'
import { type OperationReading, WebhookSelection } from './selection.ts'
import { send } from './send.ts'

/** The status by which a server says that it wants no more messages. */
const GONE = 410

/** The state of a webhook that admins see. */
export interface WebhookState {
  /** The URL without path and credentials. */
  readonly to: string
  /** Operations that are not delivered yet, as far as the journal was read. */
  readonly waiting: number
  /** Operations that were set aside: after too many failures, or because the server answered 410. */
  readonly aside: number
  /** The last request. */
  readonly last: DeliveryState | null
}

interface Parts extends Following, OperationReading {}

/**
 * Tells other servers of changes. Followers of the journal make a task for each operation that a webhook receives. Its
 * queue runs one task after the other, so that operations arrive in order.
 */
export class Webhooks {
  readonly #parts: Parts
  readonly #webhooks: ReadonlyMap<string, SelectingWebhook>
  readonly #deliveries: Deliveries
  readonly #send: typeof send

  /** `post` replaces the request. */
  constructor(webhooks: readonly Webhook[], parts: Parts, post: typeof send = send) {
    this.#send = post
    this.#parts = parts
    this.#webhooks = new Map(
      webhooks.map((one) => [one.name, { ...one, selection: new WebhookSelection(one, parts) }]),
    )
    this.#deliveries = new Deliveries(parts.store)
  }

  get names(): readonly string[] {
    return [...this.#webhooks.keys()]
  }

  followers(): readonly Follower[] {
    return [...this.#webhooks.values()].map(
      (webhook) =>
        new Follower(this.#parts, {
          name: queueOf(webhook.name),
          entities: webhook.selection.entities,
          tasksOf: async (operation) =>
            (await webhook.selection.isAny(operation)) ? [taskOf(webhook, operation.id)] : [],
        }),
    )
  }

  queues(): readonly Queue[] {
    return [...this.#webhooks.values()].map((webhook) => ({
      name: queueOf(webhook.name),
      atOnce: 1,
      run: (job) => this.#deliver(webhook, job),
    }))
  }

  async #deliver(webhook: SelectingWebhook, job: TaskJob): Promise<void> {
    const { operation: id } = job.payload as Payload
    const operation = await this.#parts.feed.operation(id, webhook.selection.entities)
    // Retention has erased the operation.
    if (operation === undefined) return
    for await (const message of messagesOf(webhook.selection, operation)) {
      job.signal.throwIfAborted()
      const delivery = await this.#send(webhook, message, job.lost)
      const { status, error } = delivery
      const about = { webhook: webhook.name, operation: message.id, attempt: job.attempt }
      await this.#deliveries.add(job.store, about, delivery)
      if (status === GONE) throw new PermanentFailure(`${shownUrl(webhook)} ${error}`)
      if (error !== null) throw new Error(`${shownUrl(webhook)} ${error}`)
    }
  }

  /** Sends an operation again, after those that wait; undefined if the webhook does not receive it. */
  async resend(name: string, operation: string): Promise<string | undefined> {
    const { feed, store, work } = this.#parts
    const webhook = this.#webhooks.get(name)
    if (webhook === undefined || !isStorable(operation)) return undefined
    // The id of a part begins with that of its operation.
    const found = await feed.operation(operation.replace(/\.\d+$/, ''), webhook.selection.entities)
    if (found === undefined || !(await webhook.selection.isAny(found))) return undefined
    const task = taskOf(webhook, found.id)
    if ((await work.retryAside(task.queue, task.payload)) === 0)
      await store.write([work.enqueue], taskParams([task]))
    work.wake()
    return found.id
  }

  /** Sends again the operations that were set aside, after those that wait. Returns how many. */
  retryAside(name: string): Promise<number> {
    return this.#parts.work.retryAside(queueOf(name))
  }

  /** Returns the deliveries, newest first. */
  deliveries(name: string, most: number): Promise<readonly DeliveryState[]> {
    return this.#deliveries.latest(name, most)
  }

  /** Returns the states, by name. */
  async state(): Promise<Readonly<Record<string, WebhookState>>> {
    if (this.#webhooks.size === 0) return {}
    const { queues } = await this.#parts.work.state()
    const states = [...this.#webhooks.values()].map(async (webhook): Promise<[string, WebhookState]> => {
      const { waiting = 0, running = 0, aside = 0 } = queues[queueOf(webhook.name)] ?? {}
      const [last = null] = await this.#deliveries.latest(webhook.name, 1)
      return [webhook.name, { to: shownUrl(webhook), waiting: waiting + running, aside, last }]
    })
    return Object.fromEntries(await Promise.all(states))
  }
}

interface SelectingWebhook extends Webhook {
  readonly selection: WebhookSelection
}

interface Payload {
  readonly operation: string
}

function taskOf({ name }: Webhook, operation: string) {
  const payload: Payload = { operation }
  return { queue: queueOf(name), key: name, payload }
}

/** The name of a webhook's queue and cursor. */
function queueOf(name: string): string {
  return `webhook ${name}`
}

/** Shows the origin only: the path of a URL may contain secrets, too. */
function shownUrl({ to }: Webhook): string {
  return new URL(to).origin
}
