import { isRecord } from './record.ts'

/** The caller, for a reference to their login type. */
export interface MeValue {
  readonly server: 'me'
}

/** The time of the request; for a date, its day in UTC. */
export interface NowValue {
  readonly server: 'now'
}

/** The result of an expression in CEL. */
export interface CelValue {
  readonly server: 'cel'
  readonly text: string
}

/** A value that the server determines when an Entity is written. */
export type ServerValue = MeValue | NowValue | CelValue

/** The user who acts, for references to a login type. `null` if the caller is not of that type. */
export const me: MeValue = Object.freeze({ server: 'me' })
/** The time of the request, for times and dates. */
export const now: NowValue = Object.freeze({ server: 'now' })
/** The result of an expression in CEL: `cel('product.price')`, `cel('now + duration("24h")')`. */
export function cel(text: string): CelValue {
  return Object.freeze({ server: 'cel', text })
}

/** Compares content: another copy of this module may have made it, such as that of an installed package. */
export function isServerValue(value: unknown): value is ServerValue {
  if (!isRecord(value)) return false
  const { server, text } = value
  return server === 'me' || server === 'now' || (server === 'cel' && typeof text === 'string')
}
