/** The place of the last change in the journal at a time. */
interface JournalMark {
  readonly time: string
  readonly seq: number
}

/** The maximum number of marks. Beyond it, every second one is removed. */
const MARKS_MAX = 400
const DAY_MS = 24 * 60 * 60_000

/**
 * The length of the journal at certain times, by a trusted clock. The time of a change itself may come from a wrong
 * clock. The marks before and after a change say when it was made at the earliest and at the latest.
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

  /** Adds a mark. A time before the last mark is ignored. */
  with(mark: JournalMark): Marks {
    const last = this.#marks.at(-1)
    if (last !== undefined && (mark.time <= last.time || mark.seq < last.seq)) return this
    const marks = [...(this.#isLastSettled ? this.#marks : this.#marks.slice(0, -1)), mark]
    const keeps = (at: number) => at % 2 === 0 || at === marks.length - 1
    return new Marks(marks.length > MARKS_MAX ? marks.filter((_, at) => keeps(at)) : marks)
  }

  /** Whether to keep the last mark, not replace it: marks are a day apart, or more if they reach far back. */
  get #isLastSettled(): boolean {
    const [first, former, last] = [this.#marks[0], this.#marks.at(-2), this.#marks.at(-1)]
    if (first === undefined || former === undefined || last === undefined) return true
    return apart(former, last) >= Math.max(DAY_MS, (2 * apart(first, last)) / MARKS_MAX)
  }

  /** The place up to which all changes were made before the time. */
  surelyBefore(time: string): number {
    return this.#marks.findLast((mark) => mark.time <= time)?.seq ?? 0
  }

  /** The place after which all changes were made after the time. */
  surelyAfter(time: string): number {
    return this.#marks.find((mark) => mark.time > time)?.seq ?? Number.MAX_SAFE_INTEGER
  }
}

function apart(former: JournalMark, later: JournalMark): number {
  return Date.parse(later.time) - Date.parse(former.time)
}
