/** Names an account: an Entity of a login type. */
export interface AccountId {
  readonly entity: string
  readonly id: number
}
