/**
 * Which clock to ask. A wall clock can be wrong, be set back or jump ahead, so it is asked only if nothing else will do.
 *
 * | For | Ask |
 * |---|---|
 * | durations, caches and timeouts of one process | `performance.now()`: it runs evenly and never goes back |
 * | counts of seconds or minutes among several processes: failed logins, rates | `dialect.clock`, the wall clock of the database. A time further ahead than possible was written by a wrong clock, and does not count |
 * | ages of days: kept answers, ended sessions, known places | `ServiceTime`: it runs while servers run, and no wall clock moves it |
 * | times of tokens, and times that people read: logs, names of backups | `Date.now()` |
 *
 * `test/clocks.test.ts` lists the files that ask the wall clock.
 */

/** How far ahead a correct time may be: transactions overlap, and clocks are corrected in small steps. */
export const SKEW_MS = 5000

/**
 * Whether a time that was set at most `ms` ahead has passed. A time more than twice as far ahead was set by a wrong
 * clock, and counts as passed too. The factor of two is tolerance: a small correction of a clock must not end anything.
 */
export function hasPassed(moment: number, ms: number, now = Date.now()): boolean {
  return moment <= now || moment > now + 2 * ms
}
