export const webhookKinds = ['create', 'update', 'delete', 'restore', 'purge'] as const
export type WebhookKind = (typeof webhookKinds)[number]

/** Another server that is told of changes. */
export interface WebhookDeclaration<Event extends string = string> {
  /** The URL that gets a POST for each operation. */
  readonly to: string
  /** Keys that sign each request: `whsec_` and 24 to 64 bytes in base64. Two during a rotation, the new one first. */
  readonly secret: string | readonly string[]
  /** The events to send: `'orders.create'`, `'orders.*'`. */
  readonly on: readonly Event[]
  /** A condition in CEL: only Entities that meet it are sent. For events of one type only. */
  readonly filter?: string
  /** Hosts that may be private or use http: `'localhost:9000'`, `'erp.internal'`. */
  readonly allow?: readonly string[]
}

/** The events of these Entity types. */
export type WebhookEvent<Names extends string> = `${Names}.${WebhookKind | '*'}`
