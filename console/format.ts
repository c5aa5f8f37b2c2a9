import { currentSettings } from './settings.ts'
import { textsIn } from './texts/loaded.ts'

const formats = new Map<string, Intl.DateTimeFormat>()

function format(name: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const { language } = currentSettings()
  const key = `${language} ${name}`
  const made = formats.get(key) ?? new Intl.DateTimeFormat(language, options)
  formats.set(key, made)
  return made
}

/** Date and time in the time zone of the browser. */
export function formatTime(iso: string): string {
  const time = new Date(iso)
  if (Number.isNaN(time.getTime())) return iso
  return format('time', { dateStyle: 'medium', timeStyle: 'short' }).format(time)
}

/** With seconds, for those who look closely. */
export function formatExactTime(iso: string): string {
  const time = new Date(iso)
  if (Number.isNaN(time.getTime())) return iso
  return format('exact', { dateStyle: 'full', timeStyle: 'long' }).format(time)
}

/** `2026-05-01` as a date, wherever one is. */
export function formatDate(date: string): string {
  const day = new Date(`${date}T00:00:00Z`)
  if (Number.isNaN(day.getTime())) return date
  return format('date', { dateStyle: 'medium', timeZone: 'UTC' }).format(day)
}

const STEPS: readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]

/** "just now" within a minute, "5 minutes ago" for what is at most a week away, else the date. */
export function formatAgo(iso: string, now: number): string {
  const seconds = (Date.parse(iso) - now) / 1000
  if (Number.isNaN(seconds)) return iso
  const { language } = currentSettings()
  if (Math.abs(seconds) > 7 * 86_400) return formatTime(iso)
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' })
  for (const [unit, size] of STEPS)
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit)
  // Seconds would be out of date at once.
  return textsIn(language).time.justNow
}

export function formatNumber(value: number): string {
  return new Intl.NumberFormat(currentSettings().language, { maximumFractionDigits: 20 }).format(value)
}
