import type { ColumnKind } from '../declare/fields/field.ts'

/** SQL text as a value. Identifiers come from the Model; values are always bound. */
export interface Sql {
  readonly parts: readonly (string | Param)[]
}

/** The type of a parameter: that of a column, the ids that an earlier step has noted, or rows as JSON. */
export type ParamKind = ColumnKind | 'ids' | 'rows'

interface Param {
  readonly param: string
  readonly kind: ParamKind
}

/** The kinds of parameters that are not columns and not texts. */
const kinds: Readonly<Record<string, ParamKind>> = {
  $id: 'integer',
  $actor_id: 'integer',
  $epoch: 'integer',
  $generation: 'integer',
  $at: 'datetime',
  $instant: 'datetime',
  $caller: 'integer',
}

/** A prepared statement: the text, and the names of the values to bind, in the order of the placeholders. */
export interface Statement {
  readonly text: string
  readonly paramNames: readonly string[]
  /** Whether it reads hardly more rows than it returns. */
  readonly bounded?: boolean
}

export function sql(strings: TemplateStringsArray, ...values: readonly Sql[]): Sql {
  const parts: (string | Param)[] = []
  let at = 0
  for (const string of strings) {
    appendPart(parts, string)
    const value = values[at++]
    if (value !== undefined) append(parts, value.parts)
  }
  return { parts }
}

function append(parts: (string | Param)[], more: Sql['parts']): void {
  for (const part of more) appendPart(parts, part)
}

/** Appends a part. Adjacent texts are joined, since deeply nested SQL is copied often. */
function appendPart(parts: (string | Param)[], part: string | Param): void {
  if (part === '') return
  const end = parts.length - 1
  const last = parts[end]
  if (typeof part === 'string' && typeof last === 'string') parts[end] = last + part
  else parts.push(part)
}

/** A quoted table or column. A dot is part of the name: a column is named by its dot path. */
export function id(name: string): Sql {
  return { parts: [`"${name.replaceAll('"', '""')}"`] }
}

/** A constant from the Model, such as the name of an Entity type, as an SQL text. */
export function quoted(text: string): Sql {
  return { parts: [`'${text.replaceAll("'", "''")}'`] }
}

export function intLiteral(value: number): Sql {
  return { parts: [String(Math.trunc(value))] }
}

export function param(name: string, kind: ParamKind = kinds[name] ?? 'text'): Sql {
  return { parts: [{ param: name, kind }] }
}

export function join(list: readonly Sql[], separator: Sql = sql`, `): Sql {
  const parts: (string | Param)[] = []
  for (const [at, one] of list.entries()) {
    if (at > 0) append(parts, separator.parts)
    append(parts, one.parts)
  }
  return { parts }
}

/** Rows of a text and two numbers from any number of queries, none included. */
export function unionAll(queries: readonly Sql[]): Sql {
  return join([sql`SELECT '', 0, 0 WHERE 1 = 0`, ...queries], sql` UNION ALL `)
}

export function and(conditions: readonly Sql[]): Sql {
  return join(conditions, sql` AND `)
}

/** The approximate length of the text. */
export function lengthOf({ parts }: Sql): number {
  let length = 0
  for (const part of parts) length += typeof part === 'string' ? part.length : PLACEHOLDER
  return length
}
const PLACEHOLDER = 20

/** Columns and literals are never longer. */
const SHORT = 100

/**
 * For SQL that repeats its operands. A long operand is evaluated once in a subquery and then used by name. Without
 * that, nested expressions would double in length with each level. The LIMIT keeps databases from inlining the operand
 * again.
 */
export function once(operands: readonly Sql[], make: (operands: readonly Sql[]) => Sql): Sql {
  const long = operands.filter((operand) => lengthOf(operand) > SHORT)
  if (long.length === 0) return make(operands)
  const columns = join(long.map((operand, at) => sql`${operand} AS ${id(`v${at}`)}`))
  // Inner operands are shorter, so nested names never clash.
  const alias: Sql = { parts: [`once${lengthOf(columns)}`] }
  const named = operands.map((operand) => {
    const at = long.indexOf(operand)
    return at < 0 ? operand : sql`${alias}.${id(`v${at}`)}`
  })
  return sql`(SELECT ${make(named)} FROM (SELECT ${columns} LIMIT 1) ${alias})`
}

/** Compiles SQL into a statement. A name that occurs twice is bound once. */
export function compile(
  source: Sql,
  placeholder: (position: number, kind: ParamKind) => string,
  bounded = false,
): Statement {
  const paramNames: string[] = []
  const text = source.parts.map((part) => {
    if (typeof part === 'string') return part
    const known = paramNames.indexOf(part.param)
    return placeholder(known >= 0 ? known + 1 : paramNames.push(part.param), part.kind)
  })
  return Object.freeze({ text: text.join(''), paramNames: Object.freeze(paramNames), bounded })
}
