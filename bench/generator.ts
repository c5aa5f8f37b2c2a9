import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LoadResult } from './load.ts'
import { folder, onCore, run, type Server } from './processes.ts'

export interface Call {
  readonly method: string
  readonly path: string
  readonly body?: object
}

/** The calls to send: connections take turns, and start again at the end. */
export interface Load {
  readonly calls: readonly Call[]
  readonly connections: number
}

export const wrk = Bun.which('wrk')
export const generator = wrk === null ? 'bench/load.ts' : 'wrk'

/** More than a run of a load takes to start and to end. */
const GRACE_SECONDS = 30

/** Sends a load. Returns how many answers came in how many seconds. Every answer must be a 2xx. */
export async function drive(
  server: Server,
  token: string,
  { calls, connections }: Load,
  seconds: number,
): Promise<{ requests: number; seconds: number }> {
  const requests = calls.map((call) => format(call, server, token))
  const result =
    wrk === null
      ? await runOwn(server, { requests, connections, milliseconds: seconds * 1000 }, seconds)
      : await runWrk(wrk, server, requests, connections, seconds)
  if (result.failures > 0 || result.requests === 0)
    throw new Error(`${result.failures} of ${result.requests} answers of ${calls[0]?.path} were no 2xx.`)
  return result
}

/** Returns the latencies, in milliseconds, of calls that are sent one after the other on one connection. */
export async function time(
  server: Server,
  token: string,
  calls: readonly Call[],
): Promise<readonly number[]> {
  const requests = calls.map((call) => format(call, server, token))
  const result = await runOwn(server, { requests, connections: 1, count: calls.length }, 0)
  if (result.failures > 0) throw new Error(`${result.failures} answers of ${calls[0]?.path} were no 2xx.`)
  return result.latencies
}

function format({ method, path, body }: Call, { url }: Server, token: string): string {
  const content = body === undefined ? '' : JSON.stringify(body)
  const head = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${new URL(url).host}`,
    'Accept: application/json',
    ...(token === '' ? [] : [`Authorization: Bearer ${token}`]),
    ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${content.length}`]),
  ]
  return `${head.join('\r\n')}\r\n\r\n${content}`
}

async function runOwn(server: Server, load: object, seconds: number): Promise<LoadResult> {
  const input = JSON.stringify({ port: Number(new URL(server.url).port), ...load })
  const command = onCore('load', [process.execPath, 'bench/load.ts'])
  return JSON.parse(await run(command, seconds + GRACE_SECONDS, input)) as LoadResult
}

async function runWrk(
  wrk: string,
  { url }: Server,
  requests: readonly string[],
  connections: number,
  seconds: number,
): Promise<Omit<LoadResult, 'latencies'>> {
  const file = join(folder, 'load.lua')
  writeFileSync(file, scriptOf(requests))
  const command = [wrk, '-t1', `-c${connections}`, `-d${Math.max(1, Math.round(seconds))}s`, '-s', file, url]
  const said = await run(onCore('load', command), seconds + GRACE_SECONDS)
  const number = (pattern: RegExp) => Number(pattern.exec(said)?.[1] ?? 0)
  const [, ...broken] =
    /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(said) ?? []
  const failures = number(/Non-2xx or 3xx responses: (\d+)/) + broken.reduce((sum, n) => sum + Number(n), 0)
  const total = number(/(\d+) requests in/)
  return { requests: total, failures, seconds: total / number(/Requests\/sec:\s+([\d.]+)/) }
}

/** Returns a script for wrk. ASCII strings of JSON are valid in Lua. wrk calls `request` once without sending it. */
function scriptOf(requests: readonly string[]): string {
  return `local requests = {${requests.map((one) => JSON.stringify(one)).join(',\n')}}
local at = #requests - 1
function request()
  at = at % #requests + 1
  return requests[at]
end
`
}
