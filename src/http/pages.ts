/** A page for people, served as it is. */
export interface Page {
  readonly path: string
  respond(request: Request): Response
}

/** Nothing from elsewhere is loaded, nothing inline is run but what the page brings along. */
export function htmlPage(path: string, html: string): Page {
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy':
      "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-cache',
  }
  return {
    path,
    respond: ({ method }) =>
      method === 'GET' || method === 'HEAD'
        ? new Response(html, { headers })
        : new Response(null, { status: 405, headers: { Allow: 'GET, HEAD' } }),
  }
}
