import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Subprocess } from 'bun'
import { budget } from '../../budget.ts'
import { readerStart } from '../../packaging.ts'
import type { Bound, Row } from '../dialect.ts'
import { ReaderError, unavailable } from './errors.ts'
import type { ReaderAnswer, ReaderRequest } from './reader.ts'

interface WaitingRead {
  readonly request: ReaderRequest
  readonly since: number
  resolve(found: ReadRows): void
  reject(error: unknown): void
}

export interface ReadRows {
  readonly rows: readonly Row[]
  /** How long the statement itself took. */
  readonly ms: number
}

/** A process, and its current work. */
interface ReaderProcess {
  readonly process: Subprocess
  job: WaitingRead | undefined
  deadline: Timer | undefined
  idleSince: number
}

interface ReaderLimits {
  readonly most: number
  readonly queue: number
  readonly statementMs: number
  readonly idleMs: number
}

/** An idle reader ends after this time. */
const IDLE_MS = 60_000

/**
 * Processes that read for the server, each with its own connection. A slow statement does not hold up anybody else, and
 * can be stopped by ending its process. They start when they are needed. A connection sees everything committed before
 * its statement begins, and keeps nothing open between statements.
 */
export class Readers {
  readonly #path: string
  readonly #limits: ReaderLimits
  readonly #all = new Set<ReaderProcess>()
  readonly #waiting: WaitingRead[] = []
  /** Work to do while nobody reads. */
  readonly #quiet: (() => void)[] = []
  #sweep: Timer | undefined
  #closed = false

  constructor(path: string, statementMs: number, limits: Partial<ReaderLimits> = {}) {
    this.#path = path
    const most = Math.min(budget.readers, availableParallelism())
    this.#limits = { most, queue: budget.readerQueue, statementMs, idleMs: IDLE_MS, ...limits }
  }

  read(text: string, values: readonly Bound[]): Promise<ReadRows> {
    if (this.#closed || this.#waiting.length >= this.#limits.queue)
      return Promise.reject(unavailable(new Error('too many reads wait')))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request: { text, values }, since: performance.now(), resolve, reject })
      this.#dispatch()
    })
  }

  /** Runs work while nobody reads: waits for current reads, and holds new ones back. */
  whileQuiet<T>(work: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#quiet.push(() => {
      try {
        resolve(work())
      } catch (error) {
        reject(error)
      }
    })
    this.#dispatch()
    return promise
  }

  close(): void {
    this.#closed = true
    for (const job of this.#waiting.splice(0)) job.reject(unavailable(new Error('the server stops')))
    for (const reader of this.#all) this.#end(reader, new Error('the server stops'))
  }

  get figures(): { readonly reading: number; readonly waiting: number } {
    const reading = [...this.#all].filter(({ job }) => job !== undefined).length
    return { reading, waiting: this.#waiting.length }
  }

  get #isReading(): boolean {
    for (const { job } of this.#all) if (job !== undefined) return true
    return false
  }

  #dispatch(): void {
    if (this.#quiet.length > 0) {
      if (this.#isReading) return
      for (const work of this.#quiet.splice(0)) work()
    }
    for (let job = this.#waiting[0]; job !== undefined; job = this.#waiting[0]) {
      if (performance.now() - job.since > this.#limits.statementMs) {
        this.#waiting.shift()
        job.reject(unavailable(new Error(`no reader was free within ${this.#limits.statementMs} ms`)))
        continue
      }
      const reader = this.#free()
      if (reader === undefined) return
      this.#waiting.shift()
      if (reader instanceof Error) job.reject(unavailable(reader))
      else this.#run(reader, job)
    }
  }

  /** The most recently used idle reader, so that the others may end. */
  #free(): ReaderProcess | Error | undefined {
    let free: ReaderProcess | undefined
    for (const reader of this.#all)
      if (reader.job === undefined && reader.idleSince >= (free?.idleSince ?? 0)) free = reader
    return free ?? (this.#all.size < this.#limits.most ? this.#start() : undefined)
  }

  #run(reader: ReaderProcess, job: WaitingRead): void {
    const { statementMs } = this.#limits
    reader.job = job
    reader.deadline = setTimeout(
      () => this.#end(reader, new Error(`the statement took longer than ${statementMs} ms`)),
      statementMs,
    )
    try {
      reader.process.send(job.request)
    } catch (error) {
      this.#end(reader, error)
    }
  }

  /** Starts a reader; returns an error if the system cannot start another process. */
  #start(): ReaderProcess | Error {
    try {
      const { command, cwd } = readerStart(join(import.meta.dir, 'reader.ts'))
      const child = Bun.spawn([...command, this.#path, String(process.pid)], {
        cwd,
        stdio: ['ignore', 'ignore', 'inherit'],
        serialization: 'advanced',
        ipc: (answer: ReaderAnswer) => this.#take(reader, answer),
        onExit: (_, code, signal) => this.#end(reader, new Error(`a reader ended with ${signal ?? code}`)),
      })
      child.unref()
      const reader: ReaderProcess = { process: child, job: undefined, deadline: undefined, idleSince: 0 }
      this.#all.add(reader)
      this.#sweep ??= setInterval(() => this.#endIdle(), this.#limits.idleMs / 4).unref()
      return reader
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error))
    }
  }

  #take(reader: ReaderProcess, answer: ReaderAnswer): void {
    const { job } = reader
    if (job === undefined) return
    clearTimeout(reader.deadline)
    reader.job = undefined
    reader.idleSince = performance.now()
    if ('rows' in answer) job.resolve(answer)
    else job.reject(new ReaderError(answer.code, answer.message))
    this.#dispatch()
  }

  /** Ends a process, whatever it is doing. Another one starts when there is work. */
  #end(reader: ReaderProcess, why: unknown): void {
    if (!this.#all.delete(reader)) return
    clearTimeout(reader.deadline)
    reader.process.kill('SIGKILL')
    reader.job?.reject(unavailable(why))
    if (this.#all.size === 0) {
      clearInterval(this.#sweep)
      this.#sweep = undefined
    }
    this.#dispatch()
  }

  #endIdle(): void {
    const since = performance.now() - this.#limits.idleMs
    for (const reader of this.#all)
      if (reader.job === undefined && reader.idleSince < since) this.#end(reader, undefined)
  }
}
