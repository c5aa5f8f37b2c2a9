/**
 * The offsets of a time zone from UTC, and when they changed. All databases use those of this process: governments
 * change their clocks, and each database learns of it with its own updates.
 */
export interface ZoneOffsets {
  /** When the clocks changed, ascending, in milliseconds since 1970. */
  readonly changes: readonly number[]
  /** Milliseconds to add to UTC: before the first change, then from each change on. */
  readonly offsets: readonly number[]
}

/** Later changes cannot be known. */
const LAST_CHANGE = Date.UTC(2100, 0, 1)

const known = new Map<string, ZoneOffsets>()

export function zoneOffsets(zone: string): ZoneOffsets {
  const made = known.get(zone) ?? findOffsets(zone)
  known.set(zone, made)
  return made
}

function findOffsets(zone: string): ZoneOffsets {
  let at = Temporal.Instant.from('0001-01-01T00:00:00Z').toZonedDateTimeISO(zone)
  const changes: number[] = []
  const offsets = [offsetOf(at)]
  for (;;) {
    const next = at.getTimeZoneTransition('next')
    if (next === null || next.epochMilliseconds >= LAST_CHANGE) return { changes, offsets }
    at = next
    changes.push(at.epochMilliseconds)
    offsets.push(offsetOf(at))
  }
}

function offsetOf({ offsetNanoseconds }: Temporal.ZonedDateTime): number {
  return Math.round(offsetNanoseconds / 1_000_000)
}

/** The offset at a time, in milliseconds. */
export function zoneOffsetAt(zone: string, instant: number): number {
  const { changes, offsets } = zoneOffsets(zone)
  let [low, high] = [0, changes.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((changes[middle] ?? 0) <= instant) low = middle + 1
    else high = middle
  }
  return offsets[low] ?? 0
}
