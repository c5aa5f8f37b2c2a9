export const webhookKinds = ['create', 'update', 'delete', 'restore', 'purge'] as const
export type WebhookKind = (typeof webhookKinds)[number]

/** Somebody else's server that is told of changes. */
export interface WebhookDeclaration<Event extends string = string> {
  /** The URL that is sent a POST for each operation. */
  readonly to: string
  /** Signs what is sent: `whsec_` and 24 to 64 bytes in base64. Two while one replaces the other, the new one first. */
  readonly secret: string | readonly string[]
  /** What it is told of: `'orders.create'`, `'orders.*'`. */
  readonly on: readonly Event[]
  /** A condition in CEL: it is told of the Entities that meet it. For events of one type only. */
  readonly filter?: string
  /** Hosts that may be private or use http: `'localhost:9000'`, `'erp.internal'`. */
  readonly allow?: readonly string[]
}

/** The events of these types. */
export type WebhookEvent<Names extends string> = `${Names}.${WebhookKind | '*'}`
