import type { Position } from '../journal/position.ts'
import type { OperationEvents } from './events.ts'
import type { CallerId } from './subscription.ts'

/** The events of operations for one caller, or for all who see the same. */
export interface Delivery {
  readonly operations: readonly { readonly position: Position; readonly events: readonly string[] }[]
  /** The position of the last of them. */
  readonly position: Position
}

/** The events by caller, without the operations of which the caller sees nothing. */
export function deliveriesOf(operationEvents: readonly OperationEvents[]): Map<CallerId, Delivery> {
  const all = new Map<CallerId, Delivery['operations'][number][]>()
  for (const { position, events } of operationEvents)
    for (const [callerId, texts] of events) {
      if (texts.length === 0) continue
      const known = all.get(callerId) ?? []
      all.set(callerId, known)
      known.push({ position, events: texts })
    }
  return new Map(
    [...all].flatMap(([callerId, operations]) => {
      const position = operations.at(-1)?.position
      return position === undefined ? [] : [[callerId, { operations, position }]]
    }),
  )
}
