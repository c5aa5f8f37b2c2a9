import type { Position } from '../journal/position.ts'
import type { ToldOperation } from './events.ts'
import type { Eyes } from './subscription.ts'

/** Operations as they are told to all who see them with the same eyes. */
export interface Delivery {
  readonly operations: readonly { readonly position: Position; readonly events: readonly string[] }[]
  /** Behind the last of them. */
  readonly position: Position
}

/** What each pair of eyes is told, without the operations of which they see nothing. */
export function deliveriesOf(told: readonly ToldOperation[]): Map<Eyes, Delivery> {
  const all = new Map<Eyes, Delivery['operations'][number][]>()
  for (const { position, events } of told)
    for (const [eyes, texts] of events) {
      if (texts.length === 0) continue
      const known = all.get(eyes) ?? []
      all.set(eyes, known)
      known.push({ position, events: texts })
    }
  return new Map(
    [...all].flatMap(([eyes, operations]) => {
      const position = operations.at(-1)?.position
      return position === undefined ? [] : [[eyes, { operations, position }]]
    }),
  )
}
