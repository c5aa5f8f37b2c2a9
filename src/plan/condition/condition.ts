import type { Expression } from '../../declare/cel/expression.ts'
import type { Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import type { Sql } from '../../store/sql.ts'
import type { Viewer } from '../viewer/viewer.ts'
import type { RowSource } from './row-source.ts'
import { SqlWriter } from './sql-writer.ts'

/** Turns expressions into SQL. */
export class Conditions {
  readonly #model: Model
  readonly #dialect: Dialect
  /** For a filter: whose eyes it looks through. A rule looks at everything. */
  readonly #viewer: Viewer | undefined

  constructor(model: Model, dialect: Dialect, viewer?: Viewer) {
    this.#model = model
    this.#dialect = dialect
    this.#viewer = viewer
  }

  #writer(rowSource: RowSource): SqlWriter {
    return new SqlWriter({ model: this.#model, dialect: this.#dialect, viewer: this.#viewer, rowSource })
  }

  /** What says yes or no, as a condition. */
  of(expression: Expression, rowSource: RowSource): Sql {
    return this.#writer(rowSource).write(expression, true)
  }

  /** A value, as something to sort by or to add up. */
  value(expression: Expression, rowSource: RowSource): Sql {
    return this.#writer(rowSource).write(expression, false)
  }
}
