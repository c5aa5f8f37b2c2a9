import type { Expression } from '../../declare/cel/expression.ts'
import type { Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import type { Sql } from '../../store/sql.ts'
import type { Viewer } from '../viewer/viewer.ts'
import type { RowSource } from './row-source.ts'
import { SqlWriter } from './sql-writer.ts'
import { currentTables, type TableSource } from './table-source.ts'

/** Turns expressions into SQL. */
export class Conditions {
  readonly #model: Model
  readonly #dialect: Dialect
  /** For filters: the viewer, who may not see everything. Rules see everything. */
  readonly #viewer: Viewer | undefined

  readonly #tables: TableSource

  constructor(model: Model, dialect: Dialect, viewer?: Viewer, tables: TableSource = currentTables) {
    this.#tables = tables
    this.#model = model
    this.#dialect = dialect
    this.#viewer = viewer
  }

  #writer(rowSource: RowSource): SqlWriter {
    return new SqlWriter({
      model: this.#model,
      dialect: this.#dialect,
      viewer: this.#viewer,
      rowSource,
      tables: this.#tables,
    })
  }

  /** A boolean expression as a SQL condition. */
  of(expression: Expression, rowSource: RowSource): Sql {
    return this.#writer(rowSource).write(expression, true)
  }

  /** Any expression as a SQL value. */
  value(expression: Expression, rowSource: RowSource): Sql {
    return this.#writer(rowSource).write(expression, false)
  }
}
