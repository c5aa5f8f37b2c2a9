import type { Dialect, Row } from './dialect.ts'
import { compile, type Sql, type Statement } from './sql.ts'

/**
 * One step of a transaction. `some`: it must find or change a row; `none`: it must not find any;
 * otherwise the whole transaction is rolled back.
 */
export interface Step {
  readonly name: string
  readonly statement: Statement
  readonly expect: 'some' | 'none' | 'any'
  /** Whether later steps find its rows under `dialect.noted`. */
  readonly notes?: boolean
  /** The names under which later steps find the values of its first row. That row is the result of the transaction. */
  readonly keeps?: readonly string[]
}

/** The name of a step that is refused because of a concurrent change. The whole transaction is then retried. */
export const LATE = 'late'

/** `step`: the refused step, or `unique` if a unique value is taken. */
export type Outcome =
  | { readonly done: true; readonly rows: readonly Row[] }
  | { readonly done: false; readonly step: string; readonly rows: readonly Row[] }

export function step(dialect: Dialect, name: string, expect: Step['expect'], source: Sql): Step {
  return { name, expect, statement: compile(source, dialect.placeholder) }
}
