import { formatDate } from './format.ts'
import { currentSettings } from './settings.ts'
import type { Texts } from './texts/index.ts'

const two = (number: number) => String(number).padStart(2, '0')

/** The day of a moment where one is: `2026-05-01`. */
export function localDay(time: string | number | Date): string {
  const date = new Date(time)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** "Today", "Yesterday", or the date. */
export function dayName(day: string, texts: Texts, now = new Date()): string {
  if (day === localDay(now)) return texts.time.today
  const before = new Date(now)
  before.setDate(before.getDate() - 1)
  return day === localDay(before) ? texts.time.yesterday : formatDate(day)
}

/** Date and time to the second: many changes are in the same minute. */
export function formatSecond(iso: string): string {
  const { language } = currentSettings()
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium' })
  return format.format(new Date(iso))
}

/** For `<input type="datetime-local">`: the time where one is, to the second. */
export function toLocalInput(iso: string | undefined): string {
  if (iso === undefined || Number.isNaN(Date.parse(iso))) return ''
  const date = new Date(iso)
  return `${localDay(date)}T${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** What such an input says, as the API takes it. */
export function fromLocalInput(text: string): string | undefined {
  const time = text === '' ? Number.NaN : new Date(text).getTime()
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}

/** Things by the day on which they happened, in their order. */
export function byDay<T extends { readonly at: string }>(
  all: readonly T[],
): readonly [string, readonly T[]][] {
  return [...Map.groupBy(all, ({ at }) => localDay(at))]
}
