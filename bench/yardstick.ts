/** A booking as the load sends it; nothing checks that it is one. */
export interface Booking {
  readonly room: { readonly id: number }
  readonly starts_at: string
  readonly guests: number
  readonly status: string
  readonly address?: { readonly city: string; readonly zip: string }
}

export interface Member {
  readonly id: number
  readonly hash: string
  readonly json: string
}

/** At once, or once the database has answered; undefined where there is nothing of that id. */
export type Found<T> = T | undefined | Promise<T | undefined>
type ById = (id: number) => Found<string>

/** What a database can do without Takeback; all that it finds is JSON. */
export interface Limit {
  readonly read: ById
  list(): Found<string>
  create(booking: Booking): Found<string>
  /** The same with the JSON made here: nothing is read back. Not every database can. */
  createBlind?(booking: Booking): Found<string>
  readonly remove: ById
  readonly restore: ById
  /** With all of its orders. */
  readonly removeCustomer: ById
  readonly restoreCustomer: ById
  memberOf(email: string): Found<Member>
  close(): void | Promise<void>
}

export type Values = readonly (string | number | null)[]

/** Runs one query; rows of JSON and place, at once or once the database has answered. */
export interface PageQuery {
  run(values: Values): unknown[][] | Promise<unknown[][]>
  close(): void | Promise<void>
}
