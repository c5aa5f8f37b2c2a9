import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { budget } from '../budget.ts'
import type { MailText } from '../declare/mail.ts'
import type { Observer } from '../observe/observer.ts'
import { PermanentFailure } from '../work/job.ts'

export interface MailSettings {
  readonly smtp: URL | undefined
  readonly from: string
  readonly outbox: string
}

export interface Mail extends MailText {
  readonly to: string
  /** The name of its file. */
  readonly name: string
}

/** Sends mails to the SMTP server, or writes them to files if there is none. */
export class Mailer {
  readonly #settings: MailSettings
  readonly #observer: Observer

  constructor(settings: MailSettings, observer: Observer) {
    this.#settings = settings
    this.#observer = observer
  }

  async send(mail: Mail): Promise<void> {
    const { smtp, outbox } = this.#settings
    const message = await this.#transmit(mail, smtp === undefined ? TO_FILES : smtpOptions(smtp))
    if (smtp !== undefined || message === undefined) return
    const file = join(outbox, `${mail.name}.eml`)
    // A mail has a link that can let its reader into the account.
    await mkdir(outbox, { recursive: true, mode: 0o700 })
    await writeFile(file, message, { mode: 0o600 })
    await chmod(file, 0o600)
    this.#observer.emit({ kind: 'mail_written', file })
  }

  async #transmit({ to, subject, text, html }: Mail, options: Options): Promise<Uint8Array | undefined> {
    const { createTransport } = await import('nodemailer')
    const transport = createTransport(options)
    try {
      const { message } = await transport.sendMail({
        from: this.#settings.from,
        // An object, so that a comma in an address does not make two addresses.
        to: { name: '', address: to },
        subject,
        text,
        ...(html !== undefined && { html }),
        disableFileAccess: true,
        disableUrlAccess: true,
      })
      return message
    } catch (error) {
      throw isRefused(error)
        ? new PermanentFailure(`The mail server refuses it: ${(error as Error).message}`)
        : error
    } finally {
      transport.close()
    }
  }
}

type Options = Readonly<Record<string, unknown>>

const TO_FILES: Options = { streamTransport: true, buffer: true, newline: 'unix' }

function smtpOptions({ protocol, hostname, port, username, password }: URL): Options {
  const secure = protocol === 'smtps:'
  const host = hostname.replace(/^\[|\]$/g, '')
  return {
    host,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    // A password is never sent unencrypted, unless it stays on this machine.
    requireTLS: !secure && username !== '' && !/^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host),
    ...(username !== '' && {
      auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    }),
    connectionTimeout: budget.mailMs,
    greetingTimeout: budget.mailMs,
    socketTimeout: budget.mailMs,
    dnsTimeout: budget.mailMs,
  }
}

/** Whether the recipient or the message is refused for good (RFC 5321, section 4.2.1): then no retry can help. */
function isRefused(error: unknown): boolean {
  const { code, responseCode = 0 } = error as { code?: string; responseCode?: number }
  return (code === 'EENVELOPE' || code === 'EMESSAGE') && responseCode >= 500
}
