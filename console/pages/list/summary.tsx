import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { get, type Json, type Page } from '../../api.ts'
import { formatDate, formatNumber } from '../../format.ts'
import { useModel } from '../../model.ts'
import { QueryState } from '../../parts/states.tsx'
import { formatDecimal, isNumeric, textOf } from '../../parts/value.tsx'
import { useTexts } from '../../texts/index.ts'
import type { Column } from './columns.ts'
import type { ListPart } from './list-part.ts'
import type { View } from './view.ts'

interface Figures {
  readonly group?: Json
  readonly count: number
  readonly sum?: Json
  readonly avg?: Json
  readonly min?: Json
  readonly max?: Json
}

const MOST_COLUMNS = 8
const MOST_GROUPS = 12

/** Counts, sums and groups of everything that the list shows. */
export default function Summary({ type, view, change, columns }: ListPart) {
  const texts = useTexts()
  const id = useId()
  const groups = useGroups(columns.all)
  const [by, setBy] = useState(groups[0]?.key)
  return (
    <div className="summary">
      <Totals entity={type.name} view={view} columns={columns.shown} />
      {groups.length > 0 && (
        <div className="field">
          <label htmlFor={id}>{texts.list.groupBy}</label>
          <select id={id} value={by} onChange={({ target }) => setBy(target.value)}>
            {groups.map(({ key, label }) => (
              <option key={key} value={key}>
                {label}
              </option>
            ))}
          </select>
        </div>
      )}
      {groups.map(
        (group) =>
          group.key === by && (
            <Bars
              key={group.key}
              entity={type.name}
              view={view}
              group={group}
              onFilter={(filter) => change({ filter })}
            />
          ),
      )}
    </div>
  )
}

function useFigures(
  entity: string,
  { filter, search, trashed }: View,
  asked: Readonly<Record<string, unknown>>,
) {
  return useQuery({
    queryKey: ['list', entity, 'summary', { filter, search, trashed }, asked],
    queryFn: ({ signal }) =>
      get<Page<Figures>>(`${entity}/summary/`, { filter, search, trashed, count: 1, ...asked }, signal),
    placeholderData: (before) => before,
  })
}

/** Sum, average, minimum and maximum of the number columns. */
function Totals({
  entity,
  view,
  columns,
}: {
  readonly entity: string
  readonly view: View
  readonly columns: readonly Column[]
}) {
  const texts = useTexts()
  const numbers = columns
    .filter(
      ({ field, isFilterable, path }) =>
        isNumeric(field) && isFilterable && path !== 'id' && path !== 'version',
    )
    .slice(0, MOST_COLUMNS)
  const paths = numbers.map(({ path }) => path).join(',') || undefined
  const query = useFigures(entity, view, { sum: paths, avg: paths, min: paths, max: paths })
  const [figures] = query.data?.data ?? []
  if (figures === undefined) return <QueryState query={query} />
  return (
    <table className="plain">
      <caption>{texts.list.count(formatNumber(figures.count))}</caption>
      {numbers.length > 0 && (
        <thead>
          <tr>
            <td />
            {(['sum', 'avg', 'min', 'max'] as const).map((name) => (
              <th key={name} scope="col" className="number">
                {texts.list.figures[name]}
              </th>
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {numbers.map(({ path, label }) => (
          <tr key={path}>
            <th scope="row">{label}</th>
            {(['sum', 'avg', 'min', 'max'] as const).map((name) => (
              <td key={name} className="number">
                {figureText(figures[name]?.[path])}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const rounded = 1000

function figureText(value: unknown): string {
  if (typeof value === 'number') return formatNumber(Math.round(value * rounded) / rounded)
  return typeof value === 'string' ? formatDecimal(value) : '–'
}

interface Group {
  /** The name for `group`. */
  readonly key: string
  readonly label: string
  readonly column: Column
}

/** Returns useful groupings: fields with few values, references by their titles, and months. */
function useGroups(columns: readonly Column[]): readonly Group[] {
  const { entities } = useModel()
  return columns.flatMap((column): Group[] => {
    const { path, label, field, isFilterable } = column
    if (!isFilterable) return []
    if (field.type === 'choice' || field.type === 'boolean') return [{ key: path, label, column }]
    if (field.type === 'date' || field.type === 'datetime') return [{ key: `month(${path})`, label, column }]
    const title = field.type === 'ref' ? entities.find(({ name }) => name === field.to)?.title : undefined
    return title === undefined || title === null ? [] : [{ key: `${path}.${title}`, label, column }]
  })
}

interface BarsProps {
  readonly entity: string
  readonly view: View
  readonly group: Group
  onFilter(filter: string): void
}

function Bars({ entity, view, group, onFilter }: BarsProps) {
  const texts = useTexts()
  const isTime = group.key.startsWith('month(')
  const asked = { group: group.key, sort: isTime ? `-${group.key}` : '-count', limit: MOST_GROUPS }
  const query = useFigures(entity, view, asked)
  const { data } = query
  if (data === undefined) return <QueryState query={query} />
  const most = Math.max(1, ...data.data.map(({ count }) => count))
  return (
    <>
      <ul className="bars">
        {data.data.map(({ group: values, count }) => {
          const value = values?.[group.key]
          return (
            <li key={JSON.stringify(value)}>
              <button
                type="button"
                className="cut"
                dir="auto"
                disabled={isTime}
                onClick={() => onFilter(narrowed(view.filter, group, value))}
              >
                {groupText(group, value, texts.list)}
              </button>
              <meter value={count} max={most} aria-label={formatNumber(count)} />
              <span className="number">{formatNumber(count)}</span>
            </li>
          )
        })}
      </ul>
      {typeof data.next === 'string' && <p className="muted">{texts.list.moreGroups}</p>}
    </>
  )
}

/** Adds the condition of a group to the filter. */
function narrowed(filter: string | undefined, { key, column }: Group, value: unknown): string {
  const { path, field } = column
  const one =
    value === null
      ? `${path} == null`
      : field.type === 'choice'
        ? `${path} in [${JSON.stringify(value)}]`
        : `${key} == ${JSON.stringify(value)}`
  if (filter === undefined) return one
  return `${filter.includes('||') ? `(${filter})` : filter} && ${one}`
}

function groupText(
  { key, column }: Group,
  value: unknown,
  words: { readonly noValue: string; readonly yes: string; readonly no: string },
): string {
  if (value === null || value === undefined) return words.noValue
  if (typeof value === 'boolean') return value ? words.yes : words.no
  if (key.startsWith('month(')) return formatDate(String(value))
  return column.field.type === 'ref' ? String(value).slice(0, 80) : textOf(column.field, value)
}
