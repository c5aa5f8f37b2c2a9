import { isRecord } from './record.ts'

/** Whoever acts, where a reference points at their type. */
export interface MeValue {
  readonly server: 'me'
}

/** The time of the request; of a date, its day in UTC. */
export interface NowValue {
  readonly server: 'now'
}

/** What an expression in CEL gives. */
export interface CelValue {
  readonly server: 'cel'
  readonly text: string
}

/** A value that the server finds itself when an Entity is written. */
export type ServerValue = MeValue | NowValue | CelValue

/** The user who acts: for references to a login type. `null` for whoever is not one of that type. */
export const me: MeValue = Object.freeze({ server: 'me' })
/** The time of the request: for times and dates. */
export const now: NowValue = Object.freeze({ server: 'now' })
/** What an expression in CEL gives: `cel('product.price')`, `cel('now + duration("24h")')`. */
export function cel(text: string): CelValue {
  return Object.freeze({ server: 'cel', text })
}

/** By what it says: it may be made by another copy of this module, such as that of an installed package. */
export function isServerValue(value: unknown): value is ServerValue {
  if (!isRecord(value)) return false
  const { server, text } = value
  return server === 'me' || server === 'now' || (server === 'cel' && typeof text === 'string')
}
