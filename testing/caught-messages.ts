import type { MailPiece, Opened, PastPiece, WebhookPiece } from '../src/api/context.ts'
import type { Part } from '../src/api/part.ts'
import type { Mail } from '../src/mail/mailer.ts'
import type { send } from '../src/webhooks/send.ts'
import { signatureHeaders } from '../src/webhooks/signature.ts'
import { Webhooks } from '../src/webhooks/webhooks.ts'
import type { TestMail, TestWebhook } from './types.ts'

/** Catches mails and webhook requests instead of sending them. */
export class CaughtMessages {
  mails: readonly TestMail[] = []
  webhooks: readonly TestWebhook[] = []

  /** Replaces the mailer and the requests to webhooks. */
  readonly part = {
    name: 'testing',
    compile: (opened: Opened, past: PastPiece): WebhookPiece & Pick<MailPiece, 'mailer'> => ({
      mailer: { send: async (mail) => this.#keepMail(mail) },
      webhooks: new Webhooks(opened.model.webhooks, { ...opened, ...past }, this.#post),
    }),
  } satisfies Part

  clear(): void {
    this.mails = []
    this.webhooks = []
  }

  #keepMail({ to, subject, text, html }: Mail): void {
    const link = /https?:\/\/[^\s<>"]+/.exec(text)?.[0] ?? null
    this.mails = [...this.mails, { to, subject, text, html: html ?? null, link }]
  }

  /** Every webhook answers 204. */
  readonly #post: typeof send = async ({ name, to, secrets }, message) => {
    const headers = { 'Content-Type': 'application/json', ...signatureHeaders(message, secrets) }
    this.webhooks = [...this.webhooks, { webhook: name, to, headers, body: JSON.parse(message.body) }]
    return { status: 204, error: null, ms: 0 }
  }
}
