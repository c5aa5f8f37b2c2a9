import { LogOutput } from './log-output.ts'

export type LogFormat = 'pretty' | 'json'

/** One request, as it stands in the log. */
interface Entry {
  readonly method: string
  /** With its query, but never with a token. */
  readonly path: string
  readonly status: number
  readonly ms: number
  readonly requestId: string
  readonly actor: string | null
  /** Of the client, in one spelling. */
  readonly address: string
  /** For a login: the digest of the account. */
  readonly account?: string | undefined
}

const STANDARD_OUTPUT = 1
const CLOSE_MS = 1000

/** Structured lines on standard output, gathered for a moment so that a busy server does not write for each of them. */
export class Log {
  readonly #format: LogFormat
  readonly #write: (text: string, done?: () => void) => void
  #lines: string[] = []
  #time = { at: 0, text: '' }

  constructor(format: LogFormat, write?: (text: string, done?: () => void) => void) {
    this.#format = format
    const output = new LogOutput(STANDARD_OUTPUT, (dropped) => this.#dropped(dropped))
    this.#write = write ?? ((text, done) => output.write(text, done))
  }

  /** Text for people, as it is. */
  print(text: string): void {
    this.#put(text)
    this.flush()
  }

  /** Something to say that is about no request. */
  say(message: string, fields: Readonly<Record<string, string>>): void {
    const time = new Date().toISOString()
    this.#put(this.#format === 'json' ? JSON.stringify({ time, message, ...fields }) : message)
    this.flush()
  }

  request({ method, path, status, ms, requestId, actor, address, account }: Entry): void {
    const time = this.#now()
    const took = Math.round(ms * 10) / 10
    this.#put(
      this.#format === 'json'
        ? `{"time":"${time}","method":"${method}","path":${JSON.stringify(path)},"status":${status},"ms":${took},"request_id":"${requestId}","actor":${actor === null ? null : `"${actor}"`},"address":"${address}"${account === undefined ? '' : `,"login":"${outcomeOf(status)}","account":"${account}"`}}`
        : `${time.slice(11, 23)}  ${status}  ${method.padEnd(6)} ${clean(path)}  ${took} ms  ${actor ?? '-'}  ${address}  ${requestId}${account === undefined ? '' : `  login ${outcomeOf(status)}  account ${account}`}`,
    )
  }

  /** Something that goes on, but that somebody should mend. */
  warn(message: string): void {
    this.#put(this.#warning(message, {}))
  }

  #warning(message: string, fields: Readonly<Record<string, number>>): string {
    const time = new Date().toISOString()
    return this.#format === 'json'
      ? JSON.stringify({ time, level: 'warn', message, ...fields })
      : `${time.slice(11, 23)}  warning  ${message}`
  }

  #dropped(dropped: number): string {
    const lines = dropped === 1 ? '1 line of the log' : `${dropped} lines of the log`
    return `${this.#warning(`${lines} could not be written`, { dropped })}\n`
  }

  error(message: string, cause: unknown, requestId?: string): void {
    const detail = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
    const time = new Date().toISOString()
    this.#put(
      this.#format === 'json'
        ? JSON.stringify({
            time,
            level: 'error',
            message,
            ...(requestId !== undefined && { request_id: requestId }),
            detail,
          })
        : `${time.slice(11, 23)}  error  ${message}${requestId === undefined ? '' : `  ${requestId}`}\n${detail}`,
    )
  }

  flush(): void {
    const lines = this.#lines
    if (lines.length === 0) return
    this.#lines = []
    this.#write(`${lines.join('\n')}\n`)
  }

  /** Resolves when everything has left, or when nobody takes it. */
  close(): Promise<void> {
    this.flush()
    return Promise.race([new Promise<void>((done) => this.#write('', done)), Bun.sleep(CLOSE_MS)])
  }

  /** Many requests fall into one millisecond. */
  #now(): string {
    const now = Date.now()
    if (now !== this.#time.at) this.#time = { at: now, text: new Date(now).toISOString() }
    return this.#time.text
  }

  #put(line: string): void {
    if (this.#lines.push(line) === 1) setTimeout(() => this.flush(), 50)
    else if (this.#lines.length >= 500) this.flush()
  }
}

/** What became of a login. */
function outcomeOf(status: number): string {
  if (status === 200) return 'ok'
  if (status === 422) return 'failed'
  return status === 429 ? 'throttled' : 'error'
}

/** A terminal must not be steered by what stands in a path. */
function clean(text: string): string {
  return text.toWellFormed().replace(/[^\x20-\x7e]/gu, (character) => encodeURIComponent(character))
}
