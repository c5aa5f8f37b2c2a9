import type { LinkKind } from '../../declare/mail.ts'
import { passwordMin } from '../../declare/model.ts'
import { Failure } from '../../errors.ts'
import type { Call } from '../call.ts'
import type { Answer, Context } from '../context.ts'
import { findLinked, type Linked, type LinkRequest } from './account-link.ts'
import { AccountHtml } from './account-page-html.ts'
import { confirmEmail, revertEmail } from './email-change.ts'
import { PASSWORD_LINKS, resetPassword } from './reset.ts'
import { verifyAddress } from './verify.ts'

/** A page with a form that works without scripts. Mails link to it, unless the app has its own pages. */
export interface AccountPage {
  readonly path: string
  /** Shows the form if the link is valid. Changes nothing: programs that scan mails follow links, too. */
  show(context: Context, call: Call): Promise<Answer>
  /** Handles the submitted form. */
  submit(context: Context, call: Call): Promise<Answer>
}

/** A page that shows a failure to a person in a browser. */
export function messagePage(context: Context, call: Call, failure: Failure): Answer {
  const html = new AccountHtml(context, call)
  return html.refused(html.texts.failed, failure)
}

interface PasswordForm {
  readonly kind: LinkKind
  readonly token: string
  readonly linked: Linked
}

function passwordForm(html: AccountHtml, { kind, token, linked }: PasswordForm, refused?: Failure): Answer {
  const { texts } = html
  const min = passwordMin(linked.plan.type)
  const hint = min === undefined ? '' : `<small id="hint">${texts.atLeast(min)}</small>`
  const described = hint === '' ? '' : ' aria-describedby="hint"'
  const form = `<form method="post" action="${kind}">
<input type="hidden" name="token" value="${Bun.escapeHTML(token)}">
<label>${texts.newPassword} <input type="password" name="password" autocomplete="new-password" required autofocus${described}>${hint}</label>
<button>${texts.buttons[kind]}</button>
</form>`
  const alert = refused === undefined ? '' : html.alert(html.explain(refused))
  return html.page(texts.titles[kind], `${alert}${form}`, refused)
}

/** Reads the submitted form, and makes the request that the API would get. */
async function formOf(call: Call): Promise<{ form: URLSearchParams; request: Omit<LinkRequest, 'body'> }> {
  const { address, signal } = call
  const recordAccount = (digest: string) => call.recordAccount(digest)
  const form = new URLSearchParams(await new Response(call.bytes).text())
  return { form, request: { address, signal, note: null, recordAccount } }
}

function tokenOf(call: Call): string {
  return call.query.take(new Map(), () => {}).link ?? ''
}

/** Shows the form if the link is valid, else a message: nobody should fill in a form for nothing. */
async function ifValid(
  context: Context,
  call: Call,
  purposes: readonly LinkKind[],
  form: (html: AccountHtml, linked: Linked) => Answer,
): Promise<Answer> {
  const html = new AccountHtml(context, call)
  const linked = await findLinked(context, purposes, tokenOf(call))
  return linked === undefined
    ? html.refused(html.texts.failed, new Failure('invalid_link'))
    : form(html, linked)
}

function passwordPage(kind: LinkKind): AccountPage {
  return {
    path: `/account/${kind}`,
    show: (context, call) =>
      ifValid(context, call, PASSWORD_LINKS, (html, linked) =>
        passwordForm(html, { kind, token: tokenOf(call), linked }),
      ),
    async submit(context, call) {
      const html = new AccountHtml(context, call)
      const { form, request } = await formOf(call)
      const token = form.get('token') ?? ''
      try {
        await resetPassword(context, { ...request, body: { token, password: form.get('password') ?? '' } })
        return html.done(html.texts.titles[kind], html.texts.passwordSet)
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        // If the link is not valid, another password does not help.
        const linked =
          error.code === 'invalid_link' ? undefined : await findLinked(context, PASSWORD_LINKS, token)
        if (linked === undefined) return html.refused(html.texts.failed, error)
        return passwordForm(html, { kind, token, linked }, error)
      }
    },
  }
}

/** A page with a button only. */
function buttonPage(
  kind: LinkKind,
  run: (context: Context, request: LinkRequest) => Promise<Answer>,
): AccountPage {
  return {
    path: `/account/${kind}`,
    show: (context, call) =>
      ifValid(context, call, [kind], (html) =>
        html.page(
          html.texts.titles[kind],
          `<form method="post" action="${kind}">
<input type="hidden" name="token" value="${Bun.escapeHTML(tokenOf(call))}">
<button autofocus>${html.texts.buttons[kind]}</button>
</form>`,
        ),
      ),
    async submit(context, call) {
      const html = new AccountHtml(context, call)
      const title = html.texts.titles[kind]
      const { form, request } = await formOf(call)
      try {
        const { body } = await run(context, { ...request, body: { token: form.get('token') ?? '' } })
        const { message } = JSON.parse(body ?? '{}') as { message: string }
        return html.done(title, html.texts.whole('', message))
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        return html.refused(title, error)
      }
    },
  }
}

export const accountPages: readonly AccountPage[] = [
  passwordPage('reset'),
  passwordPage('invite'),
  buttonPage('verify', verifyAddress),
  buttonPage('email', confirmEmail),
  buttonPage('revert', revertEmail),
]
