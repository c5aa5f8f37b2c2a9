import { parseInstant } from '../fields/time.ts'
import type { Expression } from './expression.ts'
import { DURATION_MAX } from './literal.ts'

/** The message for a move beyond the limit. */
export const TOO_FAR = 'moves a time by more than 100 years'

/**
 * A time moved by so many milliseconds; undefined if that is too far. Several moves become one, by their sum: a time in
 * between might be outside of the years that a database can write.
 */
export function move(of: Expression, ms: number): Expression | undefined {
  const all = ms + (of.op === 'now' ? of.shift : of.op === 'shift' ? of.by : 0)
  if (Math.abs(all) > DURATION_MAX) return undefined
  switch (of.op) {
    case 'now':
      return { ...of, shift: all }
    case 'shift':
      return { ...of, by: all }
    case 'constant':
      return of
    case 'choose': {
      const [then, otherwise] = [move(of.then, ms), move(of.otherwise, ms)]
      return then === undefined || otherwise === undefined ? undefined : { ...of, then, otherwise }
    }
    case 'literal': {
      const value = parseInstant(new Date(Date.parse(String(of.value)) + ms).toISOString())
      if (value !== undefined) return { ...of, value }
    }
  }
  return { op: 'shift', kind: 'datetime', of, by: ms }
}
