import { zoneOffsetAt } from '../zone-offsets.ts'

/** The first day of the year 1 and the last day of 9999 have no local time: its year might not be writable. */
const FIRST = Date.parse('0001-01-02T00:00:00Z')
const LAST = Date.parse('9999-12-31T00:00:00Z')

/** The local time in a zone, as `2026-12-31T18:00:00.000`. SQLite knows no time zones. */
export function localTime(time: unknown, zone: unknown): string | null {
  if (typeof time !== 'string' || typeof zone !== 'string') return null
  const instant = Date.parse(time)
  if (!(instant >= FIRST && instant < LAST)) return null
  const local = instant + zoneOffsetAt(zone, instant)
  return new Date(local).toISOString().slice(0, -1)
}
