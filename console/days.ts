import { formatDate } from './format.ts'
import { currentSettings } from './settings.ts'
import type { Texts } from './texts/index.ts'

const two = (number: number) => String(number).padStart(2, '0')

/** Returns the day in the local time zone: `2026-05-01`. */
export function localDay(time: string | number | Date): string {
  const date = new Date(time)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** Returns "Today", "Yesterday", or the date. */
export function dayName(day: string, texts: Texts, now = new Date()): string {
  if (day === localDay(now)) return texts.time.today
  const before = new Date(now)
  before.setDate(before.getDate() - 1)
  return day === localDay(before) ? texts.time.yesterday : formatDate(day)
}

/** Formats date and time with seconds, because many changes happen in the same minute. */
export function formatSecond(iso: string): string {
  const { language } = currentSettings()
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium' })
  return format.format(new Date(iso))
}

/** Formats a time for `<input type="datetime-local">`: local time, with seconds. */
export function toLocalInput(iso: string | undefined): string {
  if (iso === undefined || Number.isNaN(Date.parse(iso))) return ''
  const date = new Date(iso)
  return `${localDay(date)}T${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** Converts the value of such an input to a time for the API. */
export function fromLocalInput(text: string): string | undefined {
  const time = text === '' ? Number.NaN : new Date(text).getTime()
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}

/** Groups items by their local day, and keeps their order. */
export function byDay<T extends { readonly at: string }>(
  all: readonly T[],
): readonly [string, readonly T[]][] {
  return [...Map.groupBy(all, ({ at }) => localDay(at))]
}
