import type { Expression } from '../../declare/cel/expression.ts'
import type { Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import type { Sql } from '../../store/sql.ts'
import type { Viewer } from '../viewer/viewer.ts'
import { type Ground, today } from './ground.ts'
import type { RowSource } from './row-source.ts'
import { SqlWriter } from './sql-writer.ts'

/** Turns expressions into SQL. */
export class Conditions {
  readonly #model: Model
  readonly #dialect: Dialect
  /** For filters: the viewer, who may not see everything. Rules see everything. */
  readonly #viewer: Viewer | undefined

  readonly #ground: Ground

  constructor(model: Model, dialect: Dialect, viewer?: Viewer, ground: Ground = today) {
    this.#ground = ground
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
      ground: this.#ground,
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
