import { budget } from '../budget.ts'
import type { FeedOperation } from '../journal/feed.ts'
import type { Position } from '../journal/position.ts'
import type { CallerId } from './subscription.ts'

/** The events of an operation, as JSON: for each caller what they see of it. */
export interface OperationEvents {
  readonly position: Position
  readonly events: ReadonlyMap<CallerId, readonly string[]>
}

type OperationHead = Pick<FeedOperation, 'id' | 'at' | 'actor' | 'position'>

/** An Entity as somebody sees it. */
export interface VisibleEntity {
  readonly version: number
  readonly json: string
  /** Whether they may know who changed it. */
  readonly history: boolean
}

/** Collects the events of one operation. */
export class EventCollector {
  readonly #operation: OperationHead
  readonly #login: string | undefined
  /** By caller and type; `undefined` where too much has changed, so that it is read anew. */
  readonly #events = new Map<CallerId, Map<string, string[] | undefined>>()

  constructor(operation: OperationHead, login: string | undefined) {
    this.#operation = operation
    this.#login = login
  }

  upsert(callerId: CallerId, entity: string, id: number, { version, json, history }: VisibleEntity): void {
    const { id: operation, at, actor } = this.#operation
    const isOwn = callerId !== null && actor === `${this.#login}/${callerId}`
    const head = JSON.stringify({
      type: 'upsert',
      entity,
      id,
      version,
      operation,
      at,
      actor: history || isOwn ? actor : null,
    })
    this.#add(callerId, entity, `${head.slice(0, -1)},"data":${json}}`)
  }

  remove(callerId: CallerId, entity: string, id: number): void {
    this.#add(callerId, entity, JSON.stringify({ type: 'remove', entity, id, operation: this.#operation.id }))
  }

  reset(callerId: CallerId, entity: string): void {
    this.#of(callerId).set(entity, undefined)
  }

  isReset(callerId: CallerId, entity: string): boolean {
    const byType = this.#events.get(callerId)
    return byType?.has(entity) === true && byType.get(entity) === undefined
  }

  #add(callerId: CallerId, entity: string, text: string): void {
    const byType = this.#of(callerId)
    if (this.isReset(callerId, entity)) return
    const known = byType.get(entity) ?? []
    known.push(text)
    byType.set(entity, known.length > budget.feedChanges ? undefined : known)
  }

  #of(callerId: CallerId): Map<string, string[] | undefined> {
    const byType = this.#events.get(callerId) ?? new Map()
    this.#events.set(callerId, byType)
    return byType
  }

  get result(): OperationEvents {
    const events = [...this.#events].map(([callerId, types]): [CallerId, string[]] => [
      callerId,
      [...types].flatMap(([entity, texts]) => texts ?? [JSON.stringify({ type: 'reset', entity })]),
    ])
    return { position: this.#operation.position, events: new Map(events) }
  }
}
