import { budget } from '../budget.ts'
import type { FeedOperation } from '../journal/feed.ts'
import type { Position } from '../journal/position.ts'
import type { Eyes } from './subscription.ts'

/** An operation as it is told: to each pair of eyes what they see of it, as JSON. */
export interface ToldOperation {
  readonly position: Position
  readonly events: ReadonlyMap<Eyes, readonly string[]>
}

type Told = Pick<FeedOperation, 'id' | 'at' | 'actor' | 'position'>

/** An Entity as somebody sees it. */
export interface ToldEntity {
  readonly version: number
  readonly json: string
  /** Whether they may know who changed it. */
  readonly history: boolean
}

/** Collects what is told of one operation. */
export class OperationEvents {
  readonly #operation: Told
  readonly #login: string | undefined
  /** By eyes and type; `undefined` where too much has changed, so that it is read anew. */
  readonly #told = new Map<Eyes, Map<string, string[] | undefined>>()

  constructor(operation: Told, login: string | undefined) {
    this.#operation = operation
    this.#login = login
  }

  upsert(eyes: Eyes, entity: string, id: number, { version, json, history }: ToldEntity): void {
    const { id: operation, at, actor } = this.#operation
    const isOwn = eyes !== null && actor === `${this.#login}/${eyes}`
    const head = JSON.stringify({
      type: 'upsert',
      entity,
      id,
      version,
      operation,
      at,
      actor: history || isOwn ? actor : null,
    })
    this.#add(eyes, entity, `${head.slice(0, -1)},"data":${json}}`)
  }

  remove(eyes: Eyes, entity: string, id: number): void {
    this.#add(eyes, entity, JSON.stringify({ type: 'remove', entity, id, operation: this.#operation.id }))
  }

  reset(eyes: Eyes, entity: string): void {
    this.#of(eyes).set(entity, undefined)
  }

  isReset(eyes: Eyes, entity: string): boolean {
    const told = this.#told.get(eyes)
    return told?.has(entity) === true && told.get(entity) === undefined
  }

  #add(eyes: Eyes, entity: string, text: string): void {
    const told = this.#of(eyes)
    if (this.isReset(eyes, entity)) return
    const known = told.get(entity) ?? []
    known.push(text)
    told.set(entity, known.length > budget.feedChanges ? undefined : known)
  }

  #of(eyes: Eyes): Map<string, string[] | undefined> {
    const told = this.#told.get(eyes) ?? new Map()
    this.#told.set(eyes, told)
    return told
  }

  get told(): ToldOperation {
    const events = [...this.#told].map(([eyes, types]): [Eyes, string[]] => [
      eyes,
      [...types].flatMap(([entity, texts]) => texts ?? [JSON.stringify({ type: 'reset', entity })]),
    ])
    return { position: this.#operation.position, events: new Map(events) }
  }
}
