import { randomUUIDv7 } from 'bun'
import { SKEW_MS } from '../../clock.ts'
import { formatDecimal, parseDecimal } from '../../declare/fields/number.ts'
import { id, param, quoted, type Sql, sql } from '../sql.ts'
import type { Column, Table } from '../tables.ts'
import { orderedChanges } from './order.ts'
import type { StructureSession, TableChange } from './structure.ts'

/**
 * The change that a migration made to a field in all rows, stored in `takeback_migrations`. Former versions in the
 * journal are read through these steps, so that they need not be rewritten.
 */
export interface MigrationStep {
  readonly operation: string
  readonly at: string
  readonly entity: string
  /** The present dot path of the field. */
  readonly path: string
  readonly change: StepChange
}

/** `ahead`: the last time of versions by a wrong clock, if there were any. */
export type StepChange =
  /** The field is new. Versions before the migration count as having this value. */
  | { readonly kind: 'add'; readonly value: unknown }
  /** Rows without a value got this one. */
  | { readonly kind: 'fill'; readonly value: unknown; readonly ahead?: string }
  /** The field was set aside: it left the API. */
  | { readonly kind: 'aside' }
  | { readonly kind: 'convert'; readonly to: 'text'; readonly ahead?: string }
  | { readonly kind: 'convert'; readonly to: 'decimal'; readonly scale: number; readonly ahead?: string }

/** A conversion. */
export type Conversion = Extract<StepChange, { kind: 'convert' }>

/** Converts a value in a version; `undefined` means that the version does not contain it. */
export function convertedValue(value: unknown, change: Conversion): unknown {
  if (value === null || value === undefined) return value
  if (change.to === 'text') return String(value)
  const scaled = parseDecimal(String(value), change.scale)
  return scaled === undefined ? value : formatDecimal(scaled, change.scale)
}

/** A stored step. `generation`: that of the structure it led to; older versions of Takeback did not store it. */
type Kept = StepChange & {
  readonly reference?: boolean
  readonly generation?: number
  readonly ahead?: string
}

interface Recorded {
  readonly table: Table
  readonly column: Column
  readonly change: StepChange
  /** The number of rows whose value changed. */
  readonly rows: number
}

const TABLE = id('takeback_migrations')

/** Records the changes of values by a migration: one operation of the system, with a change for each Entity type. */
export async function recordSteps(
  database: StructureSession,
  changes: readonly TableChange[],
  generation: number,
): Promise<void> {
  const recorded = stepsIn(changes)
  if (recorded.length === 0) return
  const { session } = database
  const operation = randomUUIDv7()
  const { at, ahead } = await timesOf(database)
  for (const [place, { table, column, change }] of recorded.entries())
    await session.run(
      sql`INSERT INTO ${TABLE} ("operation", "place", "at", "entity", "column", "change")
        VALUES (${param('$operation')}, ${param('$place', 'integer')}, ${param('$at', 'datetime')}, ${quoted(table.name)}, ${quoted(column.name)}, ${param('$change')})`,
      {
        $operation: operation,
        $place: place,
        $at: at,
        $change: JSON.stringify({
          ...change,
          ...(column.references !== undefined && { reference: true }),
          ...(ahead !== undefined && { ahead }),
          generation,
        } satisfies Kept),
      },
    )
  const visible = recorded.filter(({ rows }) => rows > 0)
  for (const name of new Set(visible.map(({ table }) => table.name)))
    await session.run(journalled(name), {
      $operation: operation,
      $at: at,
      $generation: generation,
    })
}

/** The journal row for a whole type, which has no id. */
function journalled(name: string): Sql {
  return sql`INSERT INTO "takeback_journal" ("operation", "at", "actor", "entity", "entity_id", "version", "kind")
    SELECT ${param('$operation')}, ${param('$at', 'datetime')}, 'system', ${quoted(name)}, 0, ${param('$generation', 'integer')}, 'migrate'`
}

/**
 * The time of a migration: now, and later than everything in the journal, so that each version is clearly before or
 * after it. Times that are ahead because a clock was wrong do not count. `ahead`: the last of them.
 */
async function timesOf({
  structure: { dialect },
  session,
}: StructureSession): Promise<{ at: string; ahead?: string }> {
  const soon = dialect.shift(dialect.now, SKEW_MS)
  const times = dialect.array([
    dialect.render('datetime', dialect.now, 0),
    dialect.render('datetime', sql`(SELECT max("at") FROM "takeback_journal" WHERE "at" <= ${soon})`, 0),
    dialect.render('datetime', sql`(SELECT max("at") FROM "takeback_journal" WHERE "at" > ${soon})`, 0),
  ])
  const [row] = await session.all(sql`SELECT ${times}`, { $at: new Date().toISOString() })
  const [now = '', last, ahead] = JSON.parse(String(row?.[0])) as (string | null)[]
  const behind = typeof last === 'string' ? Date.parse(last) + 1 : 0
  const at = new Date(Math.max(Date.parse(String(now)), behind)).toISOString()
  return typeof ahead === 'string' ? { at, ahead } : { at }
}

/** All steps by Entity type, oldest first: in the order of the structures that they led to, whatever their times. */
export async function readSteps({
  structure: { dialect },
  session,
}: StructureSession): Promise<MigrationStep[]> {
  const at = dialect.array([dialect.render('datetime', sql`"at"`, 0)])
  const rows = await session.all(
    sql`SELECT "operation", ${at}, "entity", "column", "change" FROM ${TABLE} ORDER BY "at", "operation", "place"`,
  )
  const kept = rows.map(([operation, time, entity, column, change]) => {
    return { operation, time, entity, column, kept: JSON.parse(String(change)) as Kept }
  })
  kept.sort(({ kept: a }, { kept: b }) => (a.generation ?? 0) - (b.generation ?? 0))
  return kept.map(({ operation, time, entity, column, kept: { reference, generation: _, ...change } }) => {
    const [when] = JSON.parse(String(time)) as [string]
    return {
      operation: String(operation),
      at: when,
      entity: String(entity),
      path: reference ? String(column).replace(/\.id$/, '') : String(column),
      change,
    }
  })
}

function stepsIn(changes: readonly TableChange[]): Recorded[] {
  const added = new Set<Column>()
  return orderedChanges(changes).flatMap((change): Recorded[] => {
    if (change.kind === 'set aside')
      return [{ table: change.table, column: change.column, rows: 0, change: { kind: 'aside' } }]
    if (change.kind !== 'add column' && change.kind !== 'fill column' && change.kind !== 'convert column')
      return []
    const { table, column, rows } = change
    // The journal has no secrets and no words. An object that is now optional is still present.
    if (column.secret || column.words !== undefined || column.derived !== undefined) return []
    if (column.kind === 'presence' && column.fill !== undefined) return []
    if (change.kind === 'convert column') {
      const made = conversionTo(column)
      return made === undefined ? [] : [{ table, column, rows, change: made }]
    }
    if (change.kind === 'fill column')
      return added.has(column) ? [] : [{ table, column, rows, change: { kind: 'fill', value: column.fill } }]
    added.add(column)
    return [{ table, column, rows, change: { kind: 'add', value: column.fill ?? null } }]
  })
}

/** The conversion of former values; undefined if their JSON stays the same. */
function conversionTo({ kind, scale = 0 }: Column): StepChange | undefined {
  if (kind === 'text') return { kind: 'convert', to: 'text' }
  return kind === 'decimal' ? { kind: 'convert', to: 'decimal', scale } : undefined
}
