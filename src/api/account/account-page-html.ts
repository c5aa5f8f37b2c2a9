import { catalogue, type Failure } from '../../errors.ts'
import type { Call } from '../call.ts'
import type { Answer, Context } from '../context.ts'
import { type PageTexts, pageTexts } from './account-page-texts.ts'

const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  // The address contains the token.
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
  Vary: 'Accept-Language',
} as const

/** The colours of the console, without its name: users see these pages as pages of the app. */
const STYLE = `:root{color-scheme:light dark;--accent:light-dark(#0d7a6f,#3fbcae);--on-accent:light-dark(#fff,#04211e);--line:light-dark(#8b8d89,#737a80)}
*{box-sizing:border-box}
body{display:grid;place-content:center;min-height:100dvh;margin:0;padding:1rem;font:16px/1.5 system-ui,sans-serif;color:light-dark(#1b1d1f,#e9eaeb);background:light-dark(#f6f6f4,#121315)}
main{display:grid;gap:1rem;width:min(24rem,calc(100vw - 2rem));padding:1.75rem;border:1px solid light-dark(#e3e3df,#2c3034);border-radius:12px;background:light-dark(#fff,#1f2225);box-shadow:0 8px 28px light-dark(#0002,#0009)}
h1{margin:0;font-size:1.25rem;line-height:1.3}
p{margin:0}
form{display:grid;gap:1rem}
label{display:grid;gap:.25rem;font-weight:600}
small{font-weight:400;color:light-dark(#5d6165,#a3a9af)}
input{width:100%;padding:.5rem .625rem;font:inherit;color:inherit;border:1px solid var(--line);border-radius:6px;background:transparent}
button,.way{padding:.5rem 1rem;font:inherit;font-weight:600;text-align:center;text-decoration:none;color:var(--on-accent);border:0;border-radius:6px;background:var(--accent);cursor:pointer}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
[role=alert]{padding:.625rem .75rem;border-radius:6px;color:light-dark(#b42318,#ff8a7a);background:light-dark(#fdecea,#3a1a17)}`

/** A page in the language of the browser, with a link to where to go next. */
export class AccountHtml {
  readonly texts: PageTexts
  readonly #context: Context

  constructor(context: Context, { languages }: Pick<Call, 'languages'>) {
    this.#context = context
    this.texts = pageTexts(languages)
  }

  page(title: string, body: string, refused?: Failure): Answer {
    return {
      status: refused === undefined ? 200 : catalogue[refused.code].status,
      type: 'text/html; charset=utf-8',
      headers: { ...HEADERS, ...refused?.headers },
      body: `<!doctype html>
<html lang="${this.texts.language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${STYLE}</style></head>
<body><main><h1>${title}</h1>
${body}
</main></body>
</html>
`,
    }
  }

  /** The page after a success, with where to go next. */
  done(title: string, says: string): Answer {
    return this.page(title, `<p role="status">${Bun.escapeHTML(says)}</p>${this.#way()}`)
  }

  /** The page after a failure: the reason, and where to go next. */
  refused(title: string, refused: Failure): Answer {
    return this.page(title, `${this.alert(this.explain(refused))}${this.#way()}`, refused)
  }

  alert(says: string): string {
    return `<p role="alert">${Bun.escapeHTML(says)}</p>`
  }

  explain({ code, message, errors }: Failure): string {
    const sentences = [...(errors ?? [])].map(([path, texts]) => {
      const name = path === 'password' ? this.texts.thePassword : path
      return `${name} ${texts.map(this.texts.sentence).join(', ')}`
    })
    return sentences.length === 0 ? this.texts.whole(code, message) : `${sentences.join('. ')}.`
  }

  /** Links to where people sign in: in the app, or in the console. */
  #way(): string {
    const { signIn } = this.#context.settings.mail
    return signIn === undefined
      ? ''
      : `\n<a class="way" href="${Bun.escapeHTML(signIn)}">${this.texts.signIn}</a>`
  }
}
