import type { ColumnKind } from '../declare/fields/field.ts'

/** SQL text as a value, put together at start. Identifiers come from the Model, values are only ever bound. */
export interface Sql {
  readonly parts: readonly (string | Param)[]
}

/** What a bound value is to the database: as a column's, the ids that an earlier step has noted, or many rows as JSON. */
export type ParamKind = ColumnKind | 'ids' | 'rows'

interface Param {
  readonly param: string
  readonly kind: ParamKind
}

/** What is bound beside an Entity's own values, where it is not a text. */
const kinds: Readonly<Record<string, ParamKind>> = {
  $id: 'integer',
  $actor_id: 'integer',
  $epoch: 'integer',
  $generation: 'integer',
  $at: 'datetime',
  $instant: 'datetime',
  $caller: 'integer',
}

/** What is prepared: the text, and the names of the values to bind, in the order of the placeholders. */
export interface Statement {
  readonly text: string
  readonly params: readonly string[]
}

export function sql(strings: TemplateStringsArray, ...values: readonly Sql[]): Sql {
  return { parts: strings.flatMap((string, at) => [string, ...(values[at]?.parts ?? [])]) }
}

/** A table or a column. A dot in it is part of the name: a column is called by its dot path. */
export function id(name: string): Sql {
  return { parts: [`"${name.replaceAll('"', '""')}"`] }
}

/** A word of the Model, such as an Entity type's name, as a text constant. */
export function word(text: string): Sql {
  return { parts: [`'${text.replaceAll("'", "''")}'`] }
}

export function count(value: number): Sql {
  return { parts: [String(Math.trunc(value))] }
}

export function param(name: string, kind: ParamKind = kinds[name] ?? 'text'): Sql {
  return { parts: [{ param: name, kind }] }
}

export function join(list: readonly Sql[], separator: Sql = sql`, `): Sql {
  return { parts: list.flatMap((one, at) => (at === 0 ? one.parts : [...separator.parts, ...one.parts])) }
}

/** Rows of a text and two numbers from any number of queries, none included. */
export function unionAll(queries: readonly Sql[]): Sql {
  return join([sql`SELECT '', 0, 0 WHERE 1 = 0`, ...queries], sql` UNION ALL `)
}

export function and(conditions: readonly Sql[]): Sql {
  return join(conditions, sql` AND `)
}

/** A name that stands twice is bound once. */
export function compile(source: Sql, placeholder: (position: number, kind: ParamKind) => string): Statement {
  const params: string[] = []
  const text = source.parts.map((part) => {
    if (typeof part === 'string') return part
    const known = params.indexOf(part.param)
    return placeholder(known >= 0 ? known + 1 : params.push(part.param), part.kind)
  })
  return Object.freeze({ text: text.join(''), params: Object.freeze(params) })
}
