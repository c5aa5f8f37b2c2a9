/** Where the journal stood at a time: the place of its last change. */
interface JournalMark {
  readonly time: string
  readonly seq: number
}

/** So many are kept. Past that, every second one goes. */
const MARKS_MAX = 400
const DAY_MS = 24 * 60 * 60_000

/**
 * When the journal had come how far, by a clock that was believed. Changes carry the time of whatever clock there was, and
 * that may have been wrong; between which marks a change stands tells when it was made at the earliest, and at the latest.
 */
export class Marks {
  /** Oldest first. */
  readonly #marks: readonly JournalMark[]

  private constructor(marks: readonly JournalMark[]) {
    this.#marks = marks
  }

  static read(text: string | undefined): Marks {
    return new Marks(text === undefined ? [] : (JSON.parse(text) as JournalMark[]))
  }

  toString(): string {
    return JSON.stringify(this.#marks)
  }

  /** With one more. A clock that is behind the last one says nothing. */
  with(mark: JournalMark): Marks {
    const last = this.#marks.at(-1)
    if (last !== undefined && (mark.time <= last.time || mark.seq < last.seq)) return this
    const marks = [...(this.#isLastSettled ? this.#marks : this.#marks.slice(0, -1)), mark]
    const keeps = (at: number) => at % 2 === 0 || at === marks.length - 1
    return new Marks(marks.length > MARKS_MAX ? marks.filter((_, at) => keeps(at)) : marks)
  }

  /** The last one is as new as can be; those before it are a day apart, or more where they reach far back. */
  get #isLastSettled(): boolean {
    const [first, former, last] = [this.#marks[0], this.#marks.at(-2), this.#marks.at(-1)]
    if (first === undefined || former === undefined || last === undefined) return true
    return apart(former, last) >= Math.max(DAY_MS, (2 * apart(first, last)) / MARKS_MAX)
  }

  /** Changes up to this place were made before the time. */
  surelyBefore(time: string): number {
    return this.#marks.findLast((mark) => mark.time <= time)?.seq ?? 0
  }

  /** Changes behind this place were made after the time. */
  surelyAfter(time: string): number {
    return this.#marks.find((mark) => mark.time > time)?.seq ?? Number.MAX_SAFE_INTEGER
  }
}

function apart(former: JournalMark, later: JournalMark): number {
  return Date.parse(later.time) - Date.parse(former.time)
}
