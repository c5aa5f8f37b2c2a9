import type { LinkKind } from '../../declare/mail.ts'
import { catalogue, Failure } from '../../errors.ts'
import type { Call } from '../call.ts'
import type { Answer, Context } from '../context.ts'
import type { LinkRequest } from './account-link.ts'
import { confirmEmail, revertEmail } from './email-change.ts'
import { resetPassword } from './reset.ts'
import { verifyAddress } from './verify.ts'

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

/** A page for people whom a failure meets in their browser. */
export function messagePage(failure: Failure): Answer {
  const { status } = catalogue[failure.code]
  const page = pageAnswer(
    status,
    'This did not work',
    `<p role="alert">${Bun.escapeHTML(failure.message)}</p>`,
  )
  return { ...page, headers: { ...page.headers, ...failure.headers } }
}

/** What differs between the pages that set a password. */
interface PasswordPage {
  readonly kind: LinkKind
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

/** What the form has sent, and the request that the API would get with it. */
async function formOf(call: Call): Promise<{ form: URLSearchParams; request: Omit<LinkRequest, 'body'> }> {
  const { address, signal } = call
  const noteAccount = (digest: string) => call.noteAccount(digest)
  const form = new URLSearchParams(await new Response(call.bytes).text())
  return { form, request: { address, signal, note: null, noteAccount } }
}

function tokenOf(call: Call): string {
  return call.query.take(new Map(), () => {}).link ?? ''
}

function passwordPage(page: PasswordPage): AccountPage {
  return {
    path: `/account/${page.kind}`,
    show: (call) => passwordForm(page, tokenOf(call)),
    async submit(context, call) {
      const { form, request } = await formOf(call)
      const token = form.get('token') ?? ''
      try {
        await resetPassword(context, { ...request, body: { token, password: form.get('password') ?? '' } })
        return pageAnswer(200, page.title, '<p>The password was changed. You can log in with it now.</p>')
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        return passwordForm(page, token, error)
      }
    },
  }
}

/** What differs between the pages with nothing but a button. */
interface ButtonPage {
  readonly kind: LinkKind
  readonly title: string
  readonly button: string
  run(context: Context, request: LinkRequest): Promise<Answer>
}

function buttonPage({ kind, title, button, run }: ButtonPage): AccountPage {
  return {
    path: `/account/${kind}`,
    show: (call) =>
      pageAnswer(
        200,
        title,
        `<form method="post" action="${kind}">
<input type="hidden" name="token" value="${Bun.escapeHTML(tokenOf(call))}">
<button autofocus>${button}</button>
</form>`,
      ),
    async submit(context, call) {
      const { form, request } = await formOf(call)
      try {
        const { body } = await run(context, { ...request, body: { token: form.get('token') ?? '' } })
        const { message } = JSON.parse(body ?? '{}') as { message: string }
        return pageAnswer(200, title, `<p>${Bun.escapeHTML(message)}</p>`)
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        return refusedPage(title, error)
      }
    },
  }
}

function refusedPage(title: string, refused: Failure): Answer {
  const sentences = [...(refused.errors ?? [])].map(([path, texts]) => `${path} ${texts.join(', ')}`)
  const alert = sentences.length === 0 ? refused.message : sentences.join('. ')
  const { status } = catalogue[refused.code]
  const answer = pageAnswer(status, title, `<p role="alert">${Bun.escapeHTML(alert)}</p>`)
  return { ...answer, headers: { ...answer.headers, ...refused.headers } }
}

export const accountPages: readonly AccountPage[] = [
  passwordPage({ kind: 'reset', title: 'Set a new password' }),
  passwordPage({ kind: 'invite', title: 'Set your password' }),
  buttonPage({
    kind: 'verify',
    title: 'Confirm your e-mail address',
    button: 'Confirm the address',
    run: verifyAddress,
  }),
  buttonPage({
    kind: 'email',
    title: 'Your new e-mail address',
    button: 'Use this address',
    run: confirmEmail,
  }),
  buttonPage({
    kind: 'revert',
    title: 'Take back your e-mail address',
    button: 'Take it back, and end all sessions',
    run: revertEmail,
  }),
]
