import { closeSync, fdatasyncSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'

/**
 * The last known state of a database, in a small file beside it. It is never ahead of the disk: it is written after
 * each commit, without a sync of its own.
 */
export interface Marked {
  /** `closed`: everything is in the database file. `lost`: a write or sync failed, and the cache may be wrong. */
  readonly state: 'open' | 'closed' | 'lost'
  /** The last change of the journal that is surely on disk. */
  readonly seq: number
}

/** Its text always has the same length, so it is overwritten in place: that works even on a full disk. */
const DIGITS = 16

export function markFile(path: string): string {
  return `${path}.mark`
}

/** Undefined if there is no mark, or if it cannot be read: then it proves nothing. */
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
 * Writes the mark. It is only evidence, so a failure to write it is ignored: if the disk is broken, the next commit
 * fails.
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
      // Append mode ignores positions, so the file is opened again once it exists.
      closeSync(this.#descriptor)
      this.#descriptor = openSync(markFile(path), 'r+')
    })
    this.#write('open')
    this.sync()
  }

  /** Records that the journal is on disk up to this change. */
  reached(seq: number): void {
    this.#seq = seq
    this.#write('open')
  }

  lost(): void {
    this.#write('lost')
  }

  /** Makes the mark survive a power cut. */
  sync(): void {
    this.#try(() => {
      if (this.#descriptor !== undefined) fdatasyncSync(this.#descriptor)
    })
  }

  /** Called once the database is closed. If other processes have it open, the log is theirs. */
  close(): void {
    const { size = 0 } = statSync(`${this.#path}-wal`, { throwIfNoEntry: false }) ?? {}
    if (size === 0) this.#write('closed')
    this.release()
  }

  /** Closes the file of the mark. */
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
