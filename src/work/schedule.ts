import { budget } from '../budget.ts'

/** When something runs again: so many milliseconds after its last start, or at its own times. */
export type Schedule = { readonly every: number } | { next(after: Date): Date }

const MINUTE = 60_000

/** The next regular time after a run that began at `began`; never before `now`. */
export function nextTime(schedule: Schedule, began: number, now: number): number {
  return 'every' in schedule ? Math.max(began + schedule.every, now) : schedule.next(new Date(now)).getTime()
}

/** The first time: now, or the first of its own times. */
export function firstTime(schedule: Schedule, now: number): number {
  return 'every' in schedule ? now : schedule.next(new Date(now)).getTime()
}

/**
 * The longest possible wait for the next time. A later time was written by a wrong clock, or for another schedule.
 * Without this limit, the work would wait for it.
 */
export function longestWait(schedule: Schedule, failures: number, now: number): number {
  const regular = nextTime(schedule, now, now) - now
  return failures === 0 ? regular : Math.max(regular, longestPause(regular))
}

/** The longest pause after an error: until the next regular time, but at least a minute, and at most `workPauseMs`. */
export function longestPause(regular: number): number {
  return Math.min(Math.max(regular, MINUTE), budget.workPauseMs)
}

/** The pause after so many failures in a row. It doubles each time. Jitter keeps retries from coming all at once. */
export function pauseAfter(failures: number, longest: number = budget.workPauseMs): number {
  const doubled = 1000 * 2 ** Math.min(failures - 1, 30)
  return Math.round(Math.min(longest, doubled * (1 + Math.random() / 4)))
}
