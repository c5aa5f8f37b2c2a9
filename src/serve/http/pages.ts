import type { AccountPage } from '../../api/account/account-pages.ts'
import type { Answer, Context } from '../../api/context.ts'
import type { Route } from './route.ts'

const HTML = 'text/html; charset=utf-8'

/** An HTML page that loads nothing from elsewhere and runs only the script with this hash. */
export function htmlPage(
  path: string,
  load: () => Promise<{ readonly html: string; readonly scriptHash: string }>,
): Route {
  return page(path, async () => {
    const { html, scriptHash } = await load()
    return {
      status: 200,
      body: html,
      type: HTML,
      headers: {
        'Content-Security-Policy': `default-src 'none'; script-src '${scriptHash}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
        'Cache-Control': 'no-cache',
      },
    }
  })
}

/** A page with a form that is sent to the same path. */
export function formPage(context: Context, { path, show, submit }: AccountPage): Route {
  const page = { body: undefined, produces: [HTML], takes: ['link'], page: true }
  return {
    path,
    methods: {
      GET: { ...page, run: (call) => show(context, call) },
      POST: { ...page, run: (call) => submit(context, call) },
    },
  }
}

export function redirect(path: string, to: string): Route {
  return page(path, () => ({ status: 302, headers: { Location: to } }))
}

function page(path: string, run: () => Answer | Promise<Answer>): Route {
  return { path, methods: { GET: { body: undefined, produces: [HTML], takes: [], page: true, run } } }
}
