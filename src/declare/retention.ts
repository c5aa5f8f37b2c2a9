import type { Problems } from './problems.ts'
import { isRecord } from './record.ts'

/** How long something is kept. Default: forever. */
export interface Keep {
  /** Such as `'30d'`, `'12h'` or `'1y'`. */
  readonly keep: string
}

/** Times in milliseconds; undefined means forever. */
export interface RetentionTimes {
  readonly trash: number | undefined
  readonly journal: number | undefined
}

const UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
  y: 365 * 86_400_000,
}

/** `'30d'` in milliseconds; undefined if it is not a duration. */
export function parseAge(text: unknown): number | undefined {
  const [, number, unit = ''] = typeof text === 'string' ? (/^(\d{1,6})([smhdwy])$/.exec(text) ?? []) : []
  return number === undefined ? undefined : Number(number) * (UNITS[unit] ?? 0)
}

/** The retention of a type; by default, that of the app. */
export function resolveRetention(
  declaration: object,
  path: string,
  problems: Problems,
  general: RetentionTimes = { trash: undefined, journal: undefined },
): RetentionTimes {
  const said = declaration as { trash?: unknown; journal?: unknown }
  const read = (name: 'trash' | 'journal') => {
    const value = said[name]
    if (value === undefined) return general[name]
    const age = isRecord(value) && Object.keys(value).length === 1 ? parseAge(value.keep) : undefined
    if (age === undefined)
      problems.push([
        path === '' ? name : `${path}.${name}`,
        "must be how long to keep it, such as { keep: '30d' }",
      ])
    return age
  }
  return Object.freeze({ trash: read('trash'), journal: read('journal') })
}
