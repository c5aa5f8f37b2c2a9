import type { Column, Index, Table } from '../tables.ts'
import { type Draft, pathOf } from './draft.ts'
import { contentOf, conversion, isWider } from './limits.ts'
import type { Found } from './rows.ts'
import { cannotBecome } from './shapes.ts'
import { indexName, saidOf } from './structure.ts'

/** From a table as it is held to the same one as it is wanted. */
export async function alter(old: Table, table: Table, draft: Draft): Promise<void> {
  await refuseAbsent(old, table, draft)
  refuseTwins(old, table, draft)
  const converted = new Set<string>()
  for (const column of table.columns.filter(({ words }) => words === undefined)) {
    const former = old.columns.find(({ name }) => name === column.name)
    const filled = withFill(column, old)
    if (former === undefined) await addColumn(old, table, filled, draft)
    else {
      if (await changeColumn(old, table, former, column, draft)) converted.add(column.name)
      if (needsFill(former, filled)) {
        draft.additive = false
        await fillColumn(old, table, filled, draft)
      }
    }
  }
  alterWords(old, table, draft)
  await alterIndexes(old, table, converted, draft)
}

/** Words are made from texts that are there: they come and go with the wish to search them. */
function alterWords(old: Table, table: Table, draft: Draft): void {
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
      draft.safe(`${table.name}.${words.of}`, 'can be searched now')
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
      'cannot be searched any more',
    )
  }
}

/** SQL does not tell `Name` from `name`, and what is kept aside is still there. */
function refuseTwins(old: Table, table: Table, draft: Draft): void {
  for (const column of table.columns.filter(({ words }) => words === undefined)) {
    const twin = old.columns.find(
      ({ name }) => name !== column.name && name.toLowerCase() === column.name.toLowerCase(),
    )
    if (twin !== undefined && !table.columns.some(({ name }) => name === twin.name))
      draft.refuse(
        pathOf(table, column),
        `differs from ${twin.name}, which is kept aside, in capitals only: say was: '${twin.name}', or choose another name`,
      )
  }
}

async function addColumn(old: Table, table: Table, column: Column, draft: Draft): Promise<void> {
  const path = pathOf(table, column)
  const rows = await rowsOf(old, column, draft)
  if (column.required && column.fill === undefined && rows > 0)
    return draft.refuse(
      path,
      `is new and required, but there are ${rows} ${old.name} already: make it optional or give it a default`,
    )
  const inObject = column.within !== undefined
  draft.do({ kind: 'add column', table, column, rows })
  draft.safe(path, newColumn(column, rows), rows)
  // Who does not know of a reference would delete its target; who does not know what is required leaves it out.
  if (
    column.references !== undefined ||
    column.links !== undefined ||
    (column.required && column.fill === undefined)
  )
    draft.additive = false
  if (column.fill === undefined) return
  // Rows of those who still run with the former declaration would have nothing there.
  if (inObject || column.kind === 'presence') draft.additive = false
  if (inObject) draft.do({ kind: 'fill column', table, column, rows })
}

function newColumn({ fill, kind, required }: Column, rows: number): string {
  if (kind === 'presence') return fill === undefined ? 'is new, and may be left out' : 'may be left out now'
  if (fill !== undefined)
    return `is new${rows === 0 ? ', with' : `: ${gets(rows)}`} the default ${JSON.stringify(fill)}`
  return required ? 'is new' : 'is new, and empty in what is there'
}

function gets(rows: number): string {
  return rows === 1 ? '1 row gets' : `${rows} rows get`
}

/** Rows that have nothing get the default. */
async function fillColumn(old: Table, table: Table, column: Column, draft: Draft): Promise<void> {
  const { within, ...bare } = column
  const isKnown = within !== undefined && old.columns.some(({ name }) => name === within)
  const looked = isKnown ? { ...bare, within } : bare
  const rows = column.kind === 'presence' ? 0 : (await draft.rows.empty(old.name, looked)).count
  draft.do({ kind: 'fill column', table, column, rows })
  if (rows > 0)
    draft.safe(
      pathOf(table, column),
      `is empty in what is there: ${gets(rows)} the default ${JSON.stringify(column.fill)}`,
      rows,
    )
}

/** How many rows a new column finds that must have a value, or get one. */
async function rowsOf(old: Table, column: Column, draft: Draft): Promise<number> {
  const { within } = column
  if (column.kind === 'presence' || (!column.required && column.fill === undefined)) return 0
  const known = old.columns.some(({ name }) => name === within)
  // An object that is new itself is in no row yet; one that was required until now is in all of them.
  if (within !== undefined && !known && !wasDeclared(old, within)) return 0
  return draft.rows.count(old.name, known ? within : undefined)
}

/** An object that was required and is optional now is there in every row. */
function withFill(column: Column, old: Table): Column {
  const known = old.columns.some(({ name, aside }) => name === column.name && !aside)
  return column.kind === 'presence' && !known && wasDeclared(old, column.name)
    ? { ...column, fill: 1 }
    : column
}

function wasDeclared(old: Table, object: string): boolean {
  return old.columns.some(({ name, aside }) => !aside && name.startsWith(`${object}.`))
}

/** Rows that have nothing in a column get what new ones would, where it has another role than before. */
function needsFill(former: Column, column: Column): boolean {
  return (
    column.fill !== undefined &&
    column.optional !== true &&
    (former.aside === true || former.fill === undefined || former.optional === true)
  )
}

/** An optional object that is required now must be there in every row. */
async function refuseAbsent(old: Table, table: Table, draft: Draft): Promise<void> {
  for (const column of old.columns) {
    const declared = table.columns.some(({ name }) => name.startsWith(`${column.name}.`))
    const required = !table.columns.some(({ name }) => name === column.name)
    if (column.kind !== 'presence' || column.aside || !declared || !required) continue
    if (refuseEmpty(table, column, await draft.rows.empty(table.name, column), draft)) continue
    draft.additive = false
    draft.safe(pathOf(table, column), 'is required now')
  }
}

function refuseEmpty(table: Table, column: Column, found: Found, draft: Draft): boolean {
  return draft.refuseFound(
    table,
    pathOf(table, column),
    found,
    (which) => `is required now, but ${which} have none: make it optional, or fill them first`,
  )
}

/** Whether it is to hold its values as another kind. */
async function changeColumn(
  old: Table,
  table: Table,
  former: Column,
  column: Column,
  draft: Draft,
): Promise<boolean> {
  const path = pathOf(table, column)
  const before = draft.lines.length
  const convert =
    contentOf(former) === contentOf(column) ? (value: unknown) => value : conversion(former, column)
  if (convert === undefined) {
    draft.refuse(path, cannotBecome(path, contentOf(former), contentOf(column)))
    return false
  }
  await refuseEmptied(old, table, former, column, draft)
  const target = column.references ?? column.links
  if (former.aside && target !== undefined)
    draft.refuseFound(
      table,
      path,
      await draft.rows.dangling(old.name, column),
      (which) =>
        `is declared again, but ${which} refer to ${target} that were deleted meanwhile: restore those first, or choose another name`,
    )
  if (former.aside && column.derived !== undefined)
    draft.refuseFound(
      table,
      path,
      await draft.rows.underived(old.name, column),
      (which) =>
        `is made from ${column.derived?.from}, which ${which} have changed meanwhile: change it back first, or choose another name for the type`,
    )
  if (former.aside && !column.secret)
    draft.do({ kind: 'rejoin column', table, column: { ...former, name: column.name } })
  const other = contentOf(former) !== contentOf(column)
  await refuseUnfit(table, former, column, convert, draft)
  if (draft.lines.length > before) return false
  if (other) {
    draft.additive = false
    const rows = await draft.rows.count(old.name, column.name)
    draft.do({ kind: 'convert column', table, from: former, column, rows })
    draft.safe(path, `becomes ${contentOf(column)}, from ${contentOf(former)}`, rows)
    return true
  }
  if (former.aside && column.kind === 'presence' && wasDeclared(old, column.name))
    draft.safe(path, 'may be left out now')
  else sayChanged(path, former, column, draft)
  return false
}

function sayChanged(path: string, former: Column, column: Column, draft: Draft): void {
  if (former.aside) draft.safe(path, 'is declared again, with its data')
  else if (former.required !== column.required || former.optional !== column.optional) {
    if (column.required) draft.additive = false
    draft.safe(path, column.required ? 'is required now' : 'may be left out now')
  }
  if (!Bun.deepEquals(former.limits, column.limits) && column.limits !== undefined) {
    const wider = isWider(former.limits, column.limits)
    if (!wider) draft.additive = false
    draft.safe(path, wider ? 'has wider limits' : 'has other limits, which all that is there fits')
  }
  if (!Bun.deepEquals(former.fill, column.fill)) draft.safe(path, 'has another default')
}

async function refuseEmptied(
  old: Table,
  table: Table,
  former: Column,
  column: Column,
  draft: Draft,
): Promise<void> {
  const wrapped =
    column.within !== undefined && !old.columns.some(({ name, aside }) => name === column.within && !aside)
  const asBefore = former.required === true && !former.aside && (wrapped || former.within === column.within)
  if (!column.required || asBefore) return
  // The column that says whether the object is there may itself be new: then the one around it counts.
  const within = wrapped ? former.within : column.within
  const { within: _, ...bare } = column
  const looked = within === undefined ? bare : { ...bare, within }
  refuseEmpty(table, column, await draft.rows.empty(old.name, looked), draft)
}

async function refuseUnfit(
  table: Table,
  former: Column,
  column: Column,
  convert: (value: unknown) => unknown,
  draft: Draft,
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
    pathOf(table, column),
    found,
    (which) =>
      `has limits that are not met by ${which}: the first ${sentence}. Change them first, or declare wider limits`,
  )
}

async function alterIndexes(
  old: Table,
  table: Table,
  converted: ReadonlySet<string>,
  draft: Draft,
): Promise<void> {
  const key = (index: Index) => indexName(table.name, index)
  const touched = (index: Index) => index.columns.some((name) => converted.has(name))
  const stays = (index: Index, others: readonly Index[]) =>
    !touched(index) && others.some((other) => key(other) === key(index))
  for (const index of old.indexes.filter((one) => !stays(one, table.indexes))) {
    draft.do({ kind: 'drop index', table, index })
    if (touched(index)) continue
    if (index.unique) draft.safe(`${table.name}.${saidOf(index)}`, 'need not be unique any more')
    if (index.descending !== undefined)
      draft.safe(`${table.name}.${saidOf(index)}`, 'is not indexed any more')
  }
  for (const index of table.indexes) if (await refuseSameFill(old, table, index, draft)) return
  for (const index of table.indexes.filter((one) => !stays(one, old.indexes)))
    if (old.indexes.some((one) => key(one) === key(index))) draft.do({ kind: 'add index', table, index })
    else await addIndex(old, table, index, draft)
}

async function addIndex(old: Table, table: Table, index: Index, draft: Draft): Promise<void> {
  const isNew = index.columns.some((name) => !old.columns.some((column) => column.name === name))
  const path = `${table.name}.${saidOf(index)}`
  if (index.unique) draft.additive = false
  if (await refuseLong(old, table, index, draft)) return
  if (index.unique && !isNew) {
    const found = await draft.rows.duplicates(old.name, index.columns)
    const refused = draft.refuseFound(
      table,
      path,
      found,
      (which) => `must be unique now, but ${which} have the same as others: change them first`,
    )
    if (refused) return
    draft.additive = false
    draft.safe(path, 'must be unique now')
  }
  if (index.descending === undefined) draft.do({ kind: 'add index', table, index })
  else draft.do({ kind: 'add index', table, index }, path, 'is indexed now')
}

/** An index takes only so many bytes of a text, which its check knows. */
async function refuseLong(old: Table, table: Table, index: Index, draft: Draft): Promise<boolean> {
  let refused = false
  for (const name of index.columns) {
    const column = table.columns.find((one) => one.name === name)
    const former = old.columns.find((one) => one.name === name)
    if (column?.kind !== 'text' || former?.kind !== 'text' || column.check === undefined) continue
    const { check } = column
    const found = await draft.rows.unfit(table.name, former, (value) => {
      const errors = new Map<string, string[]>()
      check(value, name, errors)
      return errors.size === 0
    })
    const now = index.unique ? 'must be unique now' : 'is indexed now'
    const why = (which: string) => `${now}, but ${which} are too long for that: shorten them first`
    refused = draft.refuseFound(table, `${table.name}.${name}`, found, why) || refused
  }
  return refused
}

/** What gets its default for the first time would all have the same. */
async function refuseSameFill(old: Table, table: Table, index: Index, draft: Draft): Promise<boolean> {
  const [name, ...more] = index.columns
  const column = table.columns.find((one) => one.name === name)
  if (!index.unique || more.length > 0 || column?.fill === undefined || column.within !== undefined)
    return false
  const former = old.columns.find((one) => one.name === name)
  if (former !== undefined && !needsFill(former, column)) return false
  const empty =
    former === undefined ? await draft.rows.count(old.name) : (await draft.rows.empty(old.name, column)).count
  if (empty < 2) return false
  draft.refuse(
    `${table.name}.${name}`,
    `must be unique, but ${empty} of ${table.name} have none and would all get the same default: leave out the default, or fill them first`,
  )
  return true
}
