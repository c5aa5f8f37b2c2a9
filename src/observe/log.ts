import type { Events, ServerEvent } from './events.ts'
import { type Line, lineOf } from './lines.ts'
import { LogOutput } from './log-output.ts'
import type { Observer } from './observer.ts'

export type LogFormat = 'pretty' | 'json'

type Write = (text: string, done?: () => void) => void

const STANDARD_OUTPUT = 1
const CLOSE_MS = 1000

/** Makes a log of all events of an Observer. */
export function logOf(observer: Observer, format: LogFormat, write?: Write): Log {
  const output = new LogOutput(STANDARD_OUTPUT, {
    dropped: (lines) => observer.emit({ kind: 'log_lines_dropped', lines }),
    notice: (dropped) => log.droppedNotice(dropped),
  })
  const log = new Log(format, write ?? ((text, done) => output.write(text, done)))
  observer.subscribe((event) => log.take(event))
  return log
}

/** Structured lines on standard output. They are buffered for a moment, so that a busy server writes less often. */
export class Log {
  readonly #format: LogFormat
  readonly #write: Write
  #lines: string[] = []
  #time = { at: 0, text: '' }

  constructor(format: LogFormat, write: Write) {
    this.#format = format
    this.#write = write
  }

  take(event: ServerEvent): void {
    if (event.kind === 'request_answered') this.#request(event)
    else this.#tell(lineOf(event.kind, event))
  }

  /** Prints a text for people, unchanged. */
  print(text: string): void {
    this.#put(text)
    this.flush()
  }

  flush(): void {
    const lines = this.#lines
    if (lines.length === 0) return
    this.#lines = []
    this.#write(`${lines.join('\n')}\n`)
  }

  /** Resolves when everything is written, or when nobody reads it. */
  close(): Promise<void> {
    this.flush()
    return Promise.race([new Promise<void>((done) => this.#write('', done)), Bun.sleep(CLOSE_MS)])
  }

  /** The line before the first one that could be written again. */
  droppedNotice(dropped: number): string {
    const lines = dropped === 1 ? '1 line of the log' : `${dropped} lines of the log`
    const line: Line = { level: 'warning', message: `${lines} could not be written`, fields: { dropped } }
    const time = new Date().toISOString()
    return `${this.#format === 'json' ? lineJson(line, time) : prettyOf(line, time)}\n`
  }

  #request({
    method,
    path,
    status,
    ms,
    requestId,
    actor,
    address,
    account,
    tool,
  }: Events['request_answered']): void {
    const time = this.#now()
    const took = Math.round(ms * 10) / 10
    this.#put(
      this.#format === 'json'
        ? `{"time":"${time}","method":"${method}","path":${JSON.stringify(path)},"status":${status},"ms":${took},"request_id":"${requestId}","actor":${actor === null ? null : `"${actor}"`},"address":"${address}"${account === undefined ? '' : `,"login":"${outcomeOf(status)}","account":"${account}"`}${tool === undefined ? '' : `,"tool":"${tool.name}","tool_status":${tool.status}`}}`
        : `${time.slice(11, 23)}  ${status}  ${method.padEnd(6)} ${clean(path)}  ${took} ms  ${actor ?? '-'}  ${address}  ${requestId}${account === undefined ? '' : `  login ${outcomeOf(status)}  account ${account}`}${tool === undefined ? '' : `  tool ${tool.name} ${tool.status}`}`,
    )
  }

  #tell(line: Line | undefined): void {
    if (line === undefined) return
    const time = new Date().toISOString()
    this.#put(this.#format === 'json' ? lineJson(line, time) : prettyOf(line, time))
    if (line.level === 'info' || (line.level === 'error' && line.last)) this.flush()
  }

  /** Formats the time once per millisecond, which many requests share. */
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

function lineJson(line: Line, time: string): string {
  const { level, message } = line
  if (level === 'info') return JSON.stringify({ time, message, ...line.fields })
  if (level === 'warning') return JSON.stringify({ time, level: 'warn', message, ...line.fields })
  const { requestId, error } = line
  const request = requestId === undefined ? {} : { request_id: requestId }
  return JSON.stringify({ time, level, message, ...request, detail: detailOf(error) })
}

function prettyOf(line: Line, time: string): string {
  const { level, message } = line
  if (level === 'info') return message
  const clock = time.slice(11, 23)
  if (level === 'warning') return `${clock}  warning  ${message}`
  const request = line.requestId === undefined ? '' : `  ${line.requestId}`
  return `${clock}  error  ${message}${request}\n${detailOf(line.error)}`
}

function detailOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** The outcome of a login. */
function outcomeOf(status: number): string {
  if (status === 200) return 'ok'
  if (status === 422) return 'failed'
  return status === 429 ? 'throttled' : 'error'
}

/** Escapes control characters, which a path must not send to a terminal. */
function clean(text: string): string {
  return text.toWellFormed().replace(/[^\x20-\x7e]/gu, (character) => encodeURIComponent(character))
}
