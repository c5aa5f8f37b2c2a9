import { write } from 'node:fs'
import { budget } from '../budget.ts'

const AGAIN_MS = 20

interface Watch {
  /** Called at once, each time lines are dropped. */
  dropped(lines: number): void
  /** Returns the line that says how many lines are missing, once lines can be written again. */
  notice(dropped: number): string
}

/**
 * Writes the lines of the log. Those that cannot be written are dropped and counted: a full disk, or a reader that has
 * ended or hangs, is no reason to stop serving. Once lines can be written again, the first says how many are missing.
 */
export class LogOutput {
  readonly #descriptor: number
  readonly #watch: Watch
  #waiting: string[] = []
  #characters = 0
  #whenDone: (() => void)[] = []
  #writes = false
  #dropped = 0
  /** Whether the output ends in the middle of a line. */
  #torn = false

  constructor(descriptor: number, watch: Watch) {
    this.#descriptor = descriptor
    this.#watch = watch
  }

  write(text: string, done?: () => void): void {
    if (done !== undefined) this.#whenDone.push(done)
    if (this.#characters + text.length > budget.logCharacters) this.#drop(text)
    else if (text !== '') {
      this.#waiting.push(text)
      this.#characters += text.length
    }
    this.#next()
  }

  #drop(text: string): void {
    const lines = linesIn(text)
    this.#dropped += lines
    this.#watch.dropped(lines)
  }

  #next(): void {
    if (this.#writes) return
    const text = this.#waiting.shift()
    if (text === undefined) {
      for (const done of this.#whenDone.splice(0)) done()
      return
    }
    this.#writes = true
    this.#characters -= text.length
    const dropped = this.#dropped
    const notice = dropped > 0 ? this.#watch.notice(dropped) : ''
    const bytes = Buffer.from(`${this.#torn ? '\n' : ''}${notice}${text}`)
    this.#send(bytes, (written) => {
      if (written === bytes.length) {
        this.#dropped -= dropped
        this.#torn = false
      } else {
        this.#drop(text)
        this.#torn ||= written > 0
      }
      this.#writes = false
      this.#next()
    })
  }

  /** Writes all bytes, or as many as possible, and reports how many. */
  #send(bytes: Buffer, done: (written: number) => void, from = 0): void {
    write(this.#descriptor, bytes, from, bytes.length - from, null, (error, count) => {
      if (error?.code === 'EAGAIN') setTimeout(() => this.#send(bytes, done, from), AGAIN_MS)
      else if (error !== null || from + count === bytes.length) done(from + (error === null ? count : 0))
      else this.#send(bytes, done, from + count)
    })
  }
}

function linesIn(text: string): number {
  return text.split('\n').length - 1
}
