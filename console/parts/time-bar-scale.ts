import type { Mark } from './time-bar-marks.ts'

/** The number of positions of the slider. */
export const PLACES = 1000
/** The share of the slider that is divided equally among the changes. The rest is divided by time. */
const BY_CHANGES = 0.6
const HOUR_MS = 3_600_000

export interface Scale {
  readonly start: number
  place(time: number): number
  time(place: number): number
}

interface Ends {
  readonly now: number
  readonly at: string | undefined
  readonly floor: number | undefined
}

/**
 * Maps time to slider positions, from the first change to now. Changes come in bursts: by time alone, most would be on
 * one spot. So each change gets some room, and quiet times get less.
 */
export function scaleOf(marks: readonly Mark[], { now, at, floor }: Ends): Scale {
  const last = Math.max(now, marks.at(-1)?.time ?? 0) + 1
  const first = Math.min(marks[0]?.time ?? last - HOUR_MS, at === undefined ? last : Date.parse(at))
  const start = Math.max(first - (last - first) * 0.02 - 1000, floor ?? 0)
  const known = marks.filter(({ time }) => time > start)
  const knots = [
    { time: start, place: 0 },
    ...known.map(({ time }, index) => {
      const byTime = (time - start) / (last - start)
      const byRank = (index + 1) / (known.length + 1)
      return { time, place: PLACES * (BY_CHANGES * byRank + (1 - BY_CHANGES) * byTime) }
    }),
    { time: last, place: PLACES },
  ]
  const between = (value: number, from: 'time' | 'place', to: 'time' | 'place') => {
    const at = Math.max(
      1,
      knots.findIndex((knot) => knot[from] >= value),
    )
    const [low, high] = [knots[at - 1], knots[at]]
    if (low === undefined || high === undefined || high[from] === low[from]) return low?.[to] ?? 0
    return low[to] + ((value - low[from]) / (high[from] - low[from])) * (high[to] - low[to])
  }
  return {
    start,
    place: (time) => Math.round(between(Math.min(Math.max(time, start), last), 'time', 'place')),
    time: (place) => between(place, 'place', 'time'),
  }
}
