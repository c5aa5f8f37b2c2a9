import { currentSettings } from './settings.ts'
import { textsIn } from './texts/loaded.ts'

/** Caches one formatter per language: making one takes a hundred times as long as using it. */
function perLanguage<Format>(make: (language: string) => Format): () => Format {
  const made = new Map<string, Format>()
  return () => {
    const { language } = currentSettings()
    const format = made.get(language) ?? make(language)
    made.set(language, format)
    return format
  }
}

const time = perLanguage((one) => new Intl.DateTimeFormat(one, { dateStyle: 'medium', timeStyle: 'short' }))
const exact = perLanguage((one) => new Intl.DateTimeFormat(one, { dateStyle: 'full', timeStyle: 'long' }))
const day = perLanguage((one) => new Intl.DateTimeFormat(one, { dateStyle: 'medium', timeZone: 'UTC' }))
const ago = perLanguage((one) => new Intl.RelativeTimeFormat(one, { numeric: 'auto', style: 'short' }))
const number = perLanguage((one) => new Intl.NumberFormat(one, { maximumFractionDigits: 20 }))

/** Formats date and time in the time zone of the browser. */
export function formatTime(iso: string): string {
  const moment = new Date(iso)
  return Number.isNaN(moment.getTime()) ? iso : time().format(moment)
}

/** Formats date and time with seconds. */
export function formatExactTime(iso: string): string {
  const moment = new Date(iso)
  return Number.isNaN(moment.getTime()) ? iso : exact().format(moment)
}

/** Formats `2026-05-01` as a date, in any time zone. */
export function formatDate(date: string): string {
  const midnight = new Date(`${date}T00:00:00Z`)
  return Number.isNaN(midnight.getTime()) ? date : day().format(midnight)
}

const STEPS: readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]

/** Returns "just now" within a minute, "5 minutes ago" within a week, else the date. */
export function formatAgo(iso: string, now: number): string {
  const seconds = (Date.parse(iso) - now) / 1000
  if (Number.isNaN(seconds)) return iso
  if (Math.abs(seconds) > 7 * 86_400) return formatTime(iso)
  for (const [unit, size] of STEPS)
    if (Math.abs(seconds) >= size) return ago().format(Math.trunc(seconds / size), unit)
  // Seconds would be outdated at once.
  return textsIn(currentSettings().language).time.justNow
}

export function formatNumber(value: number): string {
  return number().format(value)
}
