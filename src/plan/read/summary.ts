import { formatDecimal } from '../../declare/fields/number.ts'
import type { Bound, Dialect, Row } from '../../store/dialect.ts'
import { ordered } from '../../store/order.ts'
import { count, id, join, type Sql, sql } from '../../store/sql.ts'
import type { Comparable } from '../condition/query.ts'

/** The kinds of values that can be added up, and those that have a least and a greatest. */
export const NUMBERS: readonly string[] = ['integer', 'number', 'decimal']
export const ORDERED: readonly string[] = [...NUMBERS, 'date', 'datetime']

/** What a summary shows of each group, by the dot paths of values. */
export interface Figures {
  readonly group: readonly Comparable[]
  readonly count: boolean
  readonly sum: readonly Comparable[]
  readonly avg: readonly Comparable[]
  readonly min: readonly Comparable[]
  readonly max: readonly Comparable[]
}

/** The rows of a summary, and the SQL of a value of a row. */
export interface SummaryRows {
  readonly from: Sql
  readonly where: Sql
  readonly limit: number
  value(by: Comparable): Sql
}

/** Rows of (JSON of what the database tells by itself, its place, count; for each that is added up its sum and how many). */
export function selectSummary(figures: Figures, rows: SummaryRows, dialect: Dialect): Sql {
  const { group, min, max } = figures
  // Each value gets a name: databases do not recognise a repeated subquery as the same expression in GROUP BY.
  const values = [
    ...new Map([...group, ...addedUp(figures), ...min, ...max].map((by) => [by.path, by])).values(),
  ]
  const named = (by: Comparable) => id(`v${values.findIndex(({ path }) => path === by.path)}`)
  const column = (by: Comparable) => sql`x.${named(by)}`
  const rendered = (of: readonly Comparable[], wrap: (value: Sql) => Sql) =>
    of.map((by): [string, Sql] => [by.path, dialect.render(by.kind, wrap(column(by)), by.scale)])
  const groups = rendered(group, (value) => value)
  const told = dialect.object([
    ['group', dialect.object(groups)],
    ['min', dialect.object(rendered(min, (value) => sql`min(${value})`))],
    ['max', dialect.object(rendered(max, (value) => sql`max(${value})`))],
  ])
  const place = group.length === 0 ? sql`NULL` : dialect.array(groups.map(([, value]) => value))
  const added = addedUp(figures).map((by) => sql`, ${dialect.sum(column(by), by.kind)}, count(${column(by)})`)
  const inner = [sql`1`, ...values.map((by) => sql`${rows.value(by)} AS ${named(by)}`)]
  const order = group.map((by) => ordered(column(by), '', false))
  const grouped =
    group.length === 0 ? sql`` : sql` GROUP BY ${join(group.map(column))} ORDER BY ${join(order)}`
  return sql`SELECT ${told}, ${place}, count(*)${join(added, sql``)}
    FROM (SELECT ${join(inner)} FROM ${rows.from} WHERE ${rows.where}) x${grouped} LIMIT ${count(rows.limit + 1)}`
}

/** The values to add up, for sums and averages, each once. */
function addedUp({ sum, avg }: Figures): Comparable[] {
  return [...new Map([...sum, ...avg].map((by) => [by.path, by])).values()]
}

/** One group, as it is answered. */
export function summaryOf(figures: Figures, row: Row): object {
  const [told, , number, ...added] = row
  const { group, min, max } = JSON.parse(String(told)) as Record<'group' | 'min' | 'max', object>
  const sums = new Map(
    addedUp(figures).map((by, at) => [by.path, sumOf(by, added[2 * at] ?? null, Number(added[2 * at + 1]))]),
  )
  const pick = (of: readonly Comparable[], which: 'sum' | 'avg') =>
    Object.fromEntries(of.map(({ path }) => [path, sums.get(path)?.[which] ?? null]))
  return {
    ...(figures.group.length > 0 && { group }),
    ...(figures.count && { count: Number(number) }),
    ...(figures.sum.length > 0 && { sum: pick(figures.sum, 'sum') }),
    ...(figures.avg.length > 0 && { avg: pick(figures.avg, 'avg') }),
    ...(figures.min.length > 0 && { min }),
    ...(figures.max.length > 0 && { max }),
  }
}

/** A sum as `dialect.sum` gives it: exact where the values are. */
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
  // Beyond 2^53 a number of JSON is not what was added up any more.
  const fits = kind !== 'decimal' && Number.isSafeInteger(Number(exact))
  return { sum: fits ? Number(exact) : text, avg: Number(text) / of }
}

/** A sum without its decimal point; or put together from two halves, where the database had to add them up apart. */
function wholeOf(text: string, digits: number): bigint {
  const [high = '0', low] = text.split(' ')
  if (low !== undefined) return BigInt(high) * 67_108_864n + BigInt(low)
  const [whole = '0', fraction = ''] = high.split('.')
  return BigInt(whole + fraction.padEnd(digits, '0').slice(0, digits))
}
