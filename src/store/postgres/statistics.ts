import { compile, id, type Sql, sql } from '../sql.ts'
import { dialect } from './dialect.ts'
import type { Connection } from './pool.ts'

/**
 * Tables that have twice the pages that they had when they were last analysed, or more than a few and never were. The
 * size of the file is known at once; what PostgreSQL counts of writes may come ten seconds later.
 *
 * Not while a transaction has been writing to it for a while: statistics then have all of its pages and none of its
 * rows, and the planner takes a large table for an empty one. A transaction that has just begun may come to that, so a
 * table must be found twice. Where it happened all the same, the count of writes tells.
 *
 * Without statistics the planner takes `"deleted_at" IS NULL` to hold for one row in two hundred, and joins two tables
 * of some ten thousand rows by comparing each row with each.
 */
const OUTGROWN = sql`SELECT c.relname FROM pg_class c
  WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
  AND (pg_relation_size(c.oid) / current_setting('block_size')::int >= greatest(4, 2 * c.relpages)
    OR pg_stat_get_mod_since_analyze(c.oid) >= greatest(500, c.reltuples))
  AND NOT EXISTS (SELECT 1 FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE a.datname = current_database() AND l.relation = c.oid AND l.mode = 'RowExclusiveLock'
    AND a.xact_start < now() - interval '200 milliseconds')`

/** Autovacuum analyses too, but comes by once a minute: a new table can have grown large by then. */
export class Statistics {
  readonly #connection: Connection
  #running: Promise<void> | undefined
  /** Those that were found the last time. By now, whoever was writing then has ended, or has been writing for a while. */
  #before: readonly string[] = []

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Analyses what has outgrown its statistics; one such pass at a time. For those who call it every second or so. */
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
