import type { Bound, Params } from '../src/store/dialect.ts'
import type { Statement } from '../src/store/sql.ts'
import type { Store } from '../src/store/store.ts'
import type { TestServer } from './harness.ts'

export interface RecordedStatement {
  readonly statement: Statement
  readonly params: Params
}

/** Returns the statements that a database is asked to run meanwhile. */
export async function recordStatements(
  store: Store,
  goOn: () => Promise<unknown>,
): Promise<RecordedStatement[]> {
  const recorded: RecordedStatement[] = []
  const { read } = store
  store.read = (statement, params) => {
    recorded.push({ statement, params: { ...params } })
    return read.call(store, statement, params)
  }
  try {
    await goOn()
  } finally {
    store.read = read
  }
  return recorded
}

export function valuesOf({ statement: { paramNames }, params }: RecordedStatement): Bound[] {
  return paramNames.map((name) => params[name] ?? null)
}

export type PlanRow = Record<string, unknown>

/** Runs queries on one connection. */
type Query = (text: string, ...values: Bound[]) => Promise<PlanRow[]>

/** Returns the query plan for these values and, on PostgreSQL, the generic plan for any values. */
export async function planOf(
  store: string,
  query: Query,
  text: string,
  values: readonly Bound[],
): Promise<string> {
  const explain = async (statement: string, ...bound: Bound[]) =>
    (await query(statement, ...bound)).map((row) => row['QUERY PLAN'] ?? row.detail).join('\n')
  if (store === 'sqlite') return explain(`EXPLAIN QUERY PLAN ${text}`, ...values)
  const bound = values.map((value) => (value === null ? null : String(value)))
  const now = await explain(`EXPLAIN ${text}`, ...bound)
  await query('SET plan_cache_mode = force_generic_plan')
  await query(`PREPARE one AS ${text}`)
  const any = await explain(
    `EXPLAIN EXECUTE one${values.length === 0 ? '' : `(${values.map(() => 'NULL')})`}`,
  )
  await query('DEALLOCATE one')
  return `${now}\nFor any values:\n${any}`
}

/**
 * Returns the lines of a plan that scan one of these tables completely, also in the order of an index. Some databases
 * print the name of the table, others its alias in the statement.
 */
export function scansIn(plan: string, names: readonly string[]): string[] {
  const table = `"?(${names.join('|')})"?( |$)`
  const scan = new RegExp(`^SCAN ${table}|Seq Scan on ${table}`)
  const walk = new RegExp(`Index (Only )?Scan .*on ${table}`)
  const lines = plan.split('\n').map((line) => line.trim().replace(/^->\s+/, ''))
  return lines.filter(
    (line, at) => scan.test(line) || (walk.test(line) && !lines[at + 1]?.startsWith('Index Cond')),
  )
}

/** Fills a table with numbered rows, past the server: `i` is the number, `time` the SQL of their times. */
export function fillTable(
  server: TestServer,
  { store, table, rows, time }: { store: string; table: string; rows: number; time: string },
  columns: Record<string, string>,
): Promise<unknown> {
  const numbers =
    store === 'sqlite'
      ? `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})`
      : `WITH n(i) AS (SELECT * FROM generate_series(1, ${rows}))`
  const names = Object.keys(columns).map((name) => `, "${name}"`)
  const values = Object.values(columns).map((value) => `, ${value}`)
  return server.query(
    `INSERT INTO "${table}" ("version", "created_at", "updated_at"${names.join('')})
      SELECT * FROM (${numbers} SELECT 1, ${time}, ${time}${values.join('')} FROM n) x`,
  )
}
