import { isRecord } from '../../declare/record.ts'
import { id, intLiteral, param, quoted, sql } from '../sql.ts'
import { type Column, pathOf, type Table } from '../tables.ts'
import type { StructureSession } from './structure.ts'

const PAGE = 500

type JsonState = Readonly<Record<string, unknown>>

/**
 * Adds a field to versions that were written while it was aside. Once it is declared again, they get its present value,
 * since nobody could change it meanwhile. Otherwise it would look as if somebody had emptied it.
 */
export async function rejoin(database: StructureSession, table: Table, column: Column): Promise<void> {
  const { dialect } = database.structure
  const since = await asideSince(database, table, column)
  if (since === undefined) return
  const value = dialect.array([dialect.render(column.kind, sql`t.${id(column.name)}`, column.scale ?? 0)])
  const page = sql`SELECT j."seq", j."data", ${value} FROM "takeback_journal" j
    JOIN ${id(table.name)} t ON t."id" = j."entity_id" WHERE j."entity" = ${quoted(table.name)}
    AND j."at" >= ${param('$since', 'datetime')} AND j."data" IS NOT NULL AND j."seq" > ${param('$seq', 'integer')}
    ORDER BY j."seq" LIMIT ${intLiteral(PAGE)}`
  const made = dialect.rows('$rows', [
    { name: 'seq', kind: 'integer' },
    { name: 'data', kind: 'text' },
  ])
  const write = sql`UPDATE "takeback_journal" AS j SET "data" = v."data" FROM ${made} v WHERE v."seq" = j."seq"`
  for (let last = 0; ; ) {
    const rows = await database.session.all(page, { $since: since, $seq: last })
    if (rows.length === 0) return
    last = Number(rows.at(-1)?.[0])
    const changed = rows.flatMap(([seq, data, text]) => {
      const [known] = JSON.parse(String(text)) as [unknown]
      const whole = withValue(JSON.parse(String(data)) as JsonState, column, known)
      return whole === undefined ? [] : [[Number(seq), JSON.stringify(whole)]]
    })
    if (changed.length > 0) await database.session.run(write, { $rows: JSON.stringify(changed) })
  }
}

/** When the field was last set aside; undefined if that is unknown. */
async function asideSince({ structure, session }: StructureSession, table: Table, column: Column) {
  const at = structure.dialect.array([structure.dialect.render('datetime', sql`max("at")`, 0)])
  const [row] = await session.all(
    sql`SELECT ${at} FROM "takeback_migrations" WHERE "entity" = ${quoted(table.name)} AND "column" = ${quoted(column.name)} AND "change" LIKE '{"kind":"aside"%'`,
  )
  const [since] = JSON.parse(String(row?.[0] ?? '[]')) as (string | null)[]
  return since ?? undefined
}

/** The state with the value; undefined if it already has one, or has no place for it. */
function withValue(state: JsonState, column: Column, known: unknown): JsonState | undefined {
  // The columns that every Entity has come last.
  const { version, created_at, updated_at, deleted_at, ...values } = state
  const joined = joinedAt(values, pathOf(column).split('.'), columnJson(column, known))
  return joined === undefined ? undefined : { ...joined, version, created_at, updated_at, deleted_at }
}

function columnJson({ kind, references }: Column, value: unknown): unknown {
  if (value === null) return null
  if (kind === 'presence') return {}
  return references === undefined ? value : { id: value }
}

function joinedAt(
  state: JsonState,
  [name = '', ...rest]: readonly string[],
  value: unknown,
): JsonState | undefined {
  const isKnown = Object.hasOwn(state, name)
  if (rest.length === 0) return isKnown ? undefined : { ...state, [name]: value }
  const inner = isKnown ? state[name] : {}
  const joined = isRecord(inner) ? joinedAt(inner, rest, value) : undefined
  return joined === undefined ? undefined : { ...state, [name]: joined }
}
