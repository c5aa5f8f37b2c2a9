import { readerOf } from './check.ts'
import { refuseCostly } from './cost.ts'
import { type Expression, scaleOf, unknown, type ValueKind } from './expression.ts'
import type { Found, Reader } from './found.ts'
import { type Node, parseCel } from './parse.ts'
import type { Scope } from './scope.ts'

/** The kind of value that an expression must give; for a reference, also its target type. */
export interface WantedValue {
  readonly kind: ValueKind
  readonly scale: number
  readonly entity: string | undefined
  readonly choices: readonly string[] | undefined
}

/** Reads an expression that gives the value of a field, or throws a Mistake. */
export function parseValueExpression(
  text: string,
  scope: Scope,
  wanted: WantedValue,
  most: number,
): Expression {
  const [reader, node] = [readerOf(text, scope), parseCel(text)]
  const found = reader.find(node)
  const made =
    found.is === 'literal' ? literalFor(reader, node, found.given, wanted) : singleValue(reader, node, found)
  const misfit = misfitOf(made, wanted)
  if (misfit !== undefined) return reader.fail(node, misfit)
  refuseCostly(made, most)
  return made
}

/** The single value that was found. A reference gives its id. */
function singleValue(reader: Reader, node: Node, found: Found): Expression {
  if (found.is === 'nothing') return unknown
  if (found.is === 'expression') return found.of
  const { reference, root, hops } = found.is === 'composite' ? found.composite : {}
  if (reference === undefined || root === undefined || hops === undefined)
    return reader.fail(node, 'must give a single value')
  const place = { root, hops, column: reference.column }
  return { op: 'value', kind: 'reference', scale: 0, entity: reference.to, place }
}

function literalFor(
  reader: Reader,
  node: Node,
  given: Parameters<Reader['coerce']>[2],
  { kind, scale, choices }: WantedValue,
): Expression {
  const place = { root: { of: 'self' }, hops: [], column: '' } as const
  return reader.coerce(node, { op: 'value', kind, scale, place }, given, choices)
}

/** By the kind of a field: the other kinds of values that it can hold without loss. */
const widened: Readonly<Partial<Record<ValueKind, readonly ValueKind[]>>> = {
  number: ['integer'],
  decimal: ['integer'],
  reference: ['integer'],
}

/** Why an expression does not fit the field; undefined if it does. */
function misfitOf(made: Expression, { kind, scale, entity }: WantedValue): string | undefined {
  if (made === unknown) return undefined
  if (made.kind !== kind && !widened[kind]?.includes(made.kind)) return `gives ${made.kind}, not ${kind}`
  if (kind === 'decimal' && scaleOf(made) > scale)
    return `gives ${scaleOf(made)} decimal places, but the field has ${scale}`
  if (kind === 'reference' && (made.op !== 'value' || made.entity !== entity))
    return `must give one of ${entity}`
  return undefined
}
