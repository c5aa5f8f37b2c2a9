import { type Expression, no, yes } from '../../declare/cel/expression.ts'
import { type EntityType, type Model, walk } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { compile, id, join, param, type Sql, type Statement, sql } from '../../store/sql.ts'
import { Conditions } from '../condition/condition.ts'
import { type RowSource, rowOf } from '../condition/row-source.ts'
import { currentTables, type TableSource } from '../condition/table-source.ts'
import type { Shown, ShownComputed } from '../tables/render.ts'
import type { Viewer } from '../viewer/viewer.ts'

/** The rules of a viewer as SQL. */
export class RuleSql {
  readonly #viewer: Viewer
  readonly #dialect: Dialect
  readonly #conditions: Conditions
  readonly #model: Model
  readonly #tables: TableSource

  constructor(viewer: Viewer, model: Model, dialect: Dialect, tables: TableSource = currentTables) {
    this.#viewer = viewer
    this.#dialect = dialect
    this.#conditions = new Conditions(model, dialect, undefined, tables)
    this.#model = model
    this.#tables = tables
  }

  condition(rule: Expression, rowSource: RowSource): Sql {
    return this.#conditions.of(rule, rowSource)
  }

  /** The condition of a rule; undefined if the rule always holds. */
  unlessAlways(rule: Expression, rowSource: RowSource): Sql | undefined {
    return rule === yes ? undefined : this.condition(rule, rowSource)
  }

  /** 1 if a rule holds for the row `t`, otherwise 0. */
  flag(rule: Expression, type: EntityType): Sql {
    return sql`CASE WHEN ${this.condition(rule, rowOf(type))} THEN 1 ELSE 0 END`
  }

  /** Which of the rules hold for the Entity `$id`: a flag for each. */
  flagsOf(rules: readonly Expression[], type: EntityType): Statement {
    const flags = rules.map((rule) => this.flag(rule, type))
    return compile(
      sql`SELECT ${join(flags)} FROM ${id(type.name)} t WHERE t."id" = ${param('$id')}`,
      this.#dialect.placeholder,
    )
  }

  /** Computed fields, from what the viewer sees of the row and of other Entities. */
  #computed(type: EntityType, rowSource: RowSource): ShownComputed[] {
    const values = new Conditions(this.#model, this.#dialect, this.#viewer, this.#tables)
    return this.#viewer
      .computed(type)
      .map(({ expression, ...one }) => ({ ...one, sql: sql`(${values.value(expression, rowSource)})` }))
  }

  /** What the viewer sees of a row of any type, and the condition for seeing it at all. */
  shownTo(type: EntityType, row: (column: string) => Sql, stored = true): { shown: Shown; condition: Sql } {
    const rowSource: RowSource = { type, stored, self: row }
    const guards = new Map(
      [...walk(type.fields)].flatMap(({ path }): [string, Sql][] => {
        const guard = this.#viewer.mayField(type, path, 'read')
        return guard === yes || guard === no ? [] : [[path, this.condition(guard, rowSource)]]
      }),
    )
    return {
      shown: {
        row,
        fields: this.#viewer.seen(type),
        guard: (path) => guards.get(path),
        ...(type.computed.size > 0 && { computed: this.#computed(type, rowSource) }),
      },
      condition: this.unlessAlways(this.#viewer.may(type, 'read'), rowSource) ?? sql`1 = 1`,
    }
  }
}
