import { aboutEntities, besidesJournal } from '../own.ts'
import { id, join, quoted, sql } from '../sql.ts'
import type { Column, Table } from '../tables.ts'
import { type Checked, type Finding, findRows } from './finding.ts'

/** Rows of Takeback's own tables that name Entities of a type that do not exist. */
export async function checkAbout(checked: Checked, table: Table): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { name } of besidesJournal) findings.push(...(await checkSubjects(checked, table, name)))
  for (const column of table.columns) findings.push(...(await checkCleared(checked, table, column)))
  findings.push(...(await checkSealed(checked, table)))
  return findings
}

/** Finds rows about Entities that do not exist. The id 0 stands for the type as a whole. */
function checkSubjects(checked: Checked, table: Table, name: string): Promise<Finding[]> {
  return findRows(
    checked,
    sql`SELECT o."entity_id" FROM ${id(name)} o WHERE o."entity" = ${quoted(table.name)} AND o."entity_id" <> 0
      AND NOT EXISTS (SELECT 1 FROM ${id(table.name)} t WHERE t."id" = o."entity_id")`,
    ([row]) => ({ kind: 'own', where: name, what: `refers to ${table.name}/${row}, which does not exist` }),
  )
}

/** Rows of Takeback's own tables that name types that the database does not have. */
export async function checkOwnTypes({ session, metadata }: Checked): Promise<Finding[]> {
  const known = metadata.tables.map(({ name }) => name)
  const findings: Finding[] = []
  for (const { name } of aboutEntities.filter((table) => table.name !== 'takeback_journal')) {
    const rows = await session.all(sql`SELECT DISTINCT o."entity" FROM ${id(name)} o`)
    // The empty name stands for any type: answers of user code may show anything.
    const others = rows.map(([type]) => String(type)).filter((type) => type !== '' && !known.includes(type))
    for (const type of others)
      findings.push({
        kind: 'own',
        where: name,
        what: `refers to the Entity type ${type}, which does not exist`,
      })
  }
  return findings
}

/** Finds cleared references whose former targets do not exist. */
async function checkCleared(checked: Checked, table: Table, column: Column): Promise<Finding[]> {
  const target = column.references ?? column.links
  if (target === undefined) return []
  return findRows(
    checked,
    sql`SELECT o."entity_id", o."target" FROM "takeback_cleared" o WHERE o."entity" = ${quoted(table.name)} AND o."column" = ${quoted(column.name)}
      AND NOT EXISTS (SELECT 1 FROM ${id(target)} x WHERE x."id" = o."target")`,
    ([row, one]) => ({
      kind: 'own',
      where: 'takeback_cleared',
      what: `says that ${table.name}/${row} referred to ${target}/${one}, which does not exist`,
    }),
  )
}

/** Finds sealed values of columns that are not secret. */
function checkSealed(checked: Checked, table: Table): Promise<Finding[]> {
  const secrets = table.columns.filter(({ secret }) => secret)
  const isNoSecret = secrets.map(({ name }) => sql` AND o."column" <> ${quoted(name)}`)
  return findRows(
    checked,
    sql`SELECT o."entity_id", o."column" FROM "takeback_sealed" o WHERE o."entity" = ${quoted(table.name)}${join(isNoSecret, sql``)}`,
    ([row, column]) => ({
      kind: 'own',
      where: 'takeback_sealed',
      what: `has a former ${column} of ${table.name}/${row}, which is not a secret`,
    }),
  )
}

/** Finds shown Entities without their kept answer. */
export function checkAnswers(checked: Checked): Promise<Finding[]> {
  return findRows(
    checked,
    sql`SELECT o."entity", o."entity_id" FROM "takeback_shown" o WHERE NOT EXISTS (SELECT 1 FROM "takeback_answers" a WHERE a."key" = o."key")`,
    ([entity, row]) => ({
      kind: 'own',
      where: 'takeback_shown',
      what: `says that an answer shows ${entity}/${row}, but that answer is not stored`,
    }),
  )
}
