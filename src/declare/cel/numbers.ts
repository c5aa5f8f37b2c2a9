import { SCALE_MAX } from '../fields/number.ts'
import { type Expression, type NumberKind, scaleOf } from './expression.ts'

const kinds: Readonly<Record<string, NumberKind>> = {
  integer: 'integer',
  reference: 'integer',
  number: 'number',
  decimal: 'decimal',
}

/** What kind of number an expression is; undefined where it is none. */
export function numberKindOf({ kind }: Expression): NumberKind | undefined {
  return kinds[kind]
}

/** What numbers have in common without a loss; undefined for numbers beside decimals, and where one is no number. */
export function commonKind(
  all: readonly Expression[],
): { readonly kind: NumberKind; readonly scale: number } | undefined {
  const found = all.map(numberKindOf)
  if (found.includes(undefined)) return undefined
  if (found.includes('decimal'))
    return found.includes('number') ? undefined : { kind: 'decimal', scale: Math.max(...all.map(scaleOf)) }
  return { kind: found.includes('number') ? 'number' : 'integer', scale: 0 }
}

/** As a decimal with so many digits behind the point, which must not be fewer than it has. */
export function asDecimal(of: Expression, scale: number, bounded: boolean): Expression {
  if (of.kind === 'decimal' && scaleOf(of) === scale) return of
  return { op: 'decimal', kind: 'decimal', scale, of, bounded }
}

/** In the terms of what they have in common, as values. */
export function asCommon(all: readonly Expression[]): readonly Expression[] | undefined {
  const common = commonKind(all)
  if (common?.kind !== 'decimal') return common === undefined ? undefined : all
  return all.map((one) => asDecimal(one, common.scale, true))
}

/** What to do where a number meets a decimal. */
export const MIXED =
  'mixes a number with a decimal, which would lose digits; make it a decimal with round(…, places),'

/** Digits behind the point of a result: a product has those of both, a quotient four more than what is divided. */
export function scaleOfResult(how: string, left: Expression, right: Expression): number {
  const [a, b] = [scaleOf(left), scaleOf(right)]
  if (how === '*') return a + b
  return how === '/' ? Math.min(a + QUOTIENT_PLACES, SCALE_MAX) : Math.max(a, b)
}

const QUOTIENT_PLACES = 4

/** Closer to zero, a number counts as zero in arithmetic; beyond the other it is not there. No step in between overflows. */
export const NUMBER_LEAST = 1e-150
export const NUMBER_MOST = 1e150
