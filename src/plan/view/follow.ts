import { type Expression, no, yes } from '../../declare/cel/expression.ts'
import { walk } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { namedColumns } from '../../store/named-columns.ts'
import { and, compile, id, param, type Sql, type Statement, sql } from '../../store/sql.ts'
import { Conditions } from '../condition/condition.ts'
import { Dependencies, type Dependency } from '../condition/dependencies.ts'
import type { Filter } from '../condition/filter.ts'
import { ShapeCache } from '../condition/shape-cache.ts'
import { currentTables, type TableSource } from '../condition/table-source.ts'
import { journalStates, laterChanges, ROW_NUMBER, tablesAtPlace } from '../past/place.ts'
import { renderEntity } from '../tables/render.ts'
import { RuleSql } from './rule-sql.ts'
import type { ViewInput } from './view-input.ts'

/** The changes of a type that a caller follows. */
export interface FollowQuery {
  readonly filter: Filter | undefined
  readonly fields: ReadonlySet<string> | undefined
}

/** How a viewer follows the changes of a type. Callers of one kind share the statements: `$callers` has their ids. */
export interface FollowPlan {
  /** Which of `$rows` (lists of a number and the JSON of a version) each caller sees: `visibleColumns`, by number. */
  readonly seen: Statement
  /** What each caller sees of dependents of the `$changed` Entities, at most `$most` rows: `visibleColumns`, by id. */
  dependents(dependency: Dependency): Statement
  /** What each caller sees of the `$changed` Entities today: `visibleColumns`, by id. */
  readonly current: Statement
  /** Other Entities that decide who sees what. If there are any, statements read the data at the place `$place`. */
  readonly dependencies: readonly Dependency[]
  /** The columns of the caller that decide who sees what. */
  readonly mine: ReadonlySet<string>
  readonly usesMe: boolean
  /** Where `fold()` is used: that part cannot be evaluated on versions in the journal. */
  readonly folds: 'rules' | 'filter' | undefined
  /** Whether they see every live Entity. */
  readonly seesAll: boolean
}

/** `number`: that of a row, or an id. `history`: 1 if the caller may know who changed it. */
export const visibleColumns = namedColumns({
  number: sql`s."number"`,
  caller: sql`s."caller"`,
  version: sql`s."version"`,
  history: sql`s."history"`,
  json: sql`s."json"`,
})

export type Follow = (query: FollowQuery) => FollowPlan

/** Compiled when the first caller follows. */
export function compileFollow(input: ViewInput): Follow {
  const made = new ShapeCache<FollowPlan>()
  return (query) => {
    const fields = query.fields === undefined ? '*' : [...query.fields].join(',')
    return made.of(`${query.filter?.shape ?? ''}|${fields}`, () => followPlan(input, query))
  }
}

function followPlan(input: ViewInput, query: FollowQuery): FollowPlan {
  const { type, viewer, model, dialect } = input
  const read = viewer.may(type, 'read')
  const depends = dependenciesOf(input, query.filter?.expression)
  const isPlaced = depends.found.length > 0 || depends.mine.size > 0
  const me = depends.usesMe ? sql`m."id"` : currentTables.me
  const tables: TableSource = { me, table: isPlaced ? tablesAtPlace(model, dialect) : currentTables.table }
  const selected = selectSeen(input, query, tables)
  const current = selectSeen(input, query, { me, table: currentTables.table })
  const statement = (rows: Sql, number: Sql, more: Sql = sql``) =>
    compile(
      sql`${isPlaced ? laterChanges : sql``} ${selected(rows, number, depends.usesMe)}${more}`,
      dialect.placeholder,
      more.parts.length === 0 && !isPlaced,
    )
  const dependents = new Map<Dependency, Statement>()
  return {
    seen: statement(journalStates(type, dialect), sql`t.${ROW_NUMBER}`),
    dependents(dependency) {
      const known = dependents.get(dependency)
      if (known !== undefined) return known
      const rows = sql`(SELECT t.* FROM ${tables.table(type.name)} t WHERE ${isDependent(dependency, tables, dialect)})`
      const made = statement(rows, sql`t."id"`, sql` LIMIT ${param('$most', 'integer')}`)
      dependents.set(dependency, made)
      return made
    },
    current: compile(
      current(
        sql`(SELECT t.* FROM ${id(type.name)} t WHERE ${dialect.isListed(sql`t."id"`, '$changed')})`,
        sql`t."id"`,
        depends.usesMe,
      ),
      dialect.placeholder,
      !isPlaced,
    ),
    dependencies: depends.found,
    mine: depends.mine,
    usesMe: depends.usesMe,
    folds: depends.folds ? (dependenciesOf(input, undefined).folds ? 'rules' : 'filter') : undefined,
    seesAll: read === yes && query.filter === undefined,
  }
}

/** The Entities that decide who sees an Entity, and which parts of it. */
function dependenciesOf({ type, viewer, model }: ViewInput, filter: Expression | undefined): Dependencies {
  const depends = new Dependencies(model)
  const rules = [
    viewer.may(type, 'read'),
    ...[...walk(type.fields)].map(({ path }) => viewer.mayField(type, path, 'read')),
  ]
  for (const rule of rules) if (rule !== yes && rule !== no) depends.add(rule, type)
  if (filter !== undefined) depends.add(filter, type, viewer)
  for (const { expression } of viewer.computed(type)) depends.add(expression, type, viewer)
  // The history rule only decides whether the actor is shown, so its dependencies do not count.
  const history = new Dependencies(model)
  history.add(viewer.may(type, 'history'), type)
  depends.usesMe ||= history.usesMe
  depends.folds ||= history.folds
  return depends
}

/** What callers see of the rows. */
function selectSeen(
  { type, viewer, model, dialect }: ViewInput,
  { filter, fields }: FollowQuery,
  tables: TableSource,
): (rows: Sql, number: Sql, usesMe: boolean) => Sql {
  const rules = new RuleSql(viewer, model, dialect, tables)
  const row = (column: string) => sql`t.${id(column)}`
  const rowSource = { type, stored: false, self: row }
  const { shown, condition } = rules.shownTo(type, row, false)
  const history = rules.condition(viewer.may(type, 'history'), rowSource)
  const json = renderEntity(type, dialect, { ...shown, chosen: fields })
  const filters = filter && [new Conditions(model, dialect, viewer, tables).of(filter.expression, rowSource)]
  const met = and([sql`t."deleted_at" IS NULL`, condition, ...(filters ?? [])])
  const callers = dialect.rows('$callers', [{ name: 'id', kind: 'integer' }])
  return (rows, number, usesMe) => {
    const from = usesMe ? sql`${rows} t CROSS JOIN ${callers} m` : sql`${rows} t`
    return sql`SELECT ${visibleColumns.sql} FROM (SELECT ${number} AS "number", ${usesMe ? sql`m."id"` : sql`NULL`} AS "caller",
      t."version", CASE WHEN ${history} THEN 1 ELSE 0 END AS "history", ${json} AS "json" FROM ${from} WHERE ${met}) s`
  }
}

/** That a row `t` depends on one of the `$changed` Entities. */
function isDependent({ path }: Dependency, tables: TableSource, dialect: Dialect): Sql {
  if (path.kind === 'any') return sql`1 = 1`
  if (path.kind === 'referrers') return dialect.isListed(sql`t."id"`, '$changed')
  const pathFrom = (alias: string, at: number): Sql => {
    const hop = path.hops[at]
    const value = sql`${{ parts: [alias] }}.${id(hop?.column ?? '')}`
    if (hop === undefined || at === path.hops.length - 1) return dialect.isListed(value, '$changed')
    const next = `d${at}`
    return dialect.isAmong(
      value,
      sql`SELECT ${{ parts: [next] }}."id" FROM ${tables.table(hop.to)} ${{ parts: [next] }} WHERE ${pathFrom(next, at + 1)}`,
    )
  }
  return pathFrom('t', 0)
}
