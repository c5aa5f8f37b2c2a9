import { foldedColumn } from '../../declare/folded-column.ts'
import { countInWords } from '../../declare/with-article.ts'
import { type Column, isEpochOf, isJournalled, type Table } from '../tables.ts'
import { alterIndexes } from './alter-indexes.ts'
import { columnPath, type Draft } from './draft.ts'
import { contentOf, conversion, isWider } from './limits.ts'
import { maybeRenamed } from './maybe-renamed.ts'
import type { FoundRows } from './rows.ts'
import { cannotBecome } from './shapes.ts'
import { needsFill, type TableAlteration } from './table-alteration.ts'

/** Drafts the changes from a table as it is to the table as it should be. */
export async function alter(old: Table, table: Table, draft: Draft): Promise<void> {
  const altering: TableAlteration = { old, table, draft }
  await refuseAbsent(altering)
  refuseTwins(altering)
  const converted = new Set<string>()
  for (const column of table.columns.filter(({ words }) => words === undefined)) {
    const former = old.columns.find(({ name }) => name === column.name)
    const filled = withFill(column, old)
    if (former === undefined) await addColumn(altering, filled)
    else {
      if (await changeColumn(altering, { former, column })) converted.add(column.name)
      if (needsFill(former, filled)) {
        draft.additive = false
        await fillColumn(altering, filled)
      }
    }
  }
  alterWords(altering)
  await alterIndexes(altering, converted)
  draftChecks(altering)
}

/** Adds new checks. Servers with the former declaration do not know them. */
function draftChecks({ old, table, draft }: TableAlteration): void {
  const known = new Set(old.checks?.map(({ that }) => that))
  for (const check of table.checks ?? []) {
    if (known.has(check.that)) continue
    draft.additive = false
    draft.checks.push({ table, check })
  }
}

/** Adds and drops derived columns: words and folded texts come and go with the options for search and fold. */
function alterWords({ old, table, draft }: TableAlteration): void {
  const filled = (path: string) =>
    draft.changes.some(
      (change) =>
        (change.kind === 'fill column' || change.kind === 'add column') &&
        change.table === table &&
        change.column.name === path,
    )
  for (const column of table.columns) {
    const { words } = column
    if (words === undefined) continue
    const former = old.columns.find(({ name }) => name === column.name)
    if (former === undefined) {
      draft.additive = false
      draft.do({ kind: 'add column', table, column, rows: 0 })
      draft.safe(
        `${table.name}.${words.of}`,
        foldedColumn(words.of) === column.name ? 'is folded now' : 'is searched now',
      )
    }
    if (former === undefined || former.aside || filled(words.of))
      draft.do({ kind: 'fill words', table, column })
  }
  for (const column of old.columns) {
    if (column.words === undefined || table.columns.some(({ name }) => name === column.name)) continue
    draft.additive = false
    draft.do(
      { kind: 'drop column', table, column },
      `${table.name}.${column.words.of}`,
      foldedColumn(column.words.of) === column.name ? 'is no longer folded' : 'is no longer searched',
    )
  }
}

/** Refuses a name that differs only in case from a column kept aside: SQL does not distinguish them. */
function refuseTwins({ old, table, draft }: TableAlteration): void {
  for (const column of table.columns.filter(({ words }) => words === undefined)) {
    const twin = old.columns.find(
      ({ name }) => name !== column.name && name.toLowerCase() === column.name.toLowerCase(),
    )
    if (twin !== undefined && !table.columns.some(({ name }) => name === twin.name))
      draft.refuse(
        columnPath(table, column),
        `differs only in case from ${twin.name}, which is kept aside: write was: '${twin.name}', or choose another name`,
      )
  }
}

async function addColumn({ old, table, draft }: TableAlteration, column: Column): Promise<void> {
  const path = columnPath(table, column)
  const rows = await rowsToFill(old, column, draft)
  if (column.required && column.fill === undefined && rows > 0) {
    const was = maybeRenamed(column, table, old)
    const hint = was === undefined ? '' : `. If it was called ${was} before, write was: '${was}'`
    const missing = `is new and required, but is missing in ${countInWords(rows, old.name)}`
    return draft.refuse(path, `${missing}: make it optional, or give it a constant as its default${hint}`)
  }
  const inObject = column.within !== undefined
  draft.do({ kind: 'add column', table, column, rows })
  draft.safe(path, newColumn(column, rows), rows)
  // A server that does not know a reference would delete its target. One that does not know a required field omits it.
  if (
    column.references !== undefined ||
    column.links !== undefined ||
    (column.required && column.fill === undefined)
  )
    draft.additive = false
  if (column.fill === undefined) return
  // Rows from servers with the former declaration would have no value there.
  if (inObject || column.kind === 'presence') draft.additive = false
  if (inObject) draft.do({ kind: 'fill column', table, column, rows })
}

function newColumn({ fill, kind, required }: Column, rows: number): string {
  if (kind === 'presence') return fill === undefined ? 'is new and optional' : 'is optional now'
  if (fill !== undefined)
    return `is new${rows === 0 ? ', with' : `: ${gets(rows)}`} the default ${JSON.stringify(fill)}`
  return required ? 'is new' : 'is new, and empty in existing rows'
}

function gets(rows: number): string {
  return rows === 1 ? '1 row gets' : `${rows} rows get`
}

/** Gives the default to rows without a value. */
async function fillColumn({ old, table, draft }: TableAlteration, column: Column): Promise<void> {
  const { within, ...bare } = column
  const isKnown = within !== undefined && old.columns.some(({ name }) => name === within)
  const looked = isKnown ? { ...bare, within } : bare
  const rows = column.kind === 'presence' ? 0 : (await draft.rows.empty(old.name, looked)).count
  draft.do({ kind: 'fill column', table, column, rows })
  if (rows > 0)
    draft.safe(
      columnPath(table, column),
      `is empty in existing rows: ${gets(rows)} the default ${JSON.stringify(column.fill)}`,
      rows,
    )
}

/** The number of rows in which a new column must have a value, or gets one. */
async function rowsToFill(old: Table, column: Column, draft: Draft): Promise<number> {
  const { within } = column
  if (column.kind === 'presence' || (!column.required && column.fill === undefined)) return 0
  const known = old.columns.some(({ name }) => name === within)
  // An object that is new is in no row yet. One that was required until now is in all rows.
  if (within !== undefined && !known && !wasDeclared(old, within)) return 0
  return draft.rows.count(old.name, known ? within : undefined)
}

/** If an object was required and is now optional, it is present in every row. */
function withFill(column: Column, old: Table): Column {
  const known = old.columns.some(({ name, aside }) => name === column.name && !aside)
  return column.kind === 'presence' && !known && wasDeclared(old, column.name)
    ? { ...column, fill: 1 }
    : column
}

function wasDeclared(old: Table, object: string): boolean {
  return old.columns.some(({ name, aside }) => !aside && name.startsWith(`${object}.`))
}

/** Refuses to make an optional object required if it is missing in some rows. */
async function refuseAbsent({ old, table, draft }: TableAlteration): Promise<void> {
  for (const column of old.columns) {
    const declared = table.columns.some(({ name }) => name.startsWith(`${column.name}.`))
    const required = !table.columns.some(({ name }) => name === column.name)
    if (column.kind !== 'presence' || column.aside || !declared || !required) continue
    if (refuseEmpty(table, column, await draft.rows.empty(table.name, column), draft)) continue
    draft.additive = false
    draft.safe(columnPath(table, column), 'is required now')
  }
}

function refuseEmpty(table: Table, column: Column, found: FoundRows, draft: Draft): boolean {
  return draft.refuseFound(
    table,
    columnPath(table, column),
    found,
    (which) => `is required now, but is missing in ${which}: make it optional, or fill it in first`,
  )
}

/** A column as it is, and as it should be. */
interface Changing {
  readonly former: Column
  readonly column: Column
}

/** Drafts the change of a column. Returns whether its values are converted to another kind. */
async function changeColumn(altering: TableAlteration, changing: Changing): Promise<boolean> {
  const { old, table, draft } = altering
  const { former, column } = changing
  const path = columnPath(table, column)
  const before = draft.lines.length
  const isConverted = contentOf(former) !== contentOf(column)
  const convert = isConverted ? conversion(former, column) : (value: unknown) => value
  if (convert === undefined) {
    draft.refuse(path, cannotBecome(path, contentOf(former), contentOf(column)))
    return false
  }
  await refuseEmptied(altering, changing)
  if (former.aside) await draftRejoin(altering, changing)
  await refuseUnfit(altering, changing, convert)
  if (draft.lines.length > before) return false
  if (isConverted) {
    draft.additive = false
    const rows = await draft.rows.count(old.name, column.name)
    draft.do({ kind: 'convert column', table, from: former, column, rows })
    draft.safe(path, `becomes ${contentOf(column)}, from ${contentOf(former)}`, rows)
    return true
  }
  if (former.aside && column.kind === 'presence' && wasDeclared(old, column.name))
    draft.safe(path, 'is optional now')
  else sayChanged(path, changing, draft)
  return false
}

/** Drafts that an aside column is declared again. Its values must still fit what has changed since. */
async function draftRejoin(
  { old, table, draft }: TableAlteration,
  { former, column }: Changing,
): Promise<void> {
  const path = columnPath(table, column)
  const target = column.references ?? column.links
  if (target !== undefined)
    draft.refuseFound(
      table,
      path,
      await draft.rows.dangling(old.name, column),
      (which) =>
        `is declared again, but refers to deleted ${target} in ${which}: restore those first, or choose another name`,
    )
  if (column.derived !== undefined)
    draft.refuseFound(
      table,
      path,
      await draft.rows.underived(old.name, column),
      (which) =>
        `is made from ${column.derived?.from}, which has changed in ${which}: change it back first, or choose another name for the type`,
    )
  // A user may have been deleted while the type had no login.
  if (isEpochOf(table, column)) draft.do({ kind: 'end sessions', table, column })
  else if (isJournalled(column))
    draft.do({ kind: 'rejoin column', table, column: { ...former, name: column.name } })
}

function sayChanged(path: string, { former, column }: Changing, draft: Draft): void {
  if (former.aside) draft.safe(path, 'is declared again, with its data')
  else if (former.required !== column.required || former.optional !== column.optional) {
    if (column.required) draft.additive = false
    const narrowed = former.optional === true && column.optional !== true
    const freed = narrowed ? 'is no longer optional' : 'is optional now'
    draft.safe(path, column.required ? 'is required now' : freed)
  }
  if (!Bun.deepEquals(former.limits, column.limits) && column.limits !== undefined) {
    const wider = isWider(former.limits, column.limits)
    if (!wider) draft.additive = false
    draft.safe(path, wider ? 'has wider limits' : 'has other limits, which all rows meet')
  }
  if (!Bun.deepEquals(former.fill, column.fill)) draft.safe(path, 'has another default')
}

async function refuseEmptied(
  { old, table, draft }: TableAlteration,
  { former, column }: Changing,
): Promise<void> {
  const wrapped =
    column.within !== undefined && !old.columns.some(({ name, aside }) => name === column.within && !aside)
  const asBefore = former.required === true && !former.aside && (wrapped || former.within === column.within)
  if (!column.required || asBefore) return
  // If the presence column of the object is itself new, the object around it counts.
  const within = wrapped ? former.within : column.within
  const { within: _, ...bare } = column
  const looked = within === undefined ? bare : { ...bare, within }
  refuseEmpty(table, column, await draft.rows.empty(old.name, looked), draft)
}

async function refuseUnfit(
  { table, draft }: TableAlteration,
  { former, column }: Changing,
  convert: (value: unknown) => unknown,
): Promise<void> {
  const { check, limits } = column
  if (check === undefined || limits === undefined || column.secret) return
  if (contentOf(former) === contentOf(column) && isWider(former.limits, limits)) return
  let sentence = ''
  const found = await draft.rows.unfit(table.name, { ...former, name: column.name }, (value) => {
    const errors = new Map<string, string[]>()
    check(convert(value), column.name, errors)
    sentence ||= [...errors.values()].flat()[0] ?? ''
    return errors.size === 0
  })
  draft.refuseFound(
    table,
    columnPath(table, column),
    found,
    (which) =>
      `has limits that are violated by ${which}: the first ${sentence}. Change these rows first, or declare wider limits`,
  )
}
