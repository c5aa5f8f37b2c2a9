import { closest, didYouMean } from './closest.ts'
import type { JobType } from './model.ts'
import type { Problems } from './problems.ts'
import { isRecord } from './record.ts'

/** The pattern for job names. A job's writes are by `jobs/<name>`. */
const JOB_NAME = /^[a-z][a-z0-9_-]{0,62}$/
const OPTIONS = ['every', 'zone', 'run']
const UTC = 'UTC'

export function resolveJobs(declared: unknown, problems: Problems): JobType[] {
  if (declared === undefined) return []
  if (!isRecord(declared)) {
    problems.push(['jobs', "must be jobs by name: { nightly: { every: '0 3 * * *', run() { … } } }"])
    return []
  }
  return Object.entries(declared).flatMap(([name, job]) => resolveJob(name, job, problems) ?? [])
}

function resolveJob(name: string, job: unknown, problems: Problems): JobType | undefined {
  const at = `jobs.${name}`
  if (!JOB_NAME.test(name))
    problems.push([at, 'must be named with lower-case letters, digits, _ and -, starting with a letter'])
  if (!isRecord(job) || typeof job.run !== 'function') {
    problems.push([at, "must be a job: { every: '0 3 * * *', async run({ api }) { … } }"])
    return undefined
  }
  for (const option of Object.keys(job))
    if (!OPTIONS.includes(option))
      problems.push([`${at}.${option}`, `is not an option of a job${didYouMean(option, OPTIONS)}`])
  const zone = resolveZone(job.zone, at, problems)
  const next = resolveTimes(job.every, zone, at, problems)
  if (next === undefined) return undefined
  const run = (call: object) => (job as { run(call: object): unknown }).run(call)
  return { name, every: String(job.every), zone, next, run }
}

function resolveZone(zone: unknown = UTC, at: string, problems: Problems): string {
  if (typeof zone === 'string' && isZone(zone)) return zone
  const guess = closest(String(zone), Intl.supportedValuesOf('timeZone'))
  const hint = guess === undefined ? "use a name such as 'Europe/Berlin'" : `did you mean '${guess}'?`
  problems.push([`${at}.zone`, `is not a time zone: ${hint}`])
  return UTC
}

function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return true
  } catch {
    return false
  }
}

/** Returns a function that gives the next time after another, daylight saving time included. */
function resolveTimes(
  every: unknown,
  tz: string,
  at: string,
  problems: Problems,
): JobType['next'] | undefined {
  const expected =
    "must be five fields: minute, hour, day, month, weekday, such as '0 3 * * *' for every night at three"
  if (typeof every !== 'string') {
    problems.push([`${at}.every`, expected])
    return undefined
  }
  const next = (after: Date) => Bun.cron.parse(every, after, { tz })
  try {
    if (next(new Date(0)) === null) problems.push([`${at}.every`, 'never happens: there is no such date'])
  } catch (error) {
    const [, reason] = /Invalid cron expression: (.*)$/.exec((error as Error).message) ?? []
    problems.push([`${at}.every`, reason === undefined ? expected : `${expected} (${plain(reason)})`])
  }
  return (after) => next(after) ?? new Date(8.64e15)
}

/** Removes the parts of an error that mention Bun. */
function plain(reason: string): string {
  return reason.replace(/\. Bun.*$/, '').replace(/: .*$/, '')
}
