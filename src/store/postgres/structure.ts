import { Failure, StartError } from '../../errors.ts'
import { refuseForeign } from '../migration/metadata.ts'
import type { DatabaseSession, Ddl, Structure } from '../migration/structure.ts'
import { compile, intLiteral, type Sql, type Statement, sql } from '../sql.ts'
import { arraysOf, insertRows } from './ddl.ts'
import { dialect } from './dialect.ts'
import { meaningOf, sqlStateOf } from './errors.ts'
import { inspect } from './inspect.ts'
import { origin } from './origin.ts'
import type { Connection, Pool } from './pool.ts'
import type { TimeLimits } from './session-settings.ts'

/** How long a migration may take, and how often it is retried when long readers block it. */
const PATIENCE_MS = 24 * 60 * 60 * 1000
const LOCK_TRIES = 60

const LOCK = sql`SELECT "key" FROM "takeback_meta" WHERE "key" = 'lock' FOR UPDATE`

interface Parts {
  readonly pool: Pool
  readonly place: string
  readonly ddl: Ddl
  readonly limits: TimeLimits
}

export function structureOf({ pool, place, ddl, limits }: Parts): Structure {
  const structure: Structure = {
    place,
    dialect,
    ddl,
    async transact(mode, work) {
      if (mode !== 'read')
        await prepareLock(structure, pool).catch((error) => {
          throw startErrorOf(error, place)
        })
      return retryLocked(place, () =>
        pool.transaction(async (connection) => {
          const session = sessionOf(connection)
          await begin(session, mode, limits)
          return { result: await work(session), commit: mode !== 'read' }
        }, PATIENCE_MS),
      )
    },
    async insert(table, columns, rows) {
      await pool.query(statement(insertRows(table, columns)), arraysOf(columns, rows))
    },
    origin,
    inspect,
    isTaken: (error) => meaningOf(error).kind === 'unique',
  }
  return structure
}

async function begin(
  session: DatabaseSession,
  mode: Parameters<Structure['transact']>[0],
  limits: TimeLimits,
): Promise<void> {
  if (mode === 'read') await session.run(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`)
  await session.run(sql`SET LOCAL statement_timeout = ${intLiteral(limits.statement)}`)
  await session.run(
    sql`SET LOCAL idle_in_transaction_session_timeout = ${intLiteral(limits.idleInTransaction)}`,
  )
  if (mode === 'read') return
  await session.run(LOCK)
  await session.run(sql`SET LOCAL lock_timeout = ${intLiteral(limits.lock)}`)
}

/** Retries if others hold locks that it needs. */
async function retryLocked<T>(place: string, run: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++)
    try {
      return await run()
    } catch (error) {
      const isLocked = meaningOf(error).kind === 'again' || sqlStateOf(error) === '55P03'
      if (!isLocked || tries === LOCK_TRIES) throw startErrorOf(error, place)
      await Bun.sleep(500)
    }
}

/** Creates the row that is locked. Several servers may do that at once. */
async function prepareLock(structure: Structure, pool: Pool): Promise<void> {
  await pool.transaction(async (connection) => {
    await refuseForeign(structure, sessionOf(connection))
    return { result: undefined, commit: false }
  })
  const insert = sql`INSERT INTO "takeback_meta" ("key", "value") VALUES ('lock', '') ON CONFLICT ("key") DO NOTHING`
  for (let tries = 1; ; tries++)
    try {
      await pool.query(statement(structure.ddl.meta), {})
      await pool.query(statement(insert), {})
      return
    } catch (error) {
      if (tries === LOCK_TRIES) throw error
      await Bun.sleep(Math.random() * 50)
    }
}

function sessionOf(connection: Connection): DatabaseSession {
  return {
    all: (source, params = {}) => connection.query(statement(source), params),
    async run(source, params = {}) {
      await connection.query(statement(source), params)
    },
  }
}

function startErrorOf(error: unknown, place: string): unknown {
  if (error instanceof StartError) return error
  if (sqlStateOf(error) === '55P03')
    return new StartError(
      `The database ${place} cannot be migrated: its tables are locked by a transaction that does not end.`,
    )
  if (sqlStateOf(error) === '57014')
    return new StartError(
      `The database ${place} cannot be used: a statement took longer than the statement_timeout that is set for the user or the database.`,
    )
  return sqlStateOf(error) === undefined && meaningOf(error).kind === 'unknown'
    ? error
    : new StartError(`The database ${place} cannot be used: ${reason(error)}`)
}

/** The reason in one sentence. */
export function reason(error: unknown): string {
  const cause = error instanceof Failure ? error.cause : error
  const message = cause instanceof Error ? cause.message : String(cause)
  return `${message.replace(/\.$/, '')}.`
}

function statement(source: Sql): Statement {
  return compile(source, dialect.placeholder)
}
