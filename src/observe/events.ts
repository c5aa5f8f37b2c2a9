/**
 * Everything that the server reports about itself, by kind: plain values, no text for people. Consumers subscribe to an
 * Observer. A new kind is a member here, and its line of the log is one in `lines.ts`.
 */
export interface Events {
  /** A request, and its answer. */
  request_answered: {
    readonly method: string
    /** The path with its query, but never with a token. */
    readonly path: string
    readonly status: number
    readonly ms: number
    readonly requestId: string
    readonly actor: string | null
    /** The address of the client, normalised. */
    readonly address: string
    /** For a login: the digest that names the account. */
    readonly account?: string | undefined
    /** For an agent: the tool that it used, and the status that the same call has over HTTP. */
    readonly tool?: { readonly name: string; readonly status: number } | undefined
  }
  /** Our own mistake, or a database that cannot be reached. The `error` is never sent to the client. */
  request_failed: { readonly message: string; readonly error: unknown; readonly requestId: string }
  /** Reactions have caused each other too often: nothing reacts to this operation. */
  reaction_loop: { readonly actor: string; readonly operation: string }
  /** Somebody came back from a provider, but could not be logged in. Has the code of the failure and its reasons. */
  provider_login_failed: {
    readonly provider: string
    readonly code: string
    readonly reasons: readonly string[]
  }
  /** The user's code has failed while nobody was waiting for it. */
  code_failed: { readonly error: unknown }
  /** The credentials of a user were changed: by whom, and how. */
  credential_changed: {
    readonly what: 'The second factor' | 'A passkey'
    readonly account: string
    readonly change: 'set up' | 'added' | 'removed' | 'given new recovery codes'
    readonly by: string
  }
  /** A request has X-Forwarded-For, but no proxy is trusted. Emitted once. */
  proxy_not_trusted: { readonly peer: string }

  /** `console` and `docs` are the addresses of the console and of the reference, if they are served. */
  ready: {
    readonly url: string
    readonly database: string
    readonly console: string | undefined
    readonly docs: string | undefined
  }
  /** Other users of this machine can open these files of the database. */
  database_exposed: { readonly files: readonly string[] }
  /** Refusals name the rules that denied the request. */
  denials_explained: object
  /** The server goes on serving for this many milliseconds. */
  stopping: { readonly ms: number }
  stopped: object
  /** The database could not be written to: the process is about to end. */
  database_lost: { readonly error: unknown }
  /** A health check found that the database does not answer or takes no writes, or that it does again. */
  database_away: { readonly message: string }
  database_back: object

  /** Background work was done, or has failed. */
  work_done: { readonly work: string; readonly ms: number }
  work_failed: { readonly work: string; readonly error: unknown }
  /** Another instance has taken over the work of this one. */
  lease_lost: { readonly work: string }
  task_done: { readonly queue: string; readonly id: number; readonly ms: number }
  /** A task has failed, and is tried again after a pause. */
  task_failed: TaskFailure & { readonly pauseMs: number }
  /** A task has failed too often, or for good, and is not tried again. */
  task_set_aside: TaskFailure
  /** There is no SMTP server: a mail is in this file. */
  mail_written: { readonly file: string }
  /** Retention has cut changes from the journal that this follower had not read yet. */
  journal_cut: { readonly follower: string }
  /** Retention has erased an Entity from the trash, and what went with it. `entities` counts all of them. */
  purged: {
    readonly entity: string
    readonly id: number
    readonly entities: number
    readonly operation: string
  }
  /** Retention erases nothing: the clock may be wrong. */
  clock_doubted: { readonly doubt: string }
  /** The journal has times up to `until`, which is `ms` ahead of the clock. Emitted once an hour. */
  journal_ahead: { readonly until: string; readonly ms: number }
  /** A backup was made. `lastChange` is the position of the last change in it. */
  backup_made: {
    readonly file: string
    readonly bytes: number
    readonly rows: number
    readonly lastChange: number
    readonly ms: number
  }
  backup_removed: { readonly file: string }
  /** Instances could not share their rate limit counts. */
  rates_not_exchanged: { readonly error: unknown }
  /** Lines of the log that could not be written. */
  log_lines_dropped: { readonly lines: number }
}

interface TaskFailure {
  readonly queue: string
  readonly id: number
  readonly key: string | null
  /** How often the task was started. */
  readonly attempts: number
  readonly error: unknown
}

/** One event. */
export type ServerEvent = { [Kind in keyof Events]: { readonly kind: Kind } & Events[Kind] }[keyof Events]
