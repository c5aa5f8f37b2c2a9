import { emailKey } from '../../declare/email-key.ts'
import { foldedColumn } from '../../declare/folded-column.ts'
import { foldText, keptWords } from '../../declare/words.ts'
import { PageSize } from '../page-size.ts'
import { id, intLiteral, join, param, quoted, type Sql, sql } from '../sql.ts'
import { type Column, isJournalled, pathOf, type Table } from '../tables.ts'
import { type Checked, type Finding, NAMED_MAX } from './finding.ts'
import { isAsJournalled, journalledValue } from './journalled.ts'

const ROWS_MAX = 1000

const own: readonly Column[] = [
  { name: 'id', kind: 'integer' },
  { name: 'version', kind: 'integer' },
  { name: 'created_at', kind: 'datetime' },
  { name: 'updated_at', kind: 'datetime' },
  { name: 'deleted_at', kind: 'datetime' },
]
const deletion: Column = { name: 'deletion', kind: 'text' }

/** Compares every row of a table with its newest change in the journal, and its derived columns with their texts. */
export async function checkEntities(
  checked: Checked,
  table: Table,
  purges: ReadonlySet<string>,
): Promise<Finding[]> {
  const columns = [...own, deletion, ...table.columns]
  const page = rowsAfter(checked, table, columns)
  const findings: Finding[] = []
  const journalled = await withFills(checked, table, [...own, ...table.columns.filter(isJournalled)])
  const size = new PageSize(ROWS_MAX)
  for (let last = 0; findings.length < NAMED_MAX; ) {
    const limit = size.rows
    const rows = await checked.session.all(page(limit), { $id: last })
    for (const [row, json, kind, data, by] of rows) {
      const list = JSON.parse(String(json)) as unknown[]
      const held = new Map(columns.map(({ name }, at) => [name, list[at]]))
      // A purge is running and will erase the rest.
      if (purges.has(String(held.get('deletion')))) continue
      const entity = `${table.name}/${row}`
      findings.push(
        ...compareDerived(entity, table, held),
        ...compareJournal(entity, journalled, held, { kind, data, deletion: by }),
      )
    }
    if (rows.length < limit) break
    last = Number(rows.at(-1)?.[0])
    size.adapt(
      rows.length,
      rows.reduce((sum, [, json, , data]) => sum + String(json).length + String(data).length, 0),
    )
  }
  return findings.slice(0, NAMED_MAX)
}

/** Selects some rows after `$id`: the id, the values of the columns, and the newest change. */
function rowsAfter(
  { structure: { dialect } }: Checked,
  table: Table,
  columns: readonly Column[],
): (limit: number) => Sql {
  const values = columns.map(({ name, kind, scale = 0 }) => dialect.render(kind, sql`t.${id(name)}`, scale))
  return (
    limit,
  ) => sql`SELECT t."id", ${dialect.array(values)}, j."kind", j."data", j."deletion" FROM ${id(table.name)} t
    LEFT JOIN "takeback_journal" j ON j."entity" = ${quoted(table.name)} AND j."entity_id" = t."id" AND j."version" = t."version"
    WHERE t."id" > ${param('$id')} ORDER BY t."id" LIMIT ${intLiteral(limit)}`
}

/** Marks columns that former declarations have filled. */
async function withFills(
  { session }: Checked,
  table: Table,
  columns: readonly Column[],
): Promise<readonly Column[]> {
  const rows = await session.all(
    sql`SELECT DISTINCT m."column" FROM "takeback_migrations" m WHERE m."entity" = ${quoted(table.name)} AND m."change" LIKE '%"kind":"fill"%'`,
  )
  const filled = new Set(rows.map(([name]) => String(name)))
  return columns.map((column) => (filled.has(column.name) ? { fill: true, ...column } : column))
}

interface Newest {
  readonly kind: unknown
  readonly data: unknown
  readonly deletion: unknown
}

function compareJournal(
  where: string,
  columns: readonly Column[],
  held: ReadonlyMap<string, unknown>,
  newest: Newest,
): Finding[] {
  const differs = (what: string): Finding => ({ kind: 'entity', where, what })
  if ((held.get('deleted_at') === null) !== (held.get('deletion') === null))
    return [differs('is half deleted: deleted_at and deletion do not agree')]
  if (newest.kind === null)
    return [differs(`has version ${held.get('version')}, which the journal does not have`)]
  if (newest.kind === 'purge') return [differs('was purged according to the journal, but is still there')]
  if (newest.data === null) return [differs('has no data in the journal for its version')]
  let data: unknown
  try {
    data = JSON.parse(String(newest.data))
  } catch {
    return [differs('has data in the journal that is not JSON')]
  }
  const wrong = columns.filter(
    (column) => !isAsJournalled(column, journalledValue(data, column.name), held.get(column.name)),
  )
  const deletedBy = newest.deletion !== null && newest.deletion !== held.get('deletion')
  return [
    ...wrong.map((column) => differs(`differs from the journal in ${pathOf(column)}`)),
    ...(deletedBy ? [differs('was deleted by another operation according to the journal')] : []),
  ]
}

/** Compares derived columns with their texts: search words, folded texts and the key of an e-mail. */
function compareDerived(where: string, table: Table, held: ReadonlyMap<string, unknown>): Finding[] {
  return table.columns.flatMap(({ name, words, derived }): Finding[] => {
    const of = words?.of ?? derived?.from
    if (of === undefined) return []
    const text = held.get(of)
    const isFolded = foldedColumn(of) === name
    const by = isFolded ? foldText : words ? keptWords : emailKey
    const made = text === null || text === undefined ? null : by(String(text))
    const what = isFolded ? 'a folded text that does' : words ? 'search words that do' : 'a key that does'
    return made === held.get(name) ? [] : [{ kind: 'words', where, what: `has ${what} not match its ${of}` }]
  })
}

/** Compares every Entity in the journal with the table, and its versions with each other. */
export async function checkJournal({ session }: Checked, table: Table): Promise<Finding[]> {
  const ofTable = (alias: Sql) => sql`${alias}."entity" = ${quoted(table.name)}`
  const page = sql`SELECT g."id", g."lo", g."hi", g."n", t."version", n."kind",
      CASE WHEN t."id" IS NULL THEN (SELECT count(k."data") FROM "takeback_journal" k WHERE ${ofTable(sql`k`)} AND k."entity_id" = g."id") END
    FROM (SELECT j."entity_id" AS "id", min(j."version") AS "lo", max(j."version") AS "hi", count(*) AS "n" FROM "takeback_journal" j
      WHERE ${ofTable(sql`j`)} AND j."entity_id" > ${param('$id')} GROUP BY j."entity_id" ORDER BY j."entity_id" LIMIT ${intLiteral(ROWS_MAX)}) g
    JOIN "takeback_journal" n ON ${ofTable(sql`n`)} AND n."entity_id" = g."id" AND n."version" = g."hi"
    LEFT JOIN ${id(table.name)} t ON t."id" = g."id" ORDER BY g."id"`
  const findings: Finding[] = []
  for (let last = 0; findings.length < NAMED_MAX; ) {
    const rows = await session.all(page, { $id: last })
    for (const [row, lo, hi, n, version, kind, kept] of rows) {
      const differs = (what: string): Finding => ({ kind: 'journal', where: `${table.name}/${row}`, what })
      if (version === null && kind !== 'purge')
        findings.push(differs('is in the journal, but not in its table'))
      if (version === null && kind === 'purge' && Number(kept) > 0)
        findings.push(differs('was purged, but the journal still has data of it'))
      if (version !== null && Number(hi) > Number(version))
        findings.push(differs(`has version ${hi} in the journal, but ${version} in its table`))
      if (Number(n) !== Number(hi) - Number(lo) + 1)
        findings.push(differs(`has versions ${lo} to ${hi} in the journal, but only ${n} of them`))
    }
    if (rows.length < ROWS_MAX) break
    last = Number(rows.at(-1)?.[0])
  }
  return findings.slice(0, NAMED_MAX)
}

/** Finds types in the journal that the database does not have. Dropped types have a name with `~`. */
export async function checkTypes({ session, metadata }: Checked): Promise<Finding[]> {
  const known = metadata.tables.length === 0 ? sql`''` : join(metadata.tables.map(({ name }) => quoted(name)))
  const rows = await session.all(
    sql`SELECT DISTINCT j."entity" FROM "takeback_journal" j WHERE j."entity" NOT IN (${known}) AND j."entity" NOT LIKE '%~%'`,
  )
  return rows.map(([name]) => ({
    kind: 'journal',
    where: String(name),
    what: 'is in the journal, but the database has no such Entity type',
  }))
}
