import type { MailKind } from '../declare/mail.ts'
import { catalogue, Failure } from '../errors.ts'
import type { Call } from './call.ts'
import type { Answer, Context } from './context.ts'
import { resetPassword } from './reset.ts'

/** A page with a form that works without any script: mails link to it unless the app has pages of its own. */
export interface AccountPage {
  readonly path: string
  /** Shows the form. Nothing is changed: programs that scan mails follow links, too. */
  show(call: Call): Answer
  /** Does what the form asks for. */
  submit(context: Context, call: Call): Promise<Answer>
}

const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  // The address has the token in it.
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
} as const

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:24rem;margin:15vh auto;padding:0 1rem;color-scheme:light dark}
input,button{font:inherit;display:block;width:100%;box-sizing:border-box;margin:.25rem 0 1rem;padding:.5rem}
[role=alert]{border-left:3px solid #c33;padding-left:.75rem}`

function pageAnswer(status: number, title: string, body: string): Answer {
  return {
    status,
    type: 'text/html; charset=utf-8',
    headers: HEADERS,
    body: `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${STYLE}</style></head>
<body><h1>${title}</h1>
${body}
</body>
</html>
`,
  }
}

/** What differs between the pages that set a password. */
interface PasswordPage {
  readonly kind: MailKind
  readonly title: string
}

function passwordForm({ kind, title }: PasswordPage, token: string, refused?: Failure): Answer {
  const weak = refused?.errors?.get('password')
  const alert = weak === undefined ? refused?.message : `The password ${weak.join(', ')}.`
  const answer = pageAnswer(
    refused === undefined ? 200 : catalogue[refused.code].status,
    title,
    `${alert === undefined ? '' : `<p role="alert">${Bun.escapeHTML(alert)}</p>`}
<form method="post" action="${kind}">
<input type="hidden" name="token" value="${Bun.escapeHTML(token)}">
<label>New password <input type="password" name="password" autocomplete="new-password" required autofocus></label>
<button>Set the password</button>
</form>`,
  )
  return { ...answer, headers: { ...answer.headers, ...refused?.headers } }
}

function passwordPage(page: PasswordPage): AccountPage {
  return {
    path: `/account/${page.kind}`,
    show: (call) => passwordForm(page, call.query.take(new Map(), () => {}).link ?? ''),
    async submit(context, call) {
      const form = new URLSearchParams(await new Response(call.bytes).text())
      const token = form.get('token') ?? ''
      const { address, signal } = call
      const request = {
        body: { token, password: form.get('password') ?? '' },
        address,
        signal,
        note: null,
        noteAccount: (digest: string) => call.noteAccount(digest),
      }
      try {
        await resetPassword(context, request)
        return pageAnswer(200, page.title, '<p>The password was changed. You can log in with it now.</p>')
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        return passwordForm(page, token, error)
      }
    },
  }
}

export const accountPages: readonly AccountPage[] = [
  passwordPage({ kind: 'reset', title: 'Set a new password' }),
  passwordPage({ kind: 'invite', title: 'Set your password' }),
]
