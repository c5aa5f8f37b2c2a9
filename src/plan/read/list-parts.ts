import { type Expression, referrersOf } from '../../declare/cel/expression.ts'
import { unfoldedColumn } from '../../declare/folded-column.ts'
import type { EntityType, Field } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import type { MigrationStep } from '../../store/migration/steps.ts'
import { ordered } from '../../store/order.ts'
import { id, join, type Sql, sql } from '../../store/sql.ts'
import type { Conditions } from '../condition/condition.ts'
import type { Filters } from '../condition/filter.ts'
import { type Sortable, type SortKey, sortColumn } from '../condition/query.ts'
import { type RowSource, rowOf } from '../condition/row-source.ts'
import { tableAsOf } from '../past/past.ts'
import { DELETION, renderDeletion } from '../past/trash.ts'
import { renderEntity, type Shown } from '../tables/render.ts'
import type { Expansions } from './expand.ts'
import { constantColumns, isServedByIndex, nonNullColumns } from './index-order.ts'
import { isAfter, type KeysetKey } from './keyset.ts'
import { isOfToday, type ListQuery, type PageQuery, type ReadQuery, type Selection } from './list-query.ts'
import { compileSearch, RANK, type SearchPlan } from './search.ts'

/** Which Entities of a type a viewer may see, and which parts of them. */
export interface ReadAccess {
  readonly shown: Shown
  /** What is shown of a row of the past. */
  readonly shownThen: Shown
  readonly expansions: Expansions
  readonly filters: Filters
  readonly conditions: Conditions
  /** The changes that migrations made to values of the type. */
  readonly steps: readonly MigrationStep[]
  /** Whether they see a field in every Entity, by its dot path. */
  always(path: string): boolean
  /** The read rule. */
  readonly readRule: Expression
  /** The condition of a rule on the Entity; undefined if the rule always holds. */
  rule(action: 'read' | 'restore' | 'history', rowSource: RowSource): Sql | undefined
  /** The condition of an update or delete rule on the Entity as it is now; undefined if it always holds. */
  may(action: 'update' | 'delete', rowSource: RowSource): Sql | undefined
  /** The operands of the read rule, if the rule is an `||`; otherwise none. */
  sides(rowSource: RowSource): readonly Sql[]
}

/** The parts that the statements of lists are made of: FROM, WHERE, ORDER BY, and the JSON. All call their row `t`. */
export class ListParts {
  readonly type: EntityType
  readonly dialect: Dialect
  readonly access: ReadAccess
  /** Undefined if the viewer sees no searched field. */
  readonly search: SearchPlan | undefined
  readonly #past: Sql
  readonly #wholeJson: Sql
  readonly #neverEmpty: ReadonlySet<string>

  constructor(type: EntityType, dialect: Dialect, access: ReadAccess) {
    this.type = type
    this.dialect = dialect
    this.access = access
    this.search = compileSearch(type, dialect, access.always)
    this.#past = tableAsOf(type, dialect, access.steps)
    this.#wholeJson = renderEntity(type, dialect, access.shown)
    this.#neverEmpty = new Set([...nonNullColumns(type, access.always), RANK])
  }

  get fields(): readonly Field[] {
    return this.access.shown.fields ?? this.type.fields
  }

  /** The table as it is now, or as it was at a time. */
  table(at: string | undefined): Sql {
    return at === undefined ? id(this.type.name) : this.#past
  }

  rowSource(at: string | undefined): RowSource {
    return { ...rowOf(this.type), stored: at === undefined }
  }

  value({ value: of, period }: Sortable, at: string | undefined): Sql {
    const value = this.access.conditions.value(at === undefined ? of : unfolded(of), this.rowSource(at))
    return period === undefined ? value : this.dialect.periodStart(value, period)
  }

  /** The JSON of a row. In the trash it has the deletion. */
  json({ fields, expand }: ReadQuery, { rows, at, trashed = false }: EntityJsonOptions): Sql {
    if (fields === undefined && expand === undefined && !trashed && at === undefined) return this.#wholeJson
    const { type, dialect } = this
    const { shown, shownThen, expansions } = this.access
    const plain = at === undefined ? shown : shownThen
    const all = expand === undefined ? plain : expansions.shown(type, expand, rowOf(type).self, rows)
    const showsDeletion = trashed && (fields === undefined || fields.has(DELETION))
    const deletion = showsDeletion ? [renderDeletion(type, dialect)] : []
    // Expanded references are always shown, even if `fields` does not name them.
    const chosen = fields === undefined ? undefined : new Set([...fields, ...(expand?.keys() ?? [])])
    return renderEntity(type, dialect, { ...all, chosen, more: [...(all.more ?? []), ...deletion] })
  }

  /** The conditions of a selection. `side`, an operand of the `||` of the read rule, replaces that rule. */
  where({ filters, trashed, at, search: words }: Selection, side?: Sql): Sql[] {
    const rowSource = { ...this.rowSource(at), live: trashed === 'without' && at === undefined }
    const { conditions } = this.access
    return [
      this.#isInState(trashed, rowSource),
      ...present([side ?? this.access.rule('read', rowSource), this.#historyRule(at)]),
      ...filters.map(({ expression }) => conditions.of(expression, rowSource)),
      ...(words === undefined || this.search === undefined ? [] : [this.search.condition(words)]),
    ]
  }

  /** The rules for reading one Entity. */
  readRules(at: string | undefined): Sql[] {
    return present([this.access.rule('read', this.rowSource(at)), this.#historyRule(at)])
  }

  #historyRule(at: string | undefined): Sql | undefined {
    return at === undefined ? undefined : this.access.rule('history', this.rowSource(at))
  }

  /** Live, deleted, or both. A deleted Entity is visible only to those who may restore it. */
  #isInState(trashed: Selection['trashed'], rowSource: RowSource): Sql {
    if (trashed === 'without') return sql`t."deleted_at" IS NULL`
    const restore = this.access.rule('restore', rowSource)
    if (trashed === 'only')
      return restore === undefined
        ? sql`t."deletion" IS NOT NULL`
        : sql`t."deletion" IS NOT NULL AND ${restore}`
    return restore === undefined ? sql`1 = 1` : sql`(t."deleted_at" IS NULL OR ${restore})`
  }

  /** The keys that a page is sorted by: values, or the rank of a search. */
  sortKeys({ sort, search: words, at }: PageQuery): KeysetKey[] {
    return sort.map((key) => ({
      ...key,
      sql:
        key.by.path === RANK && this.search !== undefined && words !== undefined
          ? this.search.rank(words)
          : this.value(key.by, at),
      mayBeEmpty: at !== undefined || !(isCount(key) || this.#neverEmpty.has(sortColumn(key) ?? '')),
    }))
  }

  /** The conditions of a page: those of its selection, and that its rows come after the cursor. */
  pageConditions(query: PageQuery, keys: readonly KeysetKey[], side?: Sql): Sql[] {
    const after = query.after === undefined ? [] : [isAfter(keys, query.after)]
    return [...this.where(query, side), ...after]
  }

  order(keys: readonly KeysetKey[]): Sql {
    return join(keys.map((key) => ordered(key.sql, sortColumn(key) ?? '', key.descending)))
  }

  /** The sort values of a row, from which a cursor is made. */
  place(keys: readonly KeysetKey[]): Sql {
    const { dialect } = this
    return dialect.array(keys.map(({ by, sql: value }) => dialect.render(by.kind, value, by.scale)))
  }

  /** Whether a declared index has the rows in the order of the sort. Indexes contain live rows only. */
  hasIndex(query: ListQuery): boolean {
    const { filters, sort } = query
    const held = constantColumns([this.access.readRule, ...filters.map(({ expression }) => expression)])
    const keys = sort.flatMap((key) => ({ column: sortColumn(key) ?? '', descending: key.descending }))
    return isOfToday(query) && isServedByIndex(this.type, keys, held)
  }

  /** Whether it selects all live rows. */
  hasAllLive(query: Selection): boolean {
    const { filters, at } = query
    return (
      filters.length === 0 && isOfToday(query) && this.access.rule('read', this.rowSource(at)) === undefined
    )
  }
}

/** How many rows there can be, at which time, and whether they may be deleted. */
interface EntityJsonOptions {
  readonly rows: number
  readonly at: string | undefined
  readonly trashed?: boolean
}

/** Whether the only sort is by id. */
export function isById({ sort }: PageQuery): boolean {
  return sort.length === 1 && sort[0]?.by.path === 'id'
}

/** Whether a sort key is the number of referrers of the Entity itself: it always has a value. */
function isCount({ by: { value } }: SortKey): boolean {
  if (value.op !== 'size' || 'op' in value.of) return false
  return referrersOf(value.of) !== undefined && value.of.place.hops.length === 0
}

/** Past texts have no folded form, so they are sorted as they are. */
function unfolded(value: Sortable['value']): Sortable['value'] {
  if (value.op !== 'value' || value.place.hops.length > 0) return value
  return { ...value, place: { ...value.place, column: unfoldedColumn(value.place.column) } }
}

function present(conditions: readonly (Sql | undefined)[]): Sql[] {
  return conditions.filter((one) => one !== undefined)
}
