import type { Events } from './events.ts'

/** A line of the log that is not about an answer. */
export type Line =
  /** Information for people, with fields for programs. */
  | {
      readonly level: 'info'
      readonly message: string
      readonly fields?: Readonly<Record<string, string>>
    }
  /** Something that does not stop the server, but should be fixed. */
  | {
      readonly level: 'warning'
      readonly message: string
      readonly fields?: Readonly<Record<string, number>>
    }
  | {
      readonly level: 'error'
      readonly message: string
      readonly error: unknown
      readonly requestId?: string
      /** Whether the process is about to end. */
      readonly last?: boolean
    }

/** Events with a plain line. */
type Plain = Omit<Events, 'request_answered'>

/** Returns the line for an event; undefined if it has none. */
export function lineOf<Kind extends keyof Plain>(kind: Kind, event: Plain[Kind]): Line | undefined {
  return lines[kind](event)
}

const info = (message: string, fields?: Readonly<Record<string, string>>): Line =>
  fields === undefined ? { level: 'info', message } : { level: 'info', message, fields }

const lines: { readonly [Kind in keyof Plain]: (event: Plain[Kind]) => Line | undefined } = {
  request_failed: (event) => ({ level: 'error', ...event }),
  code_failed: ({ error }) => ({
    level: 'error',
    message: 'Code in the declaration failed, and nothing waited for it: is an "await" missing?',
    error,
  }),
  provider_login_failed: ({ provider, code, reasons }) => ({
    level: 'warning',
    message: `A login through ${provider} failed (${code}): ${reasons.join('; ')}`,
  }),
  reaction_loop: ({ actor, operation }) => ({
    level: 'warning',
    message: `A loop of reactions was stopped: operation ${operation} by ${actor} ends a long chain of reactions to each other. Nothing reacts to it.`,
  }),
  credential_changed: ({ what, account, change, by }) =>
    info(`${what} of ${account} was ${change} by ${by}.`),
  proxy_not_trusted: ({ peer }) => ({
    level: 'warning',
    message: `A request has X-Forwarded-For, but no proxy is trusted: all clients behind a proxy count as one address. If ${peer} is your proxy, start with --trusted-proxies ${peer}.`,
  }),

  ready({ url, database, console, docs }) {
    const page = console === undefined ? '' : ` Console: ${console}`
    const reference = docs === undefined ? '' : ` API reference: ${docs}`
    return info(`Takeback is ready at ${url}, with the data in ${database}.${page}${reference}`, {
      url,
      database,
    })
  },
  database_exposed: ({ files }) =>
    info(`Others on this machine can open the database: run "chmod 600 ${files.join(' ')}"`),
  denials_explained: () =>
    info('Refusals name the rules behind them (--explain-denials): for development only'),
  stopping: ({ ms }) => info(`Takeback stops in ${ms / 1000} s: /api/health answers 503`),
  stopped: () => info('Takeback has stopped'),
  database_lost: ({ error }) => ({
    level: 'error',
    message: 'Writing to the database failed: Takeback stops, and the next start reads what is on disk',
    error,
    last: true,
  }),
  // Not logged: health checks show it, and every failed request is logged.
  database_away: () => undefined,
  database_back: () => undefined,

  work_done: () => undefined,
  work_failed: ({ work, error }) => ({
    level: 'error',
    message: failures[work] ?? `The background work "${work}" failed`,
    error,
  }),
  lease_lost: ({ work }) => ({
    level: 'warning',
    message: `Another instance has taken over "${work}": this one was frozen or had no connection to the database`,
  }),
  task_done: () => undefined,
  task_failed: ({ queue, id, pauseMs, error }) => ({
    level: 'warning',
    message: `Task ${id} of the queue "${queue}" failed. The next attempt is in ${Math.ceil(pauseMs / 1000)} s: ${error instanceof Error ? error.message : error}`,
  }),
  task_set_aside: ({ queue, id, attempts, error }) => ({
    level: 'error',
    message: `Task ${id} of the queue "${queue}" was set aside after ${attempts} attempts`,
    error,
  }),
  mail_written: ({ file }) =>
    info(`No mail server is set (TAKEBACK_SMTP), so a mail was written to ${file}`, { file }),
  journal_cut: ({ follower }) => ({
    level: 'warning',
    message: `Retention erased changes before "${follower}" could read them: it continues with what is left`,
  }),
  purged({ entity, id, entities, operation }) {
    const all = entities > 1 ? `, ${entities} Entities in all` : ''
    return info(`Purged by retention: ${entity}/${id}${all}`, {
      actor: 'system',
      entity,
      id: String(id),
      entities: String(entities),
      operation,
    })
  },
  clock_doubted: ({ doubt }) =>
    info(`${doubt}. Nothing is erased until somebody confirms the clock with "takeback retention confirm".`, {
      level: 'warning',
    }),
  journal_ahead: ({ until, ms }) => ({
    level: 'warning',
    message: `The journal has times up to ${until}, ${spanOf(ms)} ahead of the clock: the clock was wrong then, or is wrong now. New changes get the time that the clock shows now.`,
    fields: { ms },
  }),
  backup_made: ({ file, bytes, rows, lastChange, ms }) =>
    info(`Backed up to ${file}: ${bytes} bytes, ${rows} rows`, {
      file,
      bytes: String(bytes),
      rows: String(rows),
      last_change: String(lastChange),
      ms: String(ms),
    }),
  backup_removed: ({ file }) => info(`Removed the old backup ${file}`, { file }),
  rates_not_exchanged: ({ error }) => ({
    level: 'error',
    message: 'Instances could not share their rate limit counts',
    error,
  }),
  // The log reports this itself, once it can write again.
  log_lines_dropped: () => undefined,
}

/** Formats a time in days, hours, minutes or seconds, whichever fits best. */
function spanOf(ms: number): string {
  const units = [
    ['days', 86_400_000],
    ['hours', 3_600_000],
    ['minutes', 60_000],
  ] as const
  for (const [name, one] of units) if (ms >= 2 * one) return `${Math.round(ms / one)} ${name}`
  return `${Math.round(ms / 1000)} seconds`
}

/** The line for failed background work, by name. */
const failures: Readonly<Record<string, string>> = {
  retention: 'Old data could not be erased',
  backup: 'The backup failed',
}
