import type { Route } from './route.ts'

/** A page for people, served as it is: nothing from elsewhere is loaded, and no script runs but the one with this hash. */
export function htmlPage(path: string, html: () => string, scriptHash: string): Route {
  const run = () => ({
    status: 200,
    body: html(),
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': `default-src 'none'; script-src '${scriptHash}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      'Cache-Control': 'no-cache',
    },
  })
  return { path, methods: { GET: { body: false, page: true, run } } }
}

export function redirect(path: string, to: string): Route {
  const run = () => ({ status: 302, headers: { Location: to } })
  return { path, methods: { GET: { body: false, page: true, run } } }
}
