import { formatDecimal } from '../../declare/fields/number.ts'
import type { Bound, Dialect, Row } from '../../store/dialect.ts'
import { ordered } from '../../store/order.ts'
import { id, intLiteral, join, param, type Sql, sql } from '../../store/sql.ts'
import type { Comparable, Sortable } from '../condition/query.ts'

/** The kinds of values that have a sum; then those that have a minimum and a maximum. */
export const NUMBERS: readonly string[] = ['integer', 'number', 'decimal']
export const ORDERED: readonly string[] = [...NUMBERS, 'date', 'datetime']

/** The figures of each group, for values by their dot paths. */
export interface Figures {
  readonly group: readonly Comparable[]
  readonly count: boolean
  /** The number of different values. */
  readonly distinct: readonly Comparable[]
  readonly sum: readonly Comparable[]
  readonly avg: readonly Comparable[]
  readonly min: readonly Comparable[]
  readonly max: readonly Comparable[]
}

/** A sort key of groups: one of their values, or a figure. `by.path`: its name in the request. */
export interface GroupKey {
  readonly by: Sortable | { readonly path: string }
  readonly figure: 'group' | 'count' | 'distinct' | 'sum' | 'avg' | 'min' | 'max'
  /** Undefined for `count`. */
  readonly of: Comparable | undefined
  readonly descending: boolean
}

/**
 * The order of groups. If it is by their values alone, a cursor has the values of the last group. Figures change with
 * every write, so otherwise a cursor has the number of groups to skip.
 */
export interface GroupOrder {
  readonly keys: readonly GroupKey[]
  readonly skipped: number | undefined
}

/** The parameter for the number of groups to skip. */
export const SKIPPED = '$skipped'

export function orderShape({ keys, skipped }: GroupOrder): string {
  const order = keys.map(({ by, figure, descending }) => `${descending ? '-' : '+'}${figure} ${by.path}`)
  return `${order.join(',')}|${skipped === undefined}`
}

/** The rows of a summary, and the SQL of a value of a row. */
export interface SummaryRows {
  readonly from: Sql
  readonly where: Sql
  readonly limit: number
  readonly order: GroupOrder
  value(by: Comparable): Sql
}

/** Rows of (JSON of the figures that are final, sort values, count; then sum and number of each value to add up). */
export function selectSummary(figures: Figures, rows: SummaryRows, dialect: Dialect): Sql {
  const { group, distinct, min, max } = figures
  const { keys, skipped } = rows.order
  // Each value gets a name: databases do not recognise a repeated subquery as the same expression in GROUP BY.
  const values = [
    ...new Map(
      [...group, ...distinct, ...addedUp(figures), ...min, ...max].map((by) => [by.path, by]),
    ).values(),
  ]
  const named = (by: Comparable) => id(`v${values.findIndex(({ path }) => path === by.path)}`)
  const column = (by: Comparable) => sql`x.${named(by)}`
  const rendered = (of: readonly Comparable[], wrap: (value: Sql) => Sql) =>
    of.map((by): [string, Sql] => [by.path, dialect.render(by.kind, wrap(column(by)), by.scale)])
  const groups = rendered(group, (value) => value)
  const differing = distinct.map((by): [string, Sql] => [
    by.path,
    dialect.render('integer', sql`count(DISTINCT ${column(by)})`, 0),
  ])
  const told = dialect.object([
    ['group', dialect.object(groups)],
    ['distinct', dialect.object(differing)],
    ['min', dialect.object(rendered(min, (value) => sql`min(${value})`))],
    ['max', dialect.object(rendered(max, (value) => sql`max(${value})`))],
  ])
  const place = group.length === 0 || skipped !== undefined ? sql`NULL` : placeOf(keys, column, dialect)
  const added = addedUp(figures).map((by) => sql`, ${dialect.sum(column(by), by.kind)}, count(${column(by)})`)
  const inner = [sql`1`, ...values.map((by) => sql`${rows.value(by)} AS ${named(by)}`)]
  const order = keys.flatMap((key) => orderOf(key, column, dialect))
  const grouped =
    group.length === 0 ? sql`` : sql` GROUP BY ${join(group.map(column))} ORDER BY ${join(order)}`
  const offset = skipped === undefined ? sql`` : sql` OFFSET ${param(SKIPPED, 'integer')}`
  return sql`SELECT ${told}, ${place}, count(*)${join(added, sql``)}
    FROM (SELECT ${join(inner)} FROM ${rows.from} WHERE ${rows.where}) x${grouped} LIMIT ${intLiteral(rows.limit + 1)}${offset}`
}

/** The SQL of a value inside of the grouped query. */
type ValueColumn = (by: Comparable) => Sql

/** The sort values of a group, for a cursor. */
function placeOf(keys: readonly GroupKey[], column: ValueColumn, dialect: Dialect): Sql {
  return dialect.array(
    keys.flatMap(({ of }) => (of === undefined ? [] : [dialect.render(of.kind, column(of), of.scale)])),
  )
}

function orderOf({ figure, of, descending }: GroupKey, column: ValueColumn, dialect: Dialect): Sql[] {
  const by = (...values: readonly Sql[]) => values.map((value) => ordered(value, '', descending))
  if (of === undefined) return by(sql`count(*)`)
  switch (figure) {
    case 'sum':
      return by(...dialect.sumOrder(column(of), of.kind))
    case 'avg':
      return by(dialect.average(column(of), of.kind, of.scale))
    case 'min':
      return by(sql`min(${column(of)})`)
    case 'max':
      return by(sql`max(${column(of)})`)
    case 'distinct':
      return by(sql`count(DISTINCT ${column(of)})`)
    default:
      return by(column(of))
  }
}

/** The values to add up for sums and averages, each once. */
function addedUp({ sum, avg }: Figures): Comparable[] {
  return [...new Map([...sum, ...avg].map((by) => [by.path, by])).values()]
}

/** The figures that the database returns as JSON. */
type Figure = 'group' | 'distinct' | 'min' | 'max'

/** One group of the answer. */
export function summaryOf(figures: Figures, row: Row): object {
  const [told, , number, ...added] = row
  const { group, distinct, min, max } = JSON.parse(String(told)) as Record<Figure, object>
  const sums = new Map(
    addedUp(figures).map((by, at) => [by.path, sumOf(by, added[2 * at] ?? null, Number(added[2 * at + 1]))]),
  )
  const pick = (of: readonly Comparable[], which: 'sum' | 'avg') =>
    Object.fromEntries(of.map(({ path }) => [path, sums.get(path)?.[which] ?? null]))
  return {
    ...(figures.group.length > 0 && { group }),
    ...(figures.count && { count: Number(number) }),
    ...(figures.distinct.length > 0 && { distinct }),
    ...(figures.sum.length > 0 && { sum: pick(figures.sum, 'sum') }),
    ...(figures.avg.length > 0 && { avg: pick(figures.avg, 'avg') }),
    ...(figures.min.length > 0 && { min }),
    ...(figures.max.length > 0 && { max }),
  }
}

/** A sum and an average, from the result of `dialect.sum`. The sum is exact if the values are. */
function sumOf(
  { kind, scale }: Comparable,
  sum: Bound,
  of: number,
): { sum: string | number | null; avg: number | null } {
  if (sum === null || of === 0) return { sum: null, avg: null }
  if (kind === 'number') return { sum: Number(sum), avg: Number(sum) / of }
  const digits = kind === 'decimal' ? scale : 0
  const exact = wholeOf(String(sum), digits)
  const text = formatDecimal(exact, digits)
  // Beyond 2^53, a JSON number would not be exact.
  const fits = kind !== 'decimal' && Number.isSafeInteger(Number(exact))
  return { sum: fits ? Number(exact) : text, avg: Number(text) / of }
}

/** A sum as an integer, without its decimal point. Some databases return it in two halves, which are joined. */
function wholeOf(text: string, digits: number): bigint {
  const [high = '0', low] = text.split(' ')
  if (low !== undefined) return BigInt(high) * 67_108_864n + BigInt(low)
  const [whole = '0', fraction = ''] = high.split('.')
  return BigInt(whole + fraction.padEnd(digits, '0').slice(0, digits))
}
