import { SCALE_MAX } from '../fields/number.ts'
import { type Expression, type NumberKind, scaleOf } from './expression.ts'

const kinds: Readonly<Record<string, NumberKind>> = {
  integer: 'integer',
  reference: 'integer',
  number: 'number',
  decimal: 'decimal',
}

/** The kind of number that an expression is; undefined if it is no number. */
export function numberKindOf({ kind }: Expression): NumberKind | undefined {
  return kinds[kind]
}

/** The kind that holds all of these exactly; undefined for numbers mixed with decimals, and for non-numbers. */
export function commonKind(
  all: readonly Expression[],
): { readonly kind: NumberKind; readonly scale: number } | undefined {
  const found = all.map(numberKindOf)
  if (found.includes(undefined)) return undefined
  if (found.includes('decimal'))
    return found.includes('number') ? undefined : { kind: 'decimal', scale: Math.max(...all.map(scaleOf)) }
  return { kind: found.includes('number') ? 'number' : 'integer', scale: 0 }
}

/** A value as a decimal with `scale` decimal places, which must not be fewer than it has. */
export function asDecimal(of: Expression, scale: number, bounded: boolean): Expression {
  if (of.kind === 'decimal' && scaleOf(of) === scale) return of
  return { op: 'decimal', kind: 'decimal', scale, of, bounded }
}

/** The values, converted to the kind that they have in common. */
export function asCommon(all: readonly Expression[]): readonly Expression[] | undefined {
  const common = commonKind(all)
  if (common?.kind !== 'decimal') return common === undefined ? undefined : all
  return all.map((one) => asDecimal(one, common.scale, true))
}

/** The message for a number mixed with a decimal. */
export const MIXED =
  'mixes a number with a decimal, which would lose digits; make it a decimal with round(…, places),'

/** Decimal places of a result: a product has those of both factors, a quotient four more than its dividend. */
export function scaleOfResult(how: string, left: Expression, right: Expression): number {
  const [a, b] = [scaleOf(left), scaleOf(right)]
  if (how === '*') return a + b
  return how === '/' ? Math.min(a + QUOTIENT_PLACES, SCALE_MAX) : Math.max(a, b)
}

const QUOTIENT_PLACES = 4

/** Arithmetic takes anything closer to zero as zero, and anything beyond NUMBER_MOST as null: no step can overflow. */
export const NUMBER_LEAST = 1e-150
export const NUMBER_MOST = 1e150
