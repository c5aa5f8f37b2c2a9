import { didYouMean } from './closest.ts'

/** The units by which dates and times can be grouped. */
export const PERIODS = ['hour', 'day', 'week', 'month', 'year'] as const

/** Periods of dates or of times. Weeks begin on Monday. `zone`: the time zone; undefined for UTC, and for dates. */
export interface Period {
  readonly unit: (typeof PERIODS)[number]
  readonly of: 'date' | 'datetime'
  readonly zone: string | undefined
}

let names: ReadonlySet<string> | undefined

/** The names of time zones that every database knows. Loaded on first use. */
function timeZones(): ReadonlySet<string> {
  names ??= new Set(Intl.supportedValuesOf('timeZone'))
  return names
}

/** The problem with the name of a time zone; undefined if it is right. */
export function timeZoneProblem(name: string): string | undefined {
  if (timeZones().has(name)) return undefined
  return `"${name}" is not a time zone, such as Europe/Berlin or UTC${didYouMean(name, [...timeZones()])}`
}
