import { createHmac } from 'node:crypto'

/** A message: its id, and the exact body. */
export interface Message {
  readonly id: string
  readonly body: string
}

/** The headers of the Standard Webhooks specification, with a signature for each key, the newest key first. */
export function signatureHeaders(
  { id, body }: Message,
  secrets: readonly string[],
  now = Date.now(),
): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret, 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}
