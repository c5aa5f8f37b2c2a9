import { closeSync, fdatasyncSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'

/**
 * What a Store last said about its database, in a small file beside it. It is never newer than what is on disk: it is
 * written behind each commit, without a sync of its own.
 */
export interface Marked {
  /** `closed`: all of it is in the file itself. `lost`: a write or a sync has failed, and the system's cache may be wrong. */
  readonly state: 'open' | 'closed' | 'lost'
  /** The last change of the journal that is on disk, at least. */
  readonly seq: number
}

/** Always as long, so that it is overwritten where it is: that needs no space, so it works on a full disk. */
const DIGITS = 16

export function markFile(path: string): string {
  return `${path}.mark`
}

/** Undefined where nothing was ever said, or where it cannot be read: then it proves nothing. */
export function readMark(path: string): Marked | undefined {
  try {
    const { state, seq } = JSON.parse(readFileSync(markFile(path), 'utf8')) as Record<string, unknown>
    if (state !== 'open' && state !== 'closed' && state !== 'lost') return undefined
    return { state, seq: Number.isSafeInteger(seq) ? Number(seq) : 0 }
  } catch {
    return undefined
  }
}

/**
 * Writes the mark. It is evidence and nothing more, so a mark that cannot be written stops nobody: where the disk is
 * broken, the next commit says so.
 */
export class Mark {
  readonly #path: string
  #descriptor: number | undefined
  #seq: number

  constructor(path: string, seq: number) {
    this.#path = path
    this.#seq = seq
    this.#try(() => {
      this.#descriptor = openSync(markFile(path), 'a+', 0o600)
      // Appending ignores positions: opened again, now that it is there.
      closeSync(this.#descriptor)
      this.#descriptor = openSync(markFile(path), 'r+')
    })
    this.#write('open')
    this.sync()
  }

  /** After a commit: the journal is on disk as far as this. */
  reached(seq: number): void {
    this.#seq = seq
    this.#write('open')
  }

  lost(): void {
    this.#write('lost')
  }

  /** What was said so far outlives a power cut. */
  sync(): void {
    this.#try(() => {
      if (this.#descriptor !== undefined) fdatasyncSync(this.#descriptor)
    })
  }

  /** Once the database is closed. Others may have it open, and then the log is theirs. */
  close(): void {
    const { size = 0 } = statSync(`${this.#path}-wal`, { throwIfNoEntry: false }) ?? {}
    if (size === 0) this.#write('closed')
    this.release()
  }

  /** Says nothing more. */
  release(): void {
    this.#try(() => {
      if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    })
    this.#descriptor = undefined
  }

  #write(state: Marked['state']): void {
    const text = `{"state":${`"${state}"`.padEnd(8)},"seq":${String(this.#seq).padStart(DIGITS)}}\n`
    this.#try(() => {
      if (this.#descriptor !== undefined) writeSync(this.#descriptor, text, 0)
    })
  }

  #try(work: () => void): void {
    try {
      work()
    } catch {}
  }
}
