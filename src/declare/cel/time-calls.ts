import { timeZoneProblem } from '../period.ts'
import { expression } from './compare.ts'
import type { TimePart } from './expression.ts'
import { type CelCall, type Found, foundExpression, type Reader } from './found.ts'

/** A part of a date or time, as in `starts_at.hour("Europe/Berlin")`. Without a time zone it is in UTC. */
export function partCall(reader: Reader, { node, receiver = node, args }: CelCall, part: TimePart): Found {
  if (args.length > 1) return reader.fail(node, `needs no more than a time zone in ${part}()`)
  const found = reader.find(receiver)
  const zone = args[0] === undefined ? undefined : zoneIn(reader, args[0])
  if (found.is === 'nothing') return { is: 'nothing', candidates: [] }
  if (found.is === 'literal') return reader.fail(receiver, `needs a date or a time before .${part}()`)
  const of = expression(reader, receiver, found)
  if (of.kind !== 'date' && of.kind !== 'datetime')
    return reader.fail(receiver, `needs a date or a time before .${part}()`)
  if (of.kind === 'date' && zone !== undefined)
    return reader.fail(node, 'has a time zone for a date, which has none,')
  if (of.kind === 'date' && ['hour', 'minute', 'date'].includes(part))
    return reader.fail(node, `has .${part}() of a date, which has no time,`)
  return foundExpression({
    op: 'part',
    kind: part === 'date' ? 'date' : 'integer',
    part,
    of,
    zone: zone ?? 'UTC',
  })
}

function zoneIn(reader: Reader, node: CelCall['node']): string {
  const found = reader.find(node)
  if (found.is !== 'literal' || typeof found.given !== 'string')
    return reader.fail(node, 'needs a time zone in quotes, such as "Europe/Berlin",')
  const problem = timeZoneProblem(found.given)
  return problem === undefined ? found.given : reader.fail(node, problem)
}
