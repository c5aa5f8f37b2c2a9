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

const RESET = 'Set a new password'

function resetForm(token: string, alert = ''): string {
  return `${alert === '' ? '' : `<p role="alert">${Bun.escapeHTML(alert)}</p>`}
<form method="post" action="reset">
<input type="hidden" name="token" value="${Bun.escapeHTML(token)}">
<label>New password <input type="password" name="password" autocomplete="new-password" required autofocus></label>
<button>Set the password</button>
</form>`
}

export const resetPage: AccountPage = {
  path: '/account/reset',
  show(call) {
    return pageAnswer(200, RESET, resetForm(call.query.take(new Map(), () => {}).link ?? ''))
  },
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
      return pageAnswer(200, RESET, '<p>The password was changed. You can log in with it now.</p>')
    } catch (error) {
      if (!(error instanceof Failure) || error.code === 'internal') throw error
      return refusedForm(error, token)
    }
  },
}

function refusedForm(failure: Failure, token: string): Answer {
  const weak = failure.errors?.get('password')
  const alert = weak === undefined ? failure.message : `The password ${weak.join(', ')}.`
  const answer = pageAnswer(catalogue[failure.code].status, RESET, resetForm(token, alert))
  return { ...answer, headers: { ...answer.headers, ...failure.headers } }
}
