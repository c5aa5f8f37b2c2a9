import type { Dialect, Row } from './dialect.ts'
import { compile, type Sql, type Statement } from './sql.ts'

/**
 * One step of a transaction. `some`: it must find or change a row; `none`: it must find none;
 * otherwise the whole transaction is refused, and nothing of it stays.
 */
export interface Step {
  readonly name: string
  readonly statement: Statement
  readonly expect: 'some' | 'none' | 'any'
  /** What it gives back is what later steps of the transaction find under `dialect.noted`. */
  readonly notes?: boolean
  /** The names under which later steps find the values of its first row, which is what the transaction gives back. */
  readonly keeps?: readonly string[]
}

/** A step that is refused because others were faster, so that all of the transaction is to be tried again. */
export const LATE = 'late'

/** `unique` as the step: a value that must be unique is taken. */
export type Outcome =
  | { readonly done: true; readonly rows: readonly Row[] }
  | { readonly done: false; readonly step: string; readonly rows: readonly Row[] }

export function step(dialect: Dialect, name: string, expect: Step['expect'], source: Sql): Step {
  return { name, expect, statement: compile(source, dialect.placeholder) }
}
