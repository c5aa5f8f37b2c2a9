import type { Sql } from '../sql.ts'
import { Draft } from './draft.ts'
import type { Migration } from './plan.ts'
import type { RowQueries } from './rows.ts'
import type { MigrationLine, NewCheck, TableChange } from './structure.ts'

/** The rows `t` of a table that break one of its checks, with the names of the new declaration. */
export type BrokenCheck = (table: string, that: string) => Sql | undefined

/** Changes after which a row may break a check that it has met. */
const changesValues: readonly TableChange['kind'][] = ['fill column', 'convert column']
const keepsNames: readonly TableChange['kind'][] = ['add index', 'drop index', 'rename index']

/** The checks to evaluate: the new ones, or all of them if values of rows change. */
export function checksToMeet({ changes, checks, held }: Migration): readonly NewCheck[] {
  if (!changes.some(({ kind }) => changesValues.includes(kind))) return checks
  return held.flatMap((table) => (table.checks ?? []).map((check) => ({ table, check })))
}

/** Whether checks can be evaluated before the migration: all names must already be as they will be. */
export function canCheckNow({ changes }: Migration): boolean {
  return changes.every(({ kind }) => keepsNames.includes(kind))
}

/** A line for each check: it is met, or these rows break it. */
export async function evaluateChecks(
  checks: readonly NewCheck[],
  rows: RowQueries,
  broken: BrokenCheck,
): Promise<readonly MigrationLine[]> {
  const draft = new Draft(rows)
  for (const { table, check } of checks) {
    const path = `${table.name}.${check.at}`
    const condition = broken(table.name, check.that)
    if (condition === undefined) continue
    const isRefused = draft.refuseFound(
      table,
      path,
      await rows.breaking(table.name, condition),
      (which) => `has the check "${check.says}", which is not met by ${which}: change them first`,
    )
    if (!isRefused) draft.safe(path, `has the check "${check.says}", which all rows meet`)
  }
  return draft.lines
}

/** The lines for checks that cannot be evaluated yet. */
export function checksToCome(checks: readonly NewCheck[]): readonly MigrationLine[] {
  return checks.map(({ table, check: { at, says } }) => ({
    effect: 'safe',
    path: `${table.name}.${at}`,
    what: `has the check "${says}"; the migration ends without a change if existing rows do not meet it`,
  }))
}
