/** A booking as the load sends it. Nothing checks it. */
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

/** A value, or a promise if the database answers later; undefined if there is nothing with this id. */
export type Found<T> = T | undefined | Promise<T | undefined>
type ById = (id: number) => Found<string>

/** The calls of a bare server on a database. Everything that it finds is JSON. */
export interface Limit {
  readonly read: ById
  list(): Found<string>
  create(booking: Booking): Found<string>
  /** Creates with JSON made here: nothing is read back. Not every database can. */
  createBlind?(booking: Booking): Found<string>
  readonly remove: ById
  readonly restore: ById
  /** Deletes a customer with all of its orders. */
  readonly removeCustomer: ById
  readonly restoreCustomer: ById
  memberOf(email: string): Found<Member>
  close(): void | Promise<void>
}

export type Values = readonly (string | number | null)[]

/** Runs one query. Returns rows of JSON and place, or a promise of them. */
export interface PageQuery {
  run(values: Values): unknown[][] | Promise<unknown[][]>
  close(): void | Promise<void>
}
