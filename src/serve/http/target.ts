import { Failure } from '../../errors.ts'

interface Target {
  readonly path: string
  /** The query without its question mark. */
  readonly search: string
}

/**
 * Returns the path and query of a request's URL, as they were sent. It is not always a URL: Bun leaves out an empty or
 * missing host, and has only the authority for CONNECT.
 */
export function targetOf(url: string): Target {
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  const whole = start < 0 ? url : url.slice(start)
  const mark = whole.indexOf('?')
  return mark < 0
    ? { path: whole, search: '' }
    : { path: whole.slice(0, mark), search: whole.slice(mark + 1) }
}

/** A name or an address, with or without a port (RFC 3986, section 3.2). Two headers arrive as one, with a comma. */
const HOST = /^(?:[\w.~!$&'()*+;=%-]*|\[[\dA-Fa-f:.]+\])(?::\d*)?$/

/** Throws if `Host` is invalid or sent twice (RFC 9112, section 3.2). HTTP/1.0 requests have none. */
export function refuseHost(host: string | null): void {
  if (host === null || HOST.test(host)) return
  throw new Failure('malformed_header', {
    errors: new Map([['Host', ['must be sent once, as a name or an address, with or without a port']]]),
    headers: { Connection: 'close' },
  })
}
