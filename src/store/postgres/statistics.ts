import { compile, id, type Sql, sql } from '../sql.ts'
import { dialect } from './dialect.ts'
import type { Connection } from './pool.ts'

/**
 * Tables with twice the pages that they had when they were last analysed, or with more than a few if they never were.
 * The size of the file is known at once; PostgreSQL's count of writes may lag by ten seconds.
 *
 * Not while a transaction has been writing to the table for some time: the statistics would then have all of its pages
 * and none of its rows, and the planner would take a large table for an empty one. A transaction that has just begun
 * may do the same, so a table must be found twice. If it happened anyway, the count of writes shows it.
 *
 * Without statistics, the planner assumes that `"deleted_at" IS NULL` holds for one row in two hundred, and joins
 * tables of ten thousand rows by comparing each row with each.
 */
const OUTGROWN = sql`SELECT c.relname FROM pg_class c
  WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
  AND (pg_relation_size(c.oid) / current_setting('block_size')::int >= greatest(4, 2 * c.relpages)
    OR pg_stat_get_mod_since_analyze(c.oid) >= greatest(500, c.reltuples))
  AND NOT EXISTS (SELECT 1 FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE a.datname = current_database() AND l.relation = c.oid AND l.mode = 'RowExclusiveLock'
    AND a.xact_start < now() - interval '200 milliseconds')`

/** Analyses tables that grow quickly. Autovacuum does that too, but once a minute: a new table can be large by then. */
export class Statistics {
  readonly #connection: Connection
  #running: Promise<void> | undefined
  /** The tables found by the last pass. Writers of that time have ended by now, or have been writing for some time. */
  #before: readonly string[] = []

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Analyses tables that have outgrown their statistics; one pass at a time. To be called about every second. */
  refresh(): Promise<void> {
    this.#running ??= this.#pass().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #pass(): Promise<void> {
    const outgrown = (await this.#run(OUTGROWN)).map(([name]) => String(name))
    const due = outgrown.filter((name) => this.#before.includes(name))
    this.#before = outgrown
    for (const name of due) await this.#run(sql`ANALYZE ${id(name)}`)
  }

  #run(source: Sql) {
    return this.#connection.query(compile(source, dialect.placeholder), {})
  }
}
