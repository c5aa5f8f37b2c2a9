const DAY = 86_400_000
/** Days whose offset is remembered, of all zones together. */
const DAYS_MAX = 100_000
/** Times closer than a day to the first or last year have no local time: it may be in a year that cannot be written. */
const FIRST = Date.parse('0001-01-02T00:00:00Z')
const LAST = Date.parse('9999-12-31T00:00:00Z')

const formats = new Map<string, Intl.DateTimeFormat>()
/** Milliseconds between local time and UTC, by zone and day; undefined for days on which clocks are changed. */
const offsets = new Map<string, number | undefined>()

/** The local time in a zone, written as `2026-12-31T18:00:00.000`. SQLite knows no time zones. */
export function localTime(time: unknown, zone: unknown): string | null {
  if (typeof time !== 'string' || typeof zone !== 'string') return null
  const instant = Date.parse(time)
  if (!(instant >= FIRST && instant < LAST)) return null
  const local = instant + offsetOf(zone, instant)
  return new Date(local).toISOString().slice(0, -1)
}

/** A query asks for many times of few days: a zone is looked up once for each day. */
function offsetOf(zone: string, instant: number): number {
  const day = Math.floor(instant / DAY)
  const key = `${day} ${zone}`
  if (!offsets.has(key)) {
    if (offsets.size >= DAYS_MAX) offsets.clear()
    const [morning, evening] = [lookUp(zone, day * DAY), lookUp(zone, (day + 1) * DAY)]
    offsets.set(key, morning === evening ? morning : undefined)
  }
  return offsets.get(key) ?? lookUp(zone, instant)
}

function lookUp(zone: string, instant: number): number {
  const known = formats.get(zone)
  const format = known ?? new Intl.DateTimeFormat('en-US', { ...PARTS, timeZone: zone })
  if (known === undefined) formats.set(zone, format)
  const parts = new Map(format.formatToParts(instant).map(({ type, value }) => [type, value]))
  const read = (name: Intl.DateTimeFormatPartTypes) => Number(parts.get(name))
  const year = parts.get('era') === 'BC' ? 1 - read('year') : read('year')
  const local = new Date(0)
  local.setUTCFullYear(year, read('month') - 1, read('day'))
  local.setUTCHours(read('hour'), read('minute'), read('second'))
  return local.getTime() - Math.floor(instant / 1000) * 1000
}

const PARTS: Intl.DateTimeFormatOptions = {
  calendar: 'gregory',
  numberingSystem: 'latn',
  era: 'short',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
  hourCycle: 'h23',
}
