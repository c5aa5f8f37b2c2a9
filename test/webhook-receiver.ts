import { createHmac } from 'node:crypto'

/** The key of all tests, and its declared form. */
const KEY = Buffer.from('0123456789abcdef0123456789abcdef')
export const SECRET = `whsec_${KEY.toString('base64')}`

export interface ReceivedWebhook {
  readonly id: string
  readonly path: string
  readonly body: any
  readonly authorization: string | null
}

/** A real server that receives webhooks. It checks each signature, and answers as it is told to. */
export class Receiver {
  /** All requests, in order, whatever was answered. */
  readonly told: ReceivedWebhook[] = []
  /** The statuses of the next answers; then 200. */
  readonly answers: number[] = []
  /** While it is set, no request is answered. */
  wait: Promise<void> | undefined
  readonly #server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => this.#take(request) })

  get host(): string {
    return `127.0.0.1:${this.#server.port}`
  }

  get url(): string {
    return `http://${this.host}/takeback`
  }

  async #take(request: Request): Promise<Response> {
    const text = await request.text()
    const header = (name: string) => request.headers.get(name) ?? ''
    const [id, timestamp] = [header('webhook-id'), header('webhook-timestamp')]
    const expected = createHmac('sha256', KEY).update(`${id}.${timestamp}.${text}`).digest('base64')
    if (!header('webhook-signature').split(' ').includes(`v1,${expected}`))
      throw new Error(`wrong signature of ${text}`)
    const { pathname: path } = new URL(request.url)
    this.told.push({ id, path, body: JSON.parse(text), authorization: request.headers.get('authorization') })
    await this.wait
    const status = this.answers.shift() ?? 200
    return new Response('thanks', {
      status,
      headers: status === 302 ? { Location: `http://${this.host}/elsewhere` } : {},
    })
  }

  stop(): Promise<void> {
    return this.#server.stop(true)
  }
}
