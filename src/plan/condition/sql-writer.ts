import {
  type Expression,
  type Hop,
  type LinkRows,
  type ListPlace,
  type Literal,
  no,
  type Place,
  type ValueExpression,
  yes,
} from '../../declare/cel/expression.ts'
import type { ColumnKind } from '../../declare/fields/field.ts'
import type { EntityType, Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { and, id, join, once, param, type Sql, sql, word } from '../../store/sql.ts'
import { columnRule, type Viewer } from '../viewer/viewer.ts'
import { behind, behindName, literalName } from './literals.ts'
import { eachOf } from './quantifier.ts'
import { ME, NOW, type RowSource, rowOf } from './row-source.ts'

type TextOperator = 'startsWith' | 'endsWith' | 'contains' | 'matches'

const operators = { '==': sql`=`, '!=': sql`<>`, '<': sql`<`, '<=': sql`<=`, '>': sql`>`, '>=': sql`>=` }

/** What the SQL of an expression is written from. */
interface Writing {
  readonly model: Model
  readonly dialect: Dialect
  readonly viewer: Viewer | undefined
  readonly rowSource: RowSource
  /** How many aliases there are, those of the rules within included: each speaks of rows that have one outside of it. */
  readonly aliases?: { count: number }
}

/** Writes the SQL of one expression. */
export class SqlWriter {
  readonly #model: Model
  readonly #dialect: Dialect
  readonly #viewer: Viewer | undefined
  readonly #rowSource: RowSource
  readonly #lists = new Map<number, ListPlace>()
  readonly #aliases: { count: number }

  constructor({ model, dialect, viewer, rowSource, aliases = { count: 0 } }: Writing) {
    this.#model = model
    this.#dialect = dialect
    this.#viewer = viewer
    this.#rowSource = rowSource
    this.#aliases = aliases
  }

  /**
   * `holds`: only whether it is true counts, so false and unknown are the same. That allows SQL which starts from the few
   * targets that meet a condition, instead of from every row that refers to one.
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
        return sql`NOT (${this.write(expression.of, false)})`
      case 'compare':
        return this.#compare(expression, holds)
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

  #value(expression: ValueExpression): Sql {
    switch (expression.op) {
      case 'constant':
        return expression.value === null ? sql`NULL` : expression.value ? sql`1 = 1` : sql`1 = 0`
      case 'literal':
        return this.#literal(expression)
      case 'now':
        return this.#now(expression)
      case 'value':
        return this.#place(expression.place, expression)
      case 'shift':
        return this.#dialect.shift(this.write(expression.of, false), expression.by)
      case 'size':
        return 'op' in expression.of
          ? sql`length(${this.write(expression.of, false)})`
          : this.#dialect.lengthOf(this.#place(expression.of.place))
      case 'lower':
        return this.#dialect.lower(this.write(expression.of, false))
      case 'choose':
        return this.#choose(expression)
    }
  }

  #choose({ condition, then, otherwise }: Extract<Expression, { op: 'choose' }>): Sql {
    const test = this.write(condition, false)
    const met = this.write(then, false)
    const unmet = this.write(otherwise, false)
    return sql`CASE (${test}) WHEN TRUE THEN ${met} WHEN FALSE THEN ${unmet} END`
  }

  /** Literals of rules stand in the SQL. Literals of filters come from clients and are bound. */
  #literal({ kind, scale, value, at }: Literal): Sql {
    if (this.#viewer !== undefined) return this.#dialect.literal(param(literalName(at), kind), kind)
    if (typeof value === 'boolean') return value ? sql`TRUE` : sql`FALSE`
    const encoded = this.#dialect.encode(kind, scale)(value)
    const constant = typeof encoded === 'string' ? word(encoded) : { parts: [String(encoded)] }
    return this.#dialect.literal(constant, kind)
  }

  #now({ shift, day }: Extract<Expression, { op: 'now' }>): Sql {
    const now = param(NOW)
    const moved = shift + (day === 'ceiling' ? 86_400_000 - 1 : 0)
    const time = moved === 0 ? now : this.#dialect.shift(now, moved)
    return day === undefined ? time : this.#dialect.day(time)
  }

  #compare({ how, left, right }: Extract<Expression, { op: 'compare' }>, holds: boolean): Sql {
    return this.#over(
      left,
      [right],
      holds,
      (value) => sql`${value} ${operators[how]} ${this.#operand(right)}`,
    )
  }

  #in({ value: wanted, of }: Extract<Expression, { op: 'in' }>, holds: boolean): Sql {
    return this.#over(wanted, of, holds, (value) => {
      const all = of.map((one) => this.#operand(one))
      // A single subquery in the parentheses would be `IN (SELECT …)`, which is false instead of unknown without rows.
      return of.length === 1 ? sql`${value} = ${join(all)}` : sql`${value} IN (${join(all)})`
    })
  }

  /** A condition that is compared as a value stands in parentheses. */
  #operand(expression: Expression): Sql {
    const written = this.write(expression, false)
    return expression.kind === 'boolean' && !['value', 'literal'].includes(expression.op)
      ? sql`(${written})`
      : written
  }

  /**
   * A condition on a value. If the value is behind references, and nothing else in the condition depends on the row, the
   * targets that meet it are found first.
   */
  #over(value: Expression, others: readonly Expression[], holds: boolean, make: (value: Sql) => Sql): Sql {
    if (!holds || value.op !== 'value' || value.place.hops.length === 0 || value.place.root.of !== 'self')
      return make(this.#operand(value))
    if (!others.every((one) => one.op === 'literal' || one.op === 'now' || isMine(one)))
      return make(this.#operand(value))
    const { hops, column } = value.place
    const [first] = hops
    const way = this.#way(hops)
    const met = make(this.#column(way.last, way.type, column))
    const start = this.#place({ root: value.place.root, hops: [], column: first?.column ?? '' })
    return sql`${start} IN (SELECT ${way.first}."id" FROM ${way.tables} WHERE ${way.live} AND ${met})`
  }

  #text(op: TextOperator, text: Sql, part: Expression): Sql {
    const inside = this.write(part, false)
    switch (op) {
      case 'startsWith': {
        const bound = this.#behind(part)
        if (bound === undefined) return this.#dialect.startsWith(text, inside)
        return once([text], ([value = text]) => sql`(${value} >= ${inside} AND ${value} < ${bound})`)
      }
      case 'endsWith':
        return this.#dialect.endsWith(text, inside)
      case 'contains':
        return this.#dialect.contains(text, inside)
      case 'matches':
        return this.#dialect.matches(text, inside)
    }
  }

  /** The upper bound of a prefix search: as a range, an index can serve it. */
  #behind(part: Expression): Sql | undefined {
    if (part.op !== 'literal' || part.value === '') return undefined
    const bound = behind(String(part.value))
    if (bound === undefined) return undefined
    const text = this.#viewer === undefined ? word(bound) : param(behindName(part.at))
    return this.#dialect.literal(text, 'text')
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
    const way = this.#way(hops)
    const start = this.#place(
      { root, hops: [], column: first?.column ?? '' },
      { kind: 'reference', scale: 0 },
    )
    return sql`(SELECT ${this.#column(way.last, way.type, column)} FROM ${way.tables} WHERE ${way.first}."id" = ${start} AND ${way.live})`
  }

  /** A value of the caller, as it is now and not as it was at login. Callers need not see all of their own fields. */
  #mine(entity: string, hops: readonly Hop[], column: string): Sql {
    if (hops.length === 0 && column === 'id') return param(ME)
    const me = this.#alias()
    const [first] = hops
    const value = (name: string) =>
      sql`(SELECT ${this.#column(me, this.#model.entities.get(entity), name)} FROM ${id(entity)} ${me} WHERE ${me}."id" = ${param(ME)})`
    if (first === undefined) return value(column)
    const way = this.#way(hops)
    return sql`(SELECT ${this.#column(way.last, way.type, column)} FROM ${way.tables} WHERE ${way.first}."id" = ${value(first.column)} AND ${way.live})`
  }

  /** The joined tables along some references. Each row must be live and visible to the viewer. */
  #way(hops: readonly Hop[]): {
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
      return guard === no ? sql`1 = 0` : sql`${there} AND ${this.#rule(guard, rowOf(type, alias))}`
    })
    const tables = stops.map(({ alias, type }, at) => {
      const table = sql`${id(type?.name ?? '')} ${alias}`
      const before = stops[at - 1]
      if (before === undefined) return table
      return sql`JOIN ${table} ON ${alias}."id" = ${this.#column(before.alias, before.type, hops[at]?.column ?? '')}`
    })
    const [first, last] = [stops[0], stops.at(-1)]
    const none = sql``
    return {
      first: first?.alias ?? none,
      last: last?.alias ?? none,
      type: last?.type,
      tables: join(tables, sql` `),
      live: and(live),
    }
  }

  #rule(rule: Expression, rowSource: RowSource): Sql {
    const [model, dialect, aliases] = [this.#model, this.#dialect, this.#aliases]
    return new SqlWriter({ model, dialect, viewer: undefined, rowSource, aliases }).write(rule, true)
  }

  #column(alias: Sql, type: EntityType | undefined, column: string): Sql {
    return type === undefined ? sql`${alias}.${id(column)}` : this.#seen(column, rowOf(type, alias))
  }

  /** A column, or NULL in Entities where the viewer may not see its field. */
  #seen(column: string, rowSource: RowSource): Sql {
    const rule = this.#viewer === undefined ? yes : columnRule(this.#viewer, rowSource.type, column)
    if (rule === yes) return rowSource.self(column)
    return rule === no
      ? sql`NULL`
      : sql`CASE WHEN ${this.#rule(rule, rowSource)} THEN ${rowSource.self(column)} END`
  }

  #member(value: Expression, list: ListPlace, holds: boolean): Sql {
    const wanted = this.#operand(value)
    const links = linkRowsOf(list)
    if (holds && links !== undefined && this.#isStored(list) && this.#isSeen(list.place))
      return this.#over(
        idOf(list),
        [value],
        holds,
        (source) =>
          sql`${source} IN (SELECT l."source" FROM ${id(links.table)} l WHERE l."target" = ${wanted})`,
      )
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

  /** Whether the viewer sees that field in every Entity. */
  #isSeen({ root, hops, column }: Place): boolean {
    if (this.#viewer === undefined) return true
    const name = hops.at(-1)?.to ?? (root.of === 'me' ? root.entity : this.#rowSource.type.name)
    const type = this.#model.entities.get(name)
    return type === undefined || columnRule(this.#viewer, type, column) === yes
  }

  #each({ op, list, depth, condition }: Extract<Expression, { op: 'exists' | 'all' }>, holds: boolean): Sql {
    const items = this.#items(list, depth)
    const met = this.write(condition, holds && op === 'exists')
    return sql`CASE WHEN ${this.#place(list.place)} IS NOT NULL THEN ${eachOf(op, items, met, holds)} END`
  }

  /** The items of a list, as rows. */
  #items(list: ListPlace, depth: number): Sql {
    this.#lists.set(depth, list)
    const links = linkRowsOf(list)
    if (links === undefined || !this.#isStored(list))
      return this.#dialect.items(this.#place(list.place), itemAlias(depth))
    const alias = itemAlias(depth)
    return sql`(SELECT * FROM ${id(links.table)} k WHERE k."source" = ${this.write(idOf(list), false)}) ${alias}`
  }

  #item(depth: number, column: string, kind: ColumnKind, scale: number): Sql {
    const list = this.#lists.get(depth)
    const links = list === undefined ? undefined : linkRowsOf(list)
    const alias = itemAlias(depth)
    if (list === undefined || links === undefined) return this.#dialect.itemOf(alias, column, kind, scale)
    return this.#isStored(list)
      ? sql`${alias}.${id(column)}`
      : this.#dialect.itemOf(alias, 'id', 'integer', 0)
  }

  /** Whether the members of a list are stored in its link table. */
  #isStored({ place }: ListPlace): boolean {
    return (
      place.hops.length > 0 || place.root.of === 'me' || (place.root.of === 'self' && this.#rowSource.stored)
    )
  }

  #alias(): Sql {
    return { parts: [`h${this.#aliases.count++}`] }
  }
}

/** Item depths of `in` begin here: larger than any depth of `exists` and `all`. */
const MEMBERS = 1000
const TARGET = 'target'

function itemAlias(depth: number): Sql {
  return { parts: [`i${depth}`] }
}

function linkRowsOf({ item }: ListPlace): LinkRows | undefined {
  return typeof item === 'object' && 'table' in item ? item : undefined
}

/** The id of the Entity that has a list. */
function idOf({ place }: ListPlace): Expression {
  return { op: 'value', kind: 'reference', scale: 0, place: { ...place, column: 'id' } }
}

/** Whether a value belongs to the caller, and so is the same for all rows. */
function isMine(expression: Expression): boolean {
  return expression.op === 'value' && expression.place.root.of === 'me'
}
