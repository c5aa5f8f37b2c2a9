import { budget } from '../budget.ts'
import type { Dialect, Row } from '../store/dialect.ts'
import { namedColumns } from '../store/named-columns.ts'
import { compile, id, intLiteral, join, param, quoted, type Sql, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { LeaseTable } from './leases.ts'
import { clockTime } from './record.ts'

const TASKS = id('takeback_tasks')

/** A condition: the row is the task of the bound lease, and the lease still holds. */
const mine = sql`"id" = ${param('$lease_key', 'integer')} AND "fence" = ${param('$lease_fence', 'integer')} AND "holder" = ${param('$lease_holder')}`

/**
 * Tasks in the database: one row each, deleted once it is done. `next_at`: when it is due; while it is held, when the
 * lease ends. It is null if another task of the same key comes first, and if the task is set aside.
 */
export interface TaskStatements {
  /** Adds the tasks of `$tasks` (see `taskParams`). Part of the transaction that causes them. */
  readonly enqueue: Step
  /** For each of these queues, when its next task is due; and a row without a name, with the clock as time. */
  due(queues: readonly string[]): Statement
  /** Up to `$most` due tasks of `$queue`: id, key. Skips those that others are taking at the same time. */
  readonly candidates: Statement
  /** The first task of each of `$keys` in `$queue`: id, key. Locks it; leaves out one that others are changing. */
  readonly heads: Statement
  /** Parks the tasks `$ids` until the one before them is done. */
  readonly park: readonly Step[]
  /** Takes the tasks `$ids` for `$lease_holder`: id, key, payload, attempts, fencing token, the clock. */
  readonly take: readonly Step[]
  /** Deletes the task; the next one of its key is due. This and the next two end the lease; refused if it is lost. */
  readonly done: readonly Step[]
  /** Makes it due again at `$next`, because of `$error`. */
  readonly retry: readonly Step[]
  /** Sets it aside because of `$error`, and makes the next one of its key due. */
  readonly setAside: readonly Step[]
  /** The number of unfinished tasks of `$queue`, counted up to the limit. */
  readonly ahead: Statement
  /** Enqueues set-aside tasks of `$queue` again: all, those with `$payload`, or only `$task`. One row for each. */
  readonly retryAside: readonly Step[]
  /** Brings forward times that are further ahead than any pause or lease: a wrong clock set them. */
  readonly hasten: readonly Step[]
  /** For each queue: the numbers of waiting, running and set-aside tasks, and the time of the oldest unfinished one. */
  readonly state: Statement
  /** Set-aside tasks of `$queue`, the oldest first: `asideTaskColumns`. */
  readonly asideOf: Statement
  /** The tasks that were set aside last: id, queue, key, time, attempts, error. */
  readonly aside: Statement
  /** A page of tasks of any queue, the newest first: `taskColumns`. */
  readonly page: Statement
  /** Makes `$task` due now, unless it is running, set aside or parked. */
  readonly hurry: readonly Step[]
  readonly leases: LeaseTable
}

/** A task that was taken, with its lease. */
export interface Taken {
  readonly id: number
  readonly key: string | null
  readonly payload: string
  /** The number of attempts, this one included. */
  readonly attempts: number
  readonly fence: number
  /** When it was taken, by the database's clock. */
  readonly clock: number
}

/** The state of a queue, for display. */
export interface QueueState {
  readonly waiting: number
  readonly running: number
  readonly aside: number
  /** The time of the oldest unfinished task. */
  readonly oldest: string | null
}

/** A filter for tasks. All given conditions must hold. */
export interface TaskFilter {
  readonly queue?: string | undefined
  readonly state?: TaskState['state'] | undefined
  /** Only tasks with smaller numbers. */
  readonly before?: number | undefined
  readonly task?: number | undefined
  readonly most: number
}

/** The state of a task, for display. */
export interface TaskState {
  readonly id: number
  readonly queue: string
  readonly key: string | null
  readonly payload: unknown
  readonly state: 'waiting' | 'running' | 'aside'
  /** How often it was started. */
  readonly attempts: number
  /** The error of the last attempt. */
  readonly error: string | null
  /** When it was enqueued. */
  readonly at: string
  /** When it is due; `null` while it runs, is set aside, or waits for another task with its key. */
  readonly next: string | null
  readonly aside: string | null
  /** The instance that is running it. */
  readonly holder: string | null
}

/** A task that is no longer retried. */
export interface AsideState {
  readonly id: number
  readonly queue: string
  readonly key: string | null
  readonly since: string
  readonly attempts: number
  readonly message: string | null
}

/** A task that was set aside. */
export const asideTaskColumns = namedColumns({
  id: id('id'),
  payload: id('payload'),
  since: id('aside_at'),
  attempts: id('attempts'),
  error: id('error'),
})

/** A task in any state. */
export const taskColumns = namedColumns({
  id: id('id'),
  queue: id('queue'),
  key: id('key'),
  payload: id('payload'),
  at: id('at'),
  next: id('next_at'),
  holder: id('holder'),
  attempts: id('attempts'),
  error: id('error'),
  aside: id('aside_at'),
})

export function compileTasks(dialect: Dialect, leaseMs: number): TaskStatements {
  const until = dialect.shift(dialect.clock, leaseMs)
  return {
    enqueue: step(dialect, 'enqueue', 'any', enqueue(dialect)),
    ...compileLooks(dialect),
    ...compileTaking(dialect, until),
    ...compileEnds(dialect),
    retryAside: compileRetry(dialect),
    asideOf: compile(
      sql`SELECT ${asideTaskColumns.sql} FROM ${TASKS} WHERE "queue" = ${param('$queue')} AND "aside_at" IS NOT NULL ORDER BY "id"`,
      dialect.placeholder,
    ),
    page: compilePage(dialect),
    hurry: [
      step(
        dialect,
        'hurry',
        'any',
        sql`UPDATE ${TASKS} SET "next_at" = ${dialect.clock} WHERE "id" = ${param('$task', 'integer')}
          AND "holder" IS NULL AND "aside_at" IS NULL AND "next_at" IS NOT NULL RETURNING "id"`,
      ),
    ],
    leases: leasesOf(dialect, until),
  }
}

/** Tasks of `$queue`, in `$state`, with numbers below `$before`, or only `$task`. Null parameters do not count. */
function compilePage(dialect: Dialect): Statement {
  const [queue, state] = [param('$queue', 'text'), param('$state', 'text')]
  const [before, one] = [param('$before', 'integer'), param('$task', 'integer')]
  const found = sql`CASE WHEN "aside_at" IS NOT NULL THEN 'aside' WHEN "holder" IS NOT NULL THEN 'running' ELSE 'waiting' END`
  return compile(
    sql`SELECT ${taskColumns.sql} FROM ${TASKS} WHERE (${queue} IS NULL OR "queue" = ${queue})
      AND (${state} IS NULL OR ${found} = ${state}) AND (${before} IS NULL OR "id" < ${before})
      AND (${one} IS NULL OR "id" = ${one}) ORDER BY "id" DESC LIMIT ${param('$most', 'integer')}`,
    dialect.placeholder,
  )
}

function compileTaking(dialect: Dialect, until: Sql): Pick<TaskStatements, 'park' | 'take' | 'hasten'> {
  const { clock } = dialect
  const any = (source: Sql) => step(dialect, 'take', 'any', source)
  const these = dialect.isListed(id('id'), '$ids')
  const notLater = (latest: Sql, which: Sql) =>
    any(sql`UPDATE ${TASKS} SET "next_at" = ${latest} WHERE "next_at" > ${latest} AND ${which}`)
  return {
    park: [any(sql`UPDATE ${TASKS} SET "next_at" = NULL WHERE ${these}`)],
    take: [
      any(
        sql`UPDATE ${TASKS} SET "holder" = ${param('$lease_holder')}, "fence" = "fence" + 1, "attempts" = "attempts" + 1, "next_at" = ${until}
          WHERE ${these} RETURNING "id", "key", "payload", "attempts", "fence", ${clock}`,
      ),
    ],
    hasten: [
      notLater(dialect.shift(clock, budget.workPauseMs), sql`"holder" IS NULL`),
      notLater(until, sql`"holder" IS NOT NULL`),
    ],
  }
}

function compileEnds(dialect: Dialect): Pick<TaskStatements, 'done' | 'retry' | 'setAside'> {
  const { clock, lock } = dialect
  const end = (source: Sql) => step(dialect, 'end', 'some', source)
  const next = step(dialect, 'next', 'any', nextOfKey(clock))
  // Comes first: a write that is parking a task behind this one has then ended.
  const locks = lock === undefined ? [] : [end(sql`SELECT 1 FROM ${TASKS} WHERE ${mine}${lock.toChange}`)]
  const error = sql`"error" = ${param('$error')}`
  return {
    done: [...locks, next, end(sql`DELETE FROM ${TASKS} WHERE ${mine}`)],
    retry: [
      end(
        sql`UPDATE ${TASKS} SET "holder" = NULL, "next_at" = ${param('$next', 'datetime')}, ${error} WHERE ${mine}`,
      ),
    ],
    setAside: [
      ...locks,
      next,
      end(
        sql`UPDATE ${TASKS} SET "holder" = NULL, "next_at" = NULL, "aside_at" = ${clock}, ${error} WHERE ${mine}`,
      ),
    ],
  }
}

/**
 * When a task ends or is set aside, makes the next one of its key in `$queue` due. The key is read now: a rename of an
 * Entity type may have changed it since the task was taken.
 */
function nextOfKey(clock: Sql): Sql {
  const it = param('$lease_key', 'integer')
  return sql`UPDATE ${TASKS} SET "next_at" = ${clock} WHERE "holder" IS NULL AND "id" =
    (SELECT n."id" FROM ${TASKS} n WHERE n."queue" = ${param('$queue')} AND n."key" = (SELECT t."key" FROM ${TASKS} t WHERE t."id" = ${it})
      AND n."id" <> ${it} AND n."aside_at" IS NULL ORDER BY n."id" LIMIT 1)`
}

function enqueue(dialect: Dialect): Sql {
  const rows = dialect.rows('$tasks', [
    { name: 'queue', kind: 'text' },
    { name: 'key', kind: 'text' },
    { name: 'payload', kind: 'text' },
  ])
  return sql`INSERT INTO ${TASKS} ("queue", "key", "payload", "at", "next_at", "fence", "attempts")
    SELECT r."queue", r."key", r."payload", ${dialect.clock}, ${dialect.clock}, 0, 0 FROM ${rows} r`
}

function compileRetry(dialect: Dialect): readonly Step[] {
  const [payload, one] = [param('$payload', 'text'), param('$task', 'integer')]
  const which = sql`"queue" = ${param('$queue')} AND "aside_at" IS NOT NULL AND (${payload} IS NULL OR "payload" = ${payload})
    AND (${one} IS NULL OR "id" = ${one})`
  return [
    // As new rows, so that they come after the waiting ones.
    step(
      dialect,
      'retry',
      'any',
      sql`INSERT INTO ${TASKS} ("queue", "key", "payload", "at", "next_at", "fence", "attempts")
        SELECT "queue", "key", "payload", "at", ${dialect.clock}, 0, 0 FROM ${TASKS} WHERE ${which} ORDER BY "id"`,
    ),
    step(dialect, 'retried', 'any', sql`DELETE FROM ${TASKS} WHERE ${which} RETURNING "id"`),
  ]
}

function compileLooks(
  dialect: Dialect,
): Pick<TaskStatements, 'due' | 'candidates' | 'heads' | 'state' | 'aside' | 'ahead'> {
  const { clock, lock, placeholder } = dialect
  const first = sql`SELECT m."id" FROM ${TASKS} m WHERE m."queue" = ${param('$queue')} AND m."key" = k."key" AND m."aside_at" IS NULL ORDER BY m."id" LIMIT 1`
  const keys = dialect.rows('$keys', [{ name: 'key', kind: 'text' }])
  return {
    due: (queues) =>
      compile(
        join(
          [
            sql`SELECT '', ${clock}`,
            ...queues.map(
              (queue) =>
                sql`SELECT ${quoted(queue)}, (SELECT t."next_at" FROM ${TASKS} t WHERE t."queue" = ${quoted(queue)} AND t."next_at" IS NOT NULL ORDER BY t."next_at" LIMIT 1)`,
            ),
          ],
          sql` UNION ALL `,
        ),
        placeholder,
        true,
      ),
    candidates: compile(
      sql`SELECT t."id", t."key" FROM ${TASKS} t WHERE t."queue" = ${param('$queue')} AND t."next_at" <= ${clock}
        ORDER BY t."next_at", t."id" LIMIT ${param('$most', 'integer')}${lock?.toChangeIfFree ?? sql``}`,
      placeholder,
    ),
    heads: compile(
      sql`SELECT h."id", h."key" FROM ${TASKS} h WHERE ${dialect.isAmong(sql`h."id"`, sql`SELECT (${first}) FROM ${keys} k`)}${lock?.toStayIfFree ?? sql``}`,
      placeholder,
    ),
    ahead: compile(
      sql`SELECT count(*) FROM (SELECT 1 FROM ${TASKS} WHERE "queue" = ${param('$queue')} AND "aside_at" IS NULL LIMIT ${intLiteral(budget.followedTasks)}) t`,
      placeholder,
    ),
    state: compile(
      sql`SELECT "queue", sum(CASE WHEN "aside_at" IS NULL AND "holder" IS NULL THEN 1 ELSE 0 END),
        sum(CASE WHEN "holder" IS NOT NULL THEN 1 ELSE 0 END), sum(CASE WHEN "aside_at" IS NOT NULL THEN 1 ELSE 0 END),
        min(CASE WHEN "aside_at" IS NULL THEN "at" END) FROM ${TASKS} GROUP BY "queue" ORDER BY "queue"`,
      placeholder,
    ),
    aside: compile(
      sql`SELECT "id", "queue", "key", "aside_at", "attempts", "error" FROM ${TASKS} WHERE "aside_at" IS NOT NULL
        ORDER BY "aside_at" DESC, "id" DESC LIMIT ${intLiteral(budget.namedTasks)}`,
      placeholder,
    ),
  }
}

function leasesOf(dialect: Dialect, until: Sql): LeaseTable {
  return {
    // An interrupted run does not count as an attempt.
    release: [
      step(
        dialect,
        'release',
        'any',
        sql`UPDATE ${TASKS} SET "holder" = NULL, "fence" = "fence" + 1, "attempts" = "attempts" - 1, "next_at" = ${dialect.clock} WHERE ${mine}`,
      ),
    ],
    renew: [
      step(
        dialect,
        'renew',
        'any',
        sql`UPDATE ${TASKS} SET "next_at" = ${until} WHERE ${dialect.isListed(id('id'), '$keys')} AND "holder" = ${param('$lease_holder')} RETURNING "id", "fence"`,
      ),
    ],
    fence: step(
      dialect,
      'lease',
      'some',
      sql`SELECT 1 FROM ${TASKS} WHERE ${mine}${dialect.lock?.toStay ?? sql``}`,
    ),
  }
}

/** Reads a row of `take`. */
export function takenOf([id, key, payload, attempts, fence, clock]: Row): Taken {
  return {
    id: Number(id),
    key: taskKey(key),
    payload: String(payload),
    attempts: Number(attempts),
    fence: Number(fence),
    clock: clockTime(clock),
  }
}

/** Reads a row of `state`. */
export function queueStateOf([, waiting, running, aside, oldest]: Row): QueueState {
  return {
    waiting: Number(waiting),
    running: Number(running),
    aside: Number(aside),
    oldest: oldest == null ? null : String(oldest),
  }
}

/** Reads a row of `page`. */
export function taskStateOf(row: Row): TaskState {
  const { id, queue, key, payload, at, next, holder, attempts, error, aside } = taskColumns.read(row)
  return {
    id: Number(id),
    queue: String(queue),
    key: taskKey(key),
    payload: JSON.parse(String(payload)),
    state: aside !== null ? 'aside' : holder !== null ? 'running' : 'waiting',
    attempts: Number(attempts),
    error: taskKey(error),
    at: String(at),
    next: holder === null ? taskKey(next) : null,
    aside: taskKey(aside),
    holder: taskKey(holder),
  }
}

/** Reads a row of `aside`. */
export function asideStateOf([id, queue, key, since, attempts, error]: Row): AsideState {
  return {
    id: Number(id),
    queue: String(queue),
    key: key == null ? null : String(key),
    since: String(since),
    attempts: Number(attempts),
    message: error == null ? null : String(error),
  }
}

/** Reads a column that may be null. */
export function taskKey(key: unknown): string | null {
  return key == null ? null : String(key)
}
