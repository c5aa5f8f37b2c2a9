/**
 * Which clock to ask. A wall clock can be wrong, be set back or jump ahead, so it is asked only where nothing else will do.
 *
 * | For | Ask |
 * |---|---|
 * | durations, caches and timeouts of one process | `performance.now()`: it runs evenly and never goes back |
 * | counts of seconds or minutes among several processes: failed logins, rates | `dialect.clock`, the wall clock of the database. What lies further ahead than the rule allows was written by a wrong clock, and does not count |
 * | what is kept for days: answers, ended sessions, known places | `ServiceTime`: it counts while servers run, and no wall clock moves it |
 * | the times of tokens, and what people read: logs, names of backups | `Date.now()` |
 *
 * `test/clocks.test.ts` has the list of those who ask the wall clock.
 */

/** How far a time may lie ahead where nothing is wrong: transactions overlap, and clocks are corrected in small steps. */
export const SKEW_MS = 5000

/**
 * Whether a moment has passed that is set at most `ms` ahead. One that lies further ahead was set by a wrong clock: it
 * counts as passed too. Twice as far is let be, so that a clock that is corrected ends nothing.
 */
export function hasPassed(moment: number, ms: number, now = Date.now()): boolean {
  return moment <= now || moment > now + 2 * ms
}
