import { didYouMean } from './closest.ts'

/** The units in which dates and times are grouped. */
export const PERIODS = ['hour', 'day', 'week', 'month', 'year'] as const

/** Periods of dates or of times. Weeks begin on Monday. `zone`: the time zone; undefined for UTC, and for dates. */
export interface Period {
  readonly unit: (typeof PERIODS)[number]
  readonly of: 'date' | 'datetime'
  readonly zone: string | undefined
}

let names: ReadonlySet<string> | undefined

/** The names of the time zones, as every database spells them. Read when the first one is asked for. */
function timeZones(): ReadonlySet<string> {
  names ??= new Set(Intl.supportedValuesOf('timeZone'))
  return names
}

/** Undefined if it is the name of a time zone; otherwise a sentence. */
export function timeZoneProblem(name: string): string | undefined {
  if (timeZones().has(name)) return undefined
  return `"${name}" is not a time zone, such as Europe/Berlin or UTC${didYouMean(name, [...timeZones()])}`
}
