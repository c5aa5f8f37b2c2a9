import {
  type Expression,
  type Hop,
  type ListPlace,
  type Literal,
  linkRowsOf,
  no,
  type Place,
  referrersOf,
  type ValueExpression,
  yes,
} from '../../declare/cel/expression.ts'
import { not } from '../../declare/cel/fold.ts'
import type { ColumnKind } from '../../declare/fields/field.ts'
import type { EntityType, Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { and, id, join, once, type Sql, sql } from '../../store/sql.ts'
import { columnRule, type Viewer } from '../viewer/viewer.ts'
import { chooseSql, comparisons, literalSql, nowSql, partSql, prefixEndSql } from './literals.ts'
import { numberSql } from './numbers.ts'
import { entryIn, isConstant } from './pinned.ts'
import { eachOf, itemAlias, MEMBERS, type OpenList, ownerIdOf, TARGET } from './quantifier.ts'
import { ReferrersSql } from './referrers.ts'
import { type RowSource, rowOf } from './row-source.ts'
import type { TableSource } from './table-source.ts'

type TextOperator = 'startsWith' | 'endsWith' | 'contains' | 'matches'

/** What an SqlWriter needs to write an expression. */
interface Writing {
  readonly model: Model
  readonly dialect: Dialect
  readonly viewer: Viewer | undefined
  readonly rowSource: RowSource
  readonly tables: TableSource
  /** The number of aliases so far. Rules inside share it, so that no alias hides one outside. */
  readonly aliases?: { count: number }
}

/** Writes the SQL of one expression. */
export class SqlWriter {
  readonly #model: Model
  readonly #dialect: Dialect
  readonly #viewer: Viewer | undefined
  readonly #rowSource: RowSource
  readonly #tables: TableSource
  readonly #lists = new Map<number, OpenList>()
  readonly #aliases: { count: number }

  constructor({ model, dialect, viewer, rowSource, tables, aliases = { count: 0 } }: Writing) {
    this.#model = model
    this.#dialect = dialect
    this.#viewer = viewer
    this.#rowSource = rowSource
    this.#tables = tables
    this.#aliases = aliases
  }

  /**
   * `holds`: only whether it is true counts, so false and unknown are the same. That allows SQL that starts from the
   * few matching targets instead of from every row that refers to one.
   */
  write(expression: Expression, holds: boolean): Sql {
    switch (expression.op) {
      case 'and':
        return sql`(${and(expression.of.map((one) => this.write(one, holds)))})`
      case 'or':
        return sql`(${join(
          expression.of.map((one) => this.write(one, holds)),
          sql` OR `,
        )})`
      case 'not':
        return this.#not(expression.of, holds)
      case 'compare':
        return this.#compare(expression, holds)
      case 'made':
        return sql`(${this.write(expression.of, false)}) ${expression.not ? sql`IS NULL` : sql`IS NOT NULL`}`
      case 'there':
        return sql`${this.#place(expression.place)} ${expression.not ? sql`IS NULL` : sql`IS NOT NULL`}`
      case 'in':
        return this.#in(expression, holds)
      case 'member':
        return this.#member(expression.value, expression.list, holds)
      case 'exists':
      case 'all':
        return this.#each(expression, holds)
      case 'startsWith':
      case 'endsWith':
      case 'contains':
      case 'matches':
        return this.#over(expression.text, [expression.part], holds, (text) =>
          this.#text(expression.op, text, expression.part),
        )
      default:
        return this.#value(expression)
    }
  }

  /** For referrers, `!exists(x, …)` is written as `all(x, !…)`, where the first referrer that decides is enough. */
  #not(of: Expression, holds: boolean): Sql {
    if (!holds || (of.op !== 'exists' && of.op !== 'all') || referrersOf(of.list) === undefined)
      return sql`NOT (${this.write(of, false)})`
    return this.#each({ ...of, op: of.op === 'all' ? 'exists' : 'all', condition: not(of.condition) }, true)
  }

  #value(expression: ValueExpression): Sql {
    switch (expression.op) {
      case 'constant':
        return expression.value === null ? sql`NULL` : expression.value ? sql`1 = 1` : sql`1 = 0`
      case 'literal':
        return this.#literal(expression)
      case 'now':
        return nowSql(expression, this.#dialect)
      case 'value':
        return this.#place(expression.place, expression)
      case 'shift':
        return this.#dialect.shift(this.write(expression.of, false), expression.by)
      case 'size':
        return 'op' in expression.of
          ? sql`length(${this.write(expression.of, false)})`
          : this.#length(expression.of)
      case 'lower':
        return this.#dialect.lower(this.write(expression.of, false))
      case 'part':
        return partSql(expression, this.#dialect, this.write(expression.of, false))
      case 'choose':
        return chooseSql(expression, (one) => this.write(one, false))
      case 'concat':
        return sql`(${this.write(expression.left, false)} || ${this.write(expression.right, false)})`
      default:
        return numberSql(expression, this.#dialect, (one) => this.#operand(one))
    }
  }

  #literal(literal: Literal): Sql {
    return literalSql(literal, this.#dialect, this.#viewer !== undefined)
  }

  /** The length of a list. `most`: the number that it is compared with; referrers are counted no further. */
  #length(list: ListPlace, most?: Sql): Sql {
    const referrers = referrersOf(list)
    if (referrers === undefined) return this.#dialect.lengthOf(this.#place(list.place))
    return this.#referrers.size(list, referrers, most)
  }

  get #referrers(): ReferrersSql {
    return new ReferrersSql({
      model: this.#model,
      dialect: this.#dialect,
      viewer: this.#viewer,
      rowSource: this.#rowSource,
      table: (name) => this.#tables.table(name),
      alias: () => this.#alias(),
      write: (expression, holds) => this.write(expression, holds),
      rule: (rule, rowSource) => this.#rule(rule, rowSource),
      over: (value, make) => this.#throughReferences(value, make, this.#dialect.isAmong),
      name: (depth, list, row) => this.#lists.set(depth, { list, row }),
    })
  }

  #compare({ how, left, right }: Extract<Expression, { op: 'compare' }>, holds: boolean): Sql {
    if (left.op === 'size' && !('op' in left.of) && right.op === 'literal' && right.kind === 'integer') {
      const most = this.#literal(right)
      return sql`${this.#length(left.of, most)} ${comparisons[how]} ${most}`
    }
    return this.#over(
      left,
      [right],
      holds,
      (value) => sql`${value} ${comparisons[how]} ${this.#operand(right)}`,
    )
  }

  #in({ value: wanted, of }: Extract<Expression, { op: 'in' }>, holds: boolean): Sql {
    return this.#over(wanted, of, holds, (value) => {
      const all = of.map((one) => this.#operand(one))
      // A single subquery in parentheses would be `IN (SELECT …)`, which without rows is false instead of unknown.
      return of.length === 1 ? sql`${value} = ${join(all)}` : sql`${value} IN (${join(all)})`
    })
  }

  /** An operand. A condition used as a value gets parentheses. */
  #operand(expression: Expression): Sql {
    const written = this.write(expression, false)
    return expression.kind === 'boolean' && !['value', 'literal'].includes(expression.op)
      ? sql`(${written})`
      : written
  }

  /**
   * A condition on a value. If the value is behind references, and the rest of the condition does not depend on the
   * row, the matching targets are found first.
   */
  #over(value: Expression, others: readonly Expression[], holds: boolean, make: (value: Sql) => Sql): Sql {
    if (!holds || !others.every(isConstant)) return make(this.#operand(value))
    return this.#throughReferences(value, make, (start, found) => sql`${start} IN (${found})`)
  }

  /** A condition on a value behind references. `isAmong` tests a reference against the found targets. */
  #throughReferences(value: Expression, make: (value: Sql) => Sql, isAmong: Dialect['isAmong']): Sql {
    if (value.op !== 'value' || value.place.hops.length === 0 || !this.#isRow(value.place.root))
      return make(this.#operand(value))
    const { root, hops, column } = value.place
    const path = this.#joinPath(hops)
    const met = make(this.#column(path.last, path.type, column))
    const start = this.#place({ root, hops: [], column: hops[0]?.column ?? '' })
    return isAmong(start, sql`SELECT ${path.first}."id" FROM ${path.tables} WHERE ${path.live} AND ${met}`)
  }

  /** Whether the root is a row of a table: the Entity itself, or a referrer. */
  #isRow(root: Place['root']): boolean {
    return root.of === 'self' || (root.of === 'item' && this.#lists.get(root.depth)?.row !== undefined)
  }

  #text(op: TextOperator, text: Sql, part: Expression): Sql {
    const inside = this.write(part, false)
    const end =
      op === 'startsWith' ? prefixEndSql(part, this.#dialect, this.#viewer !== undefined) : undefined
    if (end === undefined) return this.#dialect[op](text, inside)
    return once([text], ([value = text]) => sql`(${value} >= ${inside} AND ${value} < ${end})`)
  }

  /** The value at a place; NULL if there is none, or if the viewer may not see it. */
  #place({ root, hops, column }: Place, as?: { kind: ColumnKind; scale: number }): Sql {
    if (root.of === 'me') return this.#mine(root.entity, hops, column)
    if (root.of === 'item' && hops.length === 0)
      return this.#item(root.depth, column, as?.kind ?? 'json', as?.scale ?? 0)
    if (hops.length === 0) {
      if (root.of === 'next') return this.#rowSource.next?.(column) ?? this.#rowSource.self(column)
      return this.#seen(column, this.#rowSource)
    }
    const [first] = hops
    const path = this.#joinPath(hops)
    const start = this.#place(
      { root, hops: [], column: first?.column ?? '' },
      { kind: 'reference', scale: 0 },
    )
    return sql`(SELECT ${this.#column(path.last, path.type, column)} FROM ${path.tables} WHERE ${path.first}."id" = ${start} AND ${path.live})`
  }

  /** A value of the caller as it is now, not at login. Callers need not see all of their own fields. */
  #mine(entity: string, hops: readonly Hop[], column: string): Sql {
    if (hops.length === 0 && column === 'id') return this.#tables.me
    const me = this.#alias()
    const [first] = hops
    const value = (name: string) =>
      sql`(SELECT ${this.#column(me, this.#model.entities.get(entity), name)} FROM ${this.#tables.table(entity)} ${me} WHERE ${me}."id" = ${this.#tables.me})`
    if (first === undefined) return value(column)
    const path = this.#joinPath(hops)
    return sql`(SELECT ${this.#column(path.last, path.type, column)} FROM ${path.tables} WHERE ${path.first}."id" = ${value(first.column)} AND ${path.live})`
  }

  /** The joined tables along references. Each row must be live and visible to the viewer. */
  #joinPath(hops: readonly Hop[]): {
    first: Sql
    last: Sql
    type: EntityType | undefined
    tables: Sql
    live: Sql
  } {
    const stops = hops.map(({ to }) => ({ alias: this.#alias(), type: this.#model.entities.get(to) }))
    const live = stops.map(({ alias, type }) => {
      const guard = type === undefined ? yes : (this.#viewer?.may(type, 'read') ?? yes)
      const there = sql`${alias}."deleted_at" IS NULL`
      if (guard === yes || type === undefined) return there
      if (guard === no) return sql`1 = 0`
      return sql`${there} AND ${this.#rule(guard, { ...rowOf(type, alias), live: true })}`
    })
    const tables = stops.map(({ alias, type }, at) => {
      const table = sql`${this.#tables.table(type?.name ?? '')} ${alias}`
      const before = stops[at - 1]
      if (before === undefined) return table
      return sql`JOIN ${table} ON ${alias}."id" = ${this.#column(before.alias, before.type, hops[at]?.column ?? '')}`
    })
    const [first, last] = [stops[0], stops.at(-1)]
    return {
      first: first?.alias ?? sql``,
      last: last?.alias ?? sql``,
      type: last?.type,
      tables: join(tables, sql` `),
      live: and(live),
    }
  }

  #rule(rule: Expression, rowSource: RowSource): Sql {
    const [model, dialect, tables, aliases] = [this.#model, this.#dialect, this.#tables, this.#aliases]
    return new SqlWriter({ model, dialect, viewer: undefined, rowSource, tables, aliases }).write(rule, true)
  }

  #column(alias: Sql, type: EntityType | undefined, column: string): Sql {
    return type === undefined ? sql`${alias}.${id(column)}` : this.#seen(column, rowOf(type, alias))
  }

  /** A column, or NULL for Entities where the viewer may not see its field. */
  #seen(column: string, rowSource: RowSource): Sql {
    const rule = this.#viewer === undefined ? yes : columnRule(this.#viewer, rowSource.type, column)
    if (rule === yes) return rowSource.self(column)
    return rule === no
      ? sql`NULL`
      : sql`CASE WHEN ${this.#rule(rule, rowSource)} THEN ${rowSource.self(column)} END`
  }

  #member(value: Expression, list: ListPlace, holds: boolean): Sql {
    const links = linkRowsOf(list)
    if (holds && links && this.#isLinked(list)) return this.#linked(value, list, links.table)
    const wanted = this.#operand(value)
    const depth = MEMBERS + this.#aliases.count++
    const items = this.#items(list, depth)
    const single = typeof list.item === 'object' && 'kind' in list.item ? list.item : undefined
    const found = this.#item(
      depth,
      links === undefined ? '' : TARGET,
      single?.kind ?? 'reference',
      single?.scale ?? 0,
    )
    const given = this.#place(list.place)
    return once([wanted], ([one = wanted]) => {
      const any = sql`EXISTS (SELECT 1 FROM ${items} WHERE ${found} = ${one})`
      return sql`CASE WHEN ${one} IS NOT NULL AND ${given} IS NOT NULL THEN ${any} END`
    })
  }

  /** Whether the viewer sees the field in every Entity. */
  #isSeen({ root, hops, column }: Place): boolean {
    if (this.#viewer === undefined) return true
    const item = root.of === 'item' ? this.#lists.get(root.depth)?.list : undefined
    const start =
      root.of === 'me'
        ? root.entity
        : item === undefined
          ? this.#rowSource.type.name
          : referrersOf(item)?.from
    const type = this.#model.entities.get(hops.at(-1)?.to ?? start ?? '')
    return type === undefined || columnRule(this.#viewer, type, column) === yes
  }

  #each(each: Extract<Expression, { op: 'exists' | 'all' }>, holds: boolean): Sql {
    const { op, list, depth, condition } = each
    const referrers = referrersOf(list)
    if (referrers !== undefined) return this.#referrers.each(each, referrers, holds)
    const rows = this.#items(list, depth)
    const met = this.write(condition, holds && op === 'exists')
    const whole = sql`CASE WHEN ${this.#place(list.place)} IS NOT NULL THEN ${eachOf(op, { rows }, met, holds)} END`
    const wanted = op === 'exists' && holds && this.#isLinked(list) ? entryIn(each) : undefined
    if (wanted === undefined || list.entries === undefined) return whole
    return sql`(${this.#linked(wanted, list, list.entries.table)} AND ${whole})`
  }

  /** Whether the viewer may use the link table of a list. */
  #isLinked(list: ListPlace): boolean {
    return this.#isStored(list) && this.#isSeen(list.place)
  }

  /** That an Entity is in a list, by the index of the link table. */
  #linked(value: Expression, list: ListPlace, table: string): Sql {
    const wanted = this.#operand(value)
    const found = sql`SELECT l."source" FROM ${this.#tables.table(table)} l WHERE l."target" = ${wanted}`
    return this.#over(ownerIdOf(list), [value], true, (source) => sql`${source} IN (${found})`)
  }

  /** The items of a list, as rows. */
  #items(list: ListPlace, depth: number): Sql {
    this.#lists.set(depth, { list })
    const links = linkRowsOf(list)
    const alias = itemAlias(depth)
    if (links === undefined || !this.#isStored(list))
      return this.#dialect.items(this.#place(list.place), alias)
    return sql`(SELECT * FROM ${this.#tables.table(links.table)} k WHERE k."source" = ${this.write(ownerIdOf(list), false)}) ${alias}`
  }

  #item(depth: number, column: string, kind: ColumnKind, scale: number): Sql {
    const { list, row } = this.#lists.get(depth) ?? {}
    if (row !== undefined && list !== undefined)
      return this.#column(row, this.#model.entities.get(referrersOf(list)?.from ?? ''), column)
    const links = list === undefined ? undefined : linkRowsOf(list)
    const alias = itemAlias(depth)
    if (list === undefined || links === undefined) return this.#dialect.itemOf(alias, column, kind, scale)
    return this.#isStored(list)
      ? sql`${alias}.${id(column)}`
      : this.#dialect.itemOf(alias, 'id', 'integer', 0)
  }

  /** Whether the members of a list are stored in its link table. */
  #isStored({ place }: ListPlace): boolean {
    const { root, hops } = place
    if (hops.length > 0 || root.of === 'me') return true
    return this.#isRow(root) && (root.of === 'item' || this.#rowSource.stored)
  }

  #alias(): Sql {
    return { parts: [`h${this.#aliases.count++}`] }
  }
}
