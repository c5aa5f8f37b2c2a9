import { createHmac } from 'node:crypto'

/** What is sent: its id, and the body as it is. */
export interface Message {
  readonly id: string
  readonly body: string
}

/** The headers of the Standard Webhooks specification: a signature for each key, the first of them is the newest. */
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
