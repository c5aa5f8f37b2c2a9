import { Failure } from '../../errors.ts'

/**
 * Returns the type that an `Accept` header prefers (RFC 9110, section 12.5.1). The most specific range decides the
 * weight of each type. Of equal types the first wins. Undefined if the header allows none.
 */
export function preferredOf(header: string | null, types: readonly string[]): string | undefined {
  if (header === null) return undefined
  const [first] = types
  if (header === '*/*' || header === first) return first
  const ranges = header.split(',').map(rangeOf)
  let best: string | undefined
  let weight = 0
  for (const type of types) {
    const own = weightIn(ranges, bareOf(type))
    if (own > weight) [best, weight] = [type, own]
  }
  return best
}

/** The refusal of an `Accept` header that allows none of the types. */
export function notAcceptable(types: readonly string[]): Failure {
  const message = `The Accept header is required and must allow ${types.map(bareOf).join(' or ')}.`
  return new Failure('not_acceptable', { message })
}

interface MediaRange {
  readonly range: string
  readonly weight: number
}

function rangeOf(part: string): MediaRange {
  const [range = '', ...parameters] = part.split(';').map((one) => one.trim().toLowerCase())
  const weight = parameters.find((one) => one.startsWith('q='))?.slice(2)
  return { range, weight: weight === undefined ? 1 : Number(weight) || 0 }
}

/** If a range is given twice, the larger weight counts. */
function weightIn(ranges: readonly MediaRange[], type: string): number {
  for (const range of [type, type.replace(/\/.*/, '/*'), '*/*']) {
    const found = ranges.filter((one) => one.range === range)
    if (found.length > 0) return Math.max(...found.map(({ weight }) => weight))
  }
  return 0
}

/** Removes the parameters of a media type. */
function bareOf(type: string): string {
  const end = type.indexOf(';')
  return end < 0 ? type : type.slice(0, end)
}

/** Whether it is `application/json`, with any parameters and in any case. A charset must be UTF-8, as JSON requires. */
export function isJson(header: string | null): boolean {
  if (header === 'application/json') return true
  const [type = '', ...parameters] = (header ?? '').split(';').map((one) => one.trim().toLowerCase())
  if (type !== 'application/json') return false
  const charset = parameters.find((one) => one.startsWith('charset='))?.slice(8)
  return charset === undefined || ['utf-8', '"utf-8"', 'utf8'].includes(charset)
}
