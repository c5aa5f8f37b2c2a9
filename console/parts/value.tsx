import type { ReactNode } from 'react'
import type { Json } from '../api.ts'
import { formatDate, formatExactTime, formatNumber, formatTime } from '../format.ts'
import { type Field, type Item, labelOf, nameOf, untitled, useModel } from '../model.ts'
import { currentSettings } from '../settings.ts'
import { useTexts } from '../texts/index.ts'
import { Icon } from './icon.tsx'

/** The parts of a field that are needed to show a value. */
export type Shown = Pick<Item, 'type'> & Partial<Omit<Item, 'type'>>

const LONGEST = 240
const MOST_ITEMS = 3

/** Whether values of a field are aligned at the right. */
export function isNumeric({ type }: Shown): boolean {
  return type === 'integer' || type === 'number' || type === 'decimal'
}

/** Shows any value in one line. Values are untrusted: they are only ever text. */
export function Value({ field, value }: { readonly field: Shown; readonly value: unknown }): ReactNode {
  if (value === null || value === undefined || value === '') return <None />
  switch (field.type) {
    case 'boolean':
      return <Yes value={value === true} />
    case 'choice':
      return <Choice field={field} value={String(value)} />
    case 'ref':
      return <Reference to={field.to ?? null} value={value} />
    case 'list':
      return <Items field={field} value={value} />
    case 'object':
      return <Inner field={field} value={value} />
    case 'url':
      return <Address value={String(value)} />
    case 'datetime':
      return (
        <time className="value" dateTime={String(value)} title={formatExactTime(String(value))}>
          {formatTime(String(value))}
        </time>
      )
    case 'json':
      return <code className="value">{cut(JSON.stringify(value))}</code>
    default:
      return (
        <span className="value" dir="auto">
          {textOf(field, value)}
        </span>
      )
  }
}

function None() {
  const texts = useTexts()
  return (
    <span className="value none">
      <span aria-hidden="true">–</span>
      <span className="visually-hidden">{texts.list.noValue}</span>
    </span>
  )
}

/** Returns a value in words, without markup: for exports, titles and names. */
export function textOf(field: Shown, value: unknown): string {
  if (value === null || value === undefined) return ''
  if (field.type === 'date') return formatDate(String(value))
  if (field.type === 'datetime') return formatTime(String(value))
  if (field.type === 'decimal') return formatDecimal(String(value))
  if (typeof value === 'number') return formatNumber(value)
  return cut(typeof value === 'string' ? value : JSON.stringify(value))
}

function cut(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}

const decimals = new Map<string, Intl.NumberFormat>()

/** Formats a decimal with all of its digits: `10.50` keeps both after the point, however large it is. */
export function formatDecimal(digits: string): string {
  if (!/^-?\d+(\.\d+)?$/.test(digits)) return digits
  const places = digits.split('.')[1]?.length ?? 0
  const { language } = currentSettings()
  const key = `${language} ${places}`
  const made =
    decimals.get(key) ??
    new Intl.NumberFormat(language, { minimumFractionDigits: places, maximumFractionDigits: places })
  decimals.set(key, made)
  // A number would lose digits. The type only accepts literals of numbers.
  return made.format(digits as `${number}`)
}

function Yes({ value }: { readonly value: boolean }) {
  const texts = useTexts()
  return (
    <span className={value ? 'value yes' : 'value no'}>
      {value && <Icon name="check" size={14} />}
      {value ? texts.list.yes : texts.list.no}
    </span>
  )
}

function Choice({ field, value }: { readonly field: Shown; readonly value: string }) {
  const at = field.choices?.indexOf(value) ?? -1
  return (
    <span className="value badge choice" data-tone={at < 0 ? undefined : at % 4}>
      {cut(value)}
    </span>
  )
}

/** A link to the target of a reference, by its title if it was expanded. */
export function Reference({ to, value }: { readonly to: string | null; readonly value: unknown }) {
  const type = useModel().entities.find(({ name }) => name === to)
  const id = typeof value === 'object' && value !== null ? (value as Json).id : value
  if (to === null || type === undefined) return <span className="value">{String(id)}</span>
  const name = typeof value === 'object' ? nameOf(type, value as Json) : untitled(type, id)
  return <CellLink to={`/${to}/${id}`}>{cut(name)}</CellLink>
}

/**
 * A link to a page of the console, in a cell. `Link` would subscribe to the address, and hundreds of cells pass by
 * while the user scrolls. Instead, the table handles clicks by `data-to`.
 */
export function CellLink({
  to,
  className = 'value',
  children,
}: {
  readonly to: string
  readonly className?: string
  readonly children: ReactNode
}) {
  return (
    <a className={className} dir="auto" href={`/console${to}`} data-to={to} tabIndex={-1}>
      {children}
    </a>
  )
}

function Items({ field, value }: { readonly field: Shown; readonly value: unknown }) {
  const texts = useTexts()
  const items = Array.isArray(value) ? value : []
  const { items: item } = field
  if (items.length === 0) return <span className="value none">{texts.list.noItems}</span>
  if (item === undefined || item.type === 'object' || item.type === 'list')
    return <span className="value">{texts.list.items(items.length)}</span>
  const rest = items.length - MOST_ITEMS
  return (
    <span className="value several">
      {items.slice(0, MOST_ITEMS).map((one, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items have no other name.
        <Value key={at} field={item} value={one} />
      ))}
      {rest > 0 && <span className="muted">+{formatNumber(rest)}</span>}
    </span>
  )
}

function Inner({ field, value }: { readonly field: Shown; readonly value: unknown }) {
  const inner = (value ?? {}) as Json
  const parts = (field.fields ?? [])
    .filter(({ name }) => inner[name] !== null && inner[name] !== undefined)
    .map((one: Field) => `${labelOf(one)}: ${textOf(one, inner[one.name])}`)
  return (
    <span className="value" dir="auto">
      {cut(parts.join(' · '))}
    </span>
  )
}

/** Only a web address becomes a link: `javascript:` stays text. */
function Address({ value }: { readonly value: string }) {
  if (!/^https?:\/\//i.test(value))
    return (
      <span className="value" dir="auto">
        {cut(value)}
      </span>
    )
  return (
    <a className="value" dir="auto" href={value} target="_blank" rel="noopener noreferrer" tabIndex={-1}>
      {cut(value.replace(/^https?:\/\//i, ''))}
    </a>
  )
}
