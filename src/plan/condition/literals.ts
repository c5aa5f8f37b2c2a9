import type { Expression, Literal } from '../../declare/cel/expression.ts'
import type { Dialect } from '../../store/dialect.ts'
import { param, quoted, type Sql, sql } from '../../store/sql.ts'
import { NOW } from './row-source.ts'

/** The SQL operators of comparisons. */
export const comparisons = {
  '==': sql`=`,
  '!=': sql`<>`,
  '<': sql`<`,
  '<=': sql`<=`,
  '>': sql`>`,
  '>=': sql`>=`,
}

/** The parameter of a literal in a filter. */
export function literalName(at: number): string {
  return `$literal ${at}`
}

/** The parameter of the upper bound of a prefix range. */
export function prefixEndName(at: number): string {
  return `${literalName(at)} behind`
}

/** The upper bound of all texts with this prefix; undefined if there is none. */
export function prefixEnd(prefix: string): string | undefined {
  const points = [...prefix].map((one) => one.codePointAt(0) ?? 0)
  while (points.length > 0) {
    const last = points.pop() ?? 0
    const next = last === 0xd7ff ? 0xe000 : last + 1
    if (next <= 0x10ffff) return String.fromCodePoint(...points, next)
  }
  return undefined
}

/** The SQL of a literal. In rules it is written into the SQL; in filters it comes from clients and is bound. */
export function literalSql(literal: Literal, dialect: Dialect, isBound: boolean): Sql {
  const { kind, scale, value, at, fixed = false } = literal
  if (isBound && !fixed) return dialect.literal(param(literalName(at), kind), kind)
  if (typeof value === 'boolean') return value ? sql`TRUE` : sql`FALSE`
  const encoded = dialect.encode(kind, scale)(value)
  const constant = typeof encoded === 'string' ? quoted(encoded) : { parts: [String(encoded)] }
  return dialect.literal(constant, kind)
}

/** The upper bound of a prefix search. An index can serve a range. */
export function prefixEndSql(part: Expression, dialect: Dialect, isBound: boolean): Sql | undefined {
  if (part.op !== 'literal' || part.value === '') return undefined
  const end = prefixEnd(String(part.value))
  if (end === undefined) return undefined
  return dialect.literal(isBound && !part.fixed ? param(prefixEndName(part.at)) : quoted(end), 'text')
}

export function nowSql({ shift, day }: Extract<Expression, { op: 'now' }>, dialect: Dialect): Sql {
  const now = param(NOW)
  const moved = shift + (day === 'ceiling' ? 86_400_000 - 1 : 0)
  const time = moved === 0 ? now : dialect.shift(now, moved)
  return day === undefined ? time : dialect.day(time)
}

export function partSql(
  { part, of, zone }: Extract<Expression, { op: 'part' }>,
  dialect: Dialect,
  value: Sql,
): Sql {
  return dialect.timePart(value, part, of.kind === 'date' ? undefined : zone)
}

export function chooseSql(
  { condition, then, otherwise }: Extract<Expression, { op: 'choose' }>,
  write: (one: Expression) => Sql,
): Sql {
  return sql`CASE (${write(condition)}) WHEN TRUE THEN ${write(then)} WHEN FALSE THEN ${write(otherwise)} END`
}
