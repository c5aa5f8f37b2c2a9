import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import { eventually } from './harness.ts'

/** A mail as it arrived. */
export interface ReceivedMail {
  readonly to: readonly string[]
  /** The text, decoded as far as tests need it. */
  readonly text: string
}

/** Decodes quoted-printable (RFC 2045, section 6.7) in the parts that use it: elsewhere, `=3D` is literal. */
export function decodeMail(raw: string): string {
  const boundary = /boundary="(.+)"/.exec(raw)?.[1]
  const parts = boundary === undefined ? [raw] : raw.split(`\n--${boundary}`)
  return parts.map(decodePart).join(`\n--${boundary}`)
}

function decodePart(part: string): string {
  if (!/^Content-Transfer-Encoding: quoted-printable\r?$/m.test(part)) return part
  return part
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
}

export const SMTP_USER = { username: 'takeback', password: 'p@ss:word' }

/** A real SMTP server, which requires a password. */
export class Mailbox {
  readonly mails: ReceivedMail[] = []
  /** The statuses with which the next recipients are refused. */
  readonly refusals: number[] = []
  #server: SMTPServer | undefined
  #port = 0

  #make(): SMTPServer {
    return new SMTPServer({
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      onAuth({ username, password }, _, done) {
        const right = username === SMTP_USER.username && password === SMTP_USER.password
        done(right ? null : new Error('wrong'), { user: username })
      },
      onRcptTo: (_, __, done) => {
        const status = this.refusals.shift()
        done(status === undefined ? null : Object.assign(new Error('refused'), { responseCode: status }))
      },
      onData: async (stream, { envelope }, done) => {
        const chunks: Uint8Array[] = []
        for await (const chunk of stream) chunks.push(chunk)
        const text = decodeMail(Buffer.concat(chunks).toString())
        this.mails.push({ to: envelope.rcptTo.map(({ address }) => address), text })
        done()
      },
    })
  }

  async start(): Promise<string> {
    const server = this.#make()
    this.#server = server
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve))
    const address = server.server.address()
    this.#port = typeof address === 'object' ? (address?.port ?? 0) : 0
    const { username, password } = SMTP_USER
    return `smtp://${username}:${encodeURIComponent(password)}@127.0.0.1:${this.#port}`
  }

  stop(): Promise<void> {
    return new Promise((resolve) => (this.#server === undefined ? resolve() : this.#server.close(resolve)))
  }
}

/** Returns the mails that were written to files, oldest first. */
export function mailsIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .sort()
      .map((file) => decodeMail(readFileSync(join(folder, file), 'utf8')))
  } catch {
    return []
  }
}

/** Waits for the next mail after `count`. Returns its text. */
export async function mailAfter(folder: string, count: number): Promise<string> {
  await eventually(
    () => /<\/html>\s/.test(mailsIn(folder)[count] ?? '') || !!mailsIn(folder)[count]?.includes('own text'),
  )
  return mailsIn(folder)[count] ?? ''
}

export function tokenIn(mail: string): string {
  return /[?&]link=([\w-]+)/.exec(mail)?.[1] ?? ''
}
