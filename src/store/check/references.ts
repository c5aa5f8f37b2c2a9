import { linkTableOf } from '../../declare/model.ts'
import { id, sql } from '../sql.ts'
import { pathOf, type Table } from '../tables.ts'
import { type Checked, type Finding, findRows } from './finding.ts'

/** Compares link tables with their lists, in both directions. */
export async function checkLinkTables(checked: Checked, table: Table): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { name, links: linked, member = '' } of table.columns) {
    if (linked === undefined) continue
    const links = linkTableOf(table.name, name).table
    const { rows, target, place } = checked.structure.dialect.members(sql`t.${id(name)}`, member)
    const named =
      (what: string) =>
      ([source, one]: readonly unknown[]): Finding => ({
        kind: 'link',
        where: `${table.name}/${source}`,
        what: `${what} ${linked}/${one} (${name})`,
      })
    findings.push(
      ...(await findRows(
        checked,
        sql`SELECT t."id", ${target} FROM ${id(table.name)} t CROSS JOIN ${rows}
          WHERE NOT EXISTS (SELECT 1 FROM ${id(links)} l WHERE l."source" = t."id" AND l."target" = ${target} AND l."place" = ${place})
          AND NOT EXISTS (SELECT 1 FROM "takeback_purges" p WHERE p."purge" = t."deletion")`,
        named('has no row in the link table for'),
      )),
      ...(await findRows(
        checked,
        sql`SELECT l."source", l."target" FROM ${id(links)} l WHERE NOT EXISTS (SELECT 1 FROM ${id(table.name)} t CROSS JOIN ${rows}
          WHERE t."id" = l."source" AND ${target} = l."target" AND ${place} = l."place")`,
        named('has a row in the link table that is not in its list:'),
      )),
    )
  }
  return findings
}

/** Finds references to purged Entities; and, unless they are aside, those of live Entities to deleted ones. */
export async function checkReferences(checked: Checked, table: Table): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const column of table.columns) {
    const target = column.references ?? column.links
    if (target === undefined) continue
    const { rows, id: member } =
      column.links === undefined
        ? { rows: sql`${id(table.name)} c`, id: sql`c.${id(column.name)}` }
        : {
            rows: sql`${id(table.name)} c JOIN ${id(linkTableOf(table.name, column.name).table)} l ON l."source" = c."id"`,
            id: sql`l."target"`,
          }
    const dead = column.aside ? sql`` : sql` OR (x."deleted_at" IS NOT NULL AND c."deleted_at" IS NULL)`
    findings.push(
      ...(await findRows(
        checked,
        sql`SELECT c."id", ${member}, x."id" FROM ${rows} LEFT JOIN ${id(target)} x ON x."id" = ${member}
          WHERE ${member} IS NOT NULL AND (x."id" IS NULL${dead})`,
        ([source, one, there]) => ({
          kind: 'reference',
          where: `${table.name}/${source}`,
          what: `refers to ${target}/${one}, which is ${there === null ? 'not there' : 'deleted'} (${pathOf(column)})`,
        }),
      )),
    )
  }
  return findings
}
