import type { Found } from './limit-types.ts'

type Kind = 'one' | 'new' | 'list'

/*
 * The least code of a server that distinguishes its callers, sends Takeback's headers and writes a log. Nothing is
 * checked.
 */

const common = new Headers({
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Content-Type': 'application/json',
})
const FLUSH_MS = 50
const callers = new Map<string, string>()
const output = Bun.stdout.writer()
let lines: string[] = []
let requests = 0

/** Reads the same request headers as Takeback, and answers with as many headers, as long as Takeback's. */
export function answerLikeTakeback(
  request: Request,
  kind: Kind,
  find: () => Found<string>,
): Response | Promise<Response> {
  const began = performance.now()
  const status = kind === 'new' ? 201 : 200
  const { headers, url, method } = request
  for (const name of ['host', 'x-forwarded-for', 'accept', 'if-none-match']) headers.get(name)
  const caller = callerOf(headers.get('authorization') ?? '')
  const finish = (body = '') => {
    const id = `b00ef1f4c41f-${(++requests).toString(36)}`
    const path = url.slice(url.indexOf('/', 8))
    const ms = performance.now() - began
    writeLog(JSON.stringify({ time: new Date(), method, path, status, ms, id, caller, address: '127.0.0.1' }))
    return respond(body, kind, id)
  }
  const found = find()
  return found instanceof Promise ? found.then(finish) : finish(found)
}

function callerOf(token: string): string {
  const known = callers.get(token)
  if (known === undefined) callers.set(token, 'admins/1')
  return known ?? 'admins/1'
}

function respond(body: string, kind: Kind, id: string): Response {
  const response = new Response(body, { status: kind === 'new' ? 201 : 200, headers: common })
  if (kind !== 'list') response.headers.set('ETag', `"1-${Bun.hash.rapidhash(body).toString(36)}"`)
  response.headers.set('Takeback-Position', 'b00ef1f4c41f-21002-hnlhk727uviq')
  if (kind === 'new') response.headers.set('Location', '/api/bookings/100000/')
  response.headers.set('Request-Id', id)
  return response
}

function writeLog(line: string): void {
  if (lines.push(line) === 1) setTimeout(flush, FLUSH_MS)
}

function flush(): void {
  output.write(`${lines.join('\n')}\n`)
  output.flush()
  lines = []
}
