import type { Bound, Row } from './dialect.ts'
import { join, type Sql } from './sql.ts'

/** The columns of a statement, declared once: selected by their SQL, read by their names. */
export interface NamedColumns<Name extends string> {
  readonly sql: Sql
  read(row: Row): Readonly<Record<Name, Bound>>
}

export function namedColumns<Name extends string>(columns: Readonly<Record<Name, Sql>>): NamedColumns<Name> {
  const names = Object.keys(columns) as Name[]
  return {
    sql: join(names.map((name) => columns[name])),
    read(row) {
      const named = {} as Record<Name, Bound>
      for (let at = 0; at < names.length; at++) named[names[at] as Name] = row[at] ?? null
      return named
    },
  }
}
