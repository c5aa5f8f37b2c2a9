import { budget } from '../budget.ts'

/** When something is to be done again: so many milliseconds after it was begun, or at a time of its own choice. */
export type Schedule = { readonly every: number } | { next(after: Date): Date }

const MINUTE = 60_000

/** The next regular time after a run that began at `began`; never before `now`. */
export function nextTime(schedule: Schedule, began: number, now: number): number {
  return 'every' in schedule ? Math.max(began + schedule.every, now) : schedule.next(new Date(now)).getTime()
}

/** The first time of all: what recurs is done at once, what has a time of its own waits for it. */
export function firstTime(schedule: Schedule, now: number): number {
  return 'every' in schedule ? now : schedule.next(new Date(now)).getTime()
}

/**
 * How far ahead a next time may lie. A later one was put down by a clock that was wrong, or by another schedule: without
 * this bound, the work would wait for that clock.
 */
export function longestWait(schedule: Schedule, failures: number, now: number): number {
  const regular = nextTime(schedule, now, now) - now
  return failures === 0 ? regular : Math.max(regular, longestPause(regular))
}

/** After an error, recurring work is tried again at its next regular time, or sooner; but not every second for ever. */
export function longestPause(regular: number): number {
  return Math.min(Math.max(regular, MINUTE), budget.workPauseMs)
}

/** The pause after so many failures in a row: it doubles. At random somewhat longer, so that not all come back at once. */
export function pauseAfter(failures: number, longest: number = budget.workPauseMs): number {
  const doubled = 1000 * 2 ** Math.min(failures - 1, 30)
  return Math.round(Math.min(longest, doubled * (1 + Math.random() / 4)))
}
