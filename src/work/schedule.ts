import { budget } from '../budget.ts'

/** When something runs again: so many milliseconds after its last start, or at its own time. */
export type Schedule = { readonly every: number } | { next(after: Date): Date }

const MINUTE = 60_000

/** The next regular time after a run that began at `began`; never before `now`. */
export function nextTime(schedule: Schedule, began: number, now: number): number {
  return 'every' in schedule ? Math.max(began + schedule.every, now) : schedule.next(new Date(now)).getTime()
}

/** The very first time: now, or at its own time. */
export function firstTime(schedule: Schedule, now: number): number {
  return 'every' in schedule ? now : schedule.next(new Date(now)).getTime()
}

/**
 * How far ahead the next time can be. A later one was written by a wrong clock, or for another schedule: without this
 * limit, the work would wait for it.
 */
export function longestWait(schedule: Schedule, failures: number, now: number): number {
  const regular = nextTime(schedule, now, now) - now
  return failures === 0 ? regular : Math.max(regular, longestPause(regular))
}

/** After an error, recurring work is retried at its next regular time or sooner, but not every second for ever. */
export function longestPause(regular: number): number {
  return Math.min(Math.max(regular, MINUTE), budget.workPauseMs)
}

/** The pause after so many failures in a row: it doubles. Some jitter keeps retries from coming all at once. */
export function pauseAfter(failures: number, longest: number = budget.workPauseMs): number {
  const doubled = 1000 * 2 ** Math.min(failures - 1, 30)
  return Math.round(Math.min(longest, doubled * (1 + Math.random() / 4)))
}
