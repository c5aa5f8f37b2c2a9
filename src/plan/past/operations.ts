import { budget } from '../../budget.ts'
import type { Dialect } from '../../store/dialect.ts'
import { namedColumns } from '../../store/named-columns.ts'
import { and, compile, intLiteral, param, type Sql, type Statement, sql } from '../../store/sql.ts'
import { ShapeCache } from '../condition/shape-cache.ts'
import { fittingRows } from '../tables/bytes.ts'
import { type ActorFilter, journalledActor } from '../viewer/actor.ts'
import { compileDoneVia } from './done-via.ts'
import { FORMER, JOURNAL } from './journal.ts'
import { operationsOfRun } from './notes.ts'

/** A filter for operations. All given conditions must hold. */
export interface OperationFilter {
  readonly actor?: ActorFilter | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
  /** An Entity type, or one Entity of it. */
  readonly entity?: { readonly type: string; readonly id: number | null } | undefined
  /** Only operations with a change of this kind; if an Entity is given, a change of that Entity. */
  readonly kind?: string | undefined
  /** The operation that caused them. */
  readonly cause?: string | undefined
  /** The value of `Takeback-Run`. */
  readonly run?: string | undefined
  /** Only operations whose changes are all of these types, or that this key made. */
  readonly within?: { readonly types: readonly string[]; readonly key: string } | undefined
  /** Only operations after this one in the order, which has the newest first. */
  readonly before?: OperationPlace | undefined
}

/** Operations are ordered by their newest matching change, then by id. */
export interface OperationPlace {
  readonly at: string
  readonly operation: string
}

const head = {
  at: sql`min(o."at")`,
  user: sql`min(o."actor")`,
  userId: sql`min(o."actor_id")`,
  actor: sql`min(${journalledActor(sql`o`)})`,
  cause: sql`min(o."cause")`,
  changes: sql`count(*)`,
}

/** An operation: its time, its user, who acted, its cause, and the number of its changes. */
export const operationColumns = namedColumns({ operation: sql`o."operation"`, ...head })
/** The same, with the time that it is ordered by. */
export const placedColumns = namedColumns({ operation: sql`m."operation"`, ...head, place: sql`m."at"` })

/** A change, from a row `j` of the journal, with the JSON before it. */
export const ofChange = {
  seq: sql`j."seq"`,
  entity: sql`j."entity"`,
  id: sql`j."entity_id"`,
  version: sql`j."version"`,
  kind: sql`j."kind"`,
  data: sql`j."data"`,
  before: sql`b."data"`,
}

/** A change of an Entity, with its JSON after and before. `picked`: how many there are up to the limit. */
export const changeColumns = namedColumns(ofChange)
export const pickedColumns = namedColumns({ ...ofChange, picked: sql`f."picked"` })

/** How many changes of a kind an operation made to Entities of a type. */
export const kindCountColumns = namedColumns({
  operation: sql`j."operation"`,
  entity: sql`j."entity"`,
  kind: sql`j."kind"`,
  number: sql`count(*)`,
})

/** A version of an Entity. `deletion`: the operation that had deleted it. `made`: 1 if a given operation made it. */
export const touchedColumns = namedColumns({
  entity: sql`j."entity"`,
  id: sql`j."entity_id"`,
  version: sql`j."version"`,
  kind: sql`j."kind"`,
  operation: sql`j."operation"`,
  deletion: sql`j."deletion"`,
  data: sql`j."data"`,
  made: sql`w."made"`,
})

/** What the journal says about operations. */
export interface OperationsPlan {
  /** Newest first: `placedColumns`. */
  page(filter: OperationFilter, limit: number): Statement
  /** By `$operation`: `operationColumns`. */
  readonly byId: Statement
  /** For `$operations`: `kindCountColumns`. */
  readonly kinds: Statement
  /** The ids of all matching operations that can be undone, newest first. */
  matching(filter: OperationFilter, limit: number): Statement
  /** By `$operation`, after the place `$after`: `pickedColumns`. Only as many as an answer has room for. */
  changes(limit: number): Statement
  /**
   * The versions of Entities that `$operations` made, and the one before each, newest first within an Entity:
   * `touchedColumns`.
   */
  readonly touched: Statement
  /** By `$operation`, from the place `$offset` on, by Entity: `changeColumns`. */
  slice(limit: number): Statement
  /** The operations that `$operations` have caused, directly or not, newest first: `operationColumns`. */
  effects(limit: number): Statement
  /** By `$operation`: Entity type, id, version, kind, JSON of every change, by Entity. */
  readonly whole: Statement
  /** By `$via`: `doneColumns`. */
  readonly doneVia: Statement
}

export function compileOperations(dialect: Dialect): OperationsPlan {
  const cache = new ShapeCache<Statement>()
  const made = (shape: string, make: () => Sql) => cache.of(shape, () => compile(make(), dialect.placeholder))
  const named = dialect.listed('$operations', 'text')
  const matching = (filter: OperationFilter, limit: number, more?: Sql) =>
    selectOperations(filter, limit, dialect, more)
  return {
    page: (filter, limit) =>
      made(
        `page ${limit} ${filterShape(filter)}`,
        () => sql`SELECT ${placedColumns.sql} FROM (${matching(filter, limit)}) m
          JOIN ${JOURNAL} o ON o."operation" = m."operation" GROUP BY m."at", m."operation" ORDER BY m."at" DESC, m."operation" DESC`,
      ),
    byId: compile(
      sql`SELECT ${operationColumns.sql} FROM ${JOURNAL} o WHERE o."operation" = ${param('$operation')} GROUP BY o."operation"`,
      dialect.placeholder,
    ),
    kinds: compile(
      sql`SELECT ${kindCountColumns.sql} FROM ${JOURNAL} j WHERE j."operation" IN ${named}
        GROUP BY j."operation", j."entity", j."kind" ORDER BY j."operation", j."entity", j."kind"`,
      dialect.placeholder,
    ),
    matching: (filter, limit) =>
      made(`matching ${limit} ${filterShape(filter)}`, () =>
        matching(filter, limit, sql` AND j."kind" <> 'migrate'`),
      ),
    changes: (limit) =>
      made(`changes ${limit}`, () => {
        const bytes = (of: Sql) => sql`coalesce(${dialect.bytes(sql`${of}."data"`, 'text')}, 0)`
        const picked = sql`SELECT j."seq" AS "key", ${bytes(sql`j`)} + ${bytes(sql`b`)} AS "bytes" FROM ${JOURNAL} j ${FORMER}
          WHERE j."operation" = ${param('$operation')} AND j."seq" > ${param('$after', 'integer')} ORDER BY j."seq" LIMIT ${intLiteral(limit)}`
        return sql`SELECT ${pickedColumns.sql}
          FROM (${fittingRows(picked, sql`p."key"`)}) f JOIN ${JOURNAL} j ON j."seq" = f."key" ${FORMER} ORDER BY j."seq"`
      }),
    slice: (limit) =>
      made(
        `slice ${limit}`,
        () => sql`SELECT ${changeColumns.sql} FROM ${JOURNAL} j
          ${FORMER}
          WHERE j."operation" = ${param('$operation')} ORDER BY j."entity", j."entity_id", j."version"
          LIMIT ${intLiteral(limit)} OFFSET ${param('$offset', 'integer')}`,
      ),
    effects: (limit) => made(`effects ${limit}`, () => effects(named, limit)),
    whole: compile(
      sql`SELECT j."entity", j."entity_id", j."version", j."kind", j."data" FROM ${JOURNAL} j
        WHERE j."operation" = ${param('$operation')} ORDER BY j."entity", j."entity_id", j."version"`,
      dialect.placeholder,
    ),
    touched: compile(touched(named), dialect.placeholder),
    doneVia: compileDoneVia(dialect),
  }
}

/**
 * Reads the index on times in its order, so the statement ends when the page is full. The changes of an operation
 * mostly have one time. If they have several, the newest matching one is its place.
 */
function selectOperations(filter: OperationFilter, limit: number, dialect: Dialect, more: Sql = sql``): Sql {
  return sql`SELECT j."operation", j."at" FROM ${JOURNAL} j WHERE ${where(filter, dialect)}${more} GROUP BY j."at", j."operation"
    HAVING NOT EXISTS (SELECT 1 FROM ${JOURNAL} k WHERE k."operation" = j."operation" AND k."at" > j."at" AND ${each(filter, sql`k`)})
    ORDER BY j."at" DESC, j."operation" DESC LIMIT ${intLiteral(limit)}`
}

/** Operations that others have caused. Chains longer than `codeDepth` are stopped when they are made. */
function effects(named: Sql, limit: number): Sql {
  return sql`WITH RECURSIVE e("operation", "depth") AS (
      SELECT j."operation", 1 FROM ${JOURNAL} j WHERE j."cause" IN ${named}
      UNION SELECT j."operation", e."depth" + 1 FROM e JOIN ${JOURNAL} j ON j."cause" = e."operation" WHERE e."depth" <= ${intLiteral(budget.codeDepth)})
    SELECT ${operationColumns.sql} FROM ${JOURNAL} o WHERE o."operation" IN (SELECT e."operation" FROM e)
    GROUP BY o."operation" ORDER BY min(o."at") DESC, o."operation" DESC LIMIT ${intLiteral(limit)}`
}

function touched(named: Sql): Sql {
  const made = sql`SELECT j."entity", j."entity_id", j."version", 1 AS "made" FROM ${JOURNAL} j WHERE j."operation" IN ${named} AND j."kind" <> 'migrate'`
  return sql`SELECT ${touchedColumns.sql}
    FROM (SELECT a."entity", a."entity_id", a."version", max(a."made") AS "made" FROM (
      ${made} UNION ALL SELECT m."entity", m."entity_id", m."version" - 1, 0 FROM (${made}) m) a
      GROUP BY a."entity", a."entity_id", a."version") w
    JOIN ${JOURNAL} j ON j."entity" = w."entity" AND j."entity_id" = w."entity_id" AND j."version" = w."version"
    ORDER BY j."entity", j."entity_id", j."version" DESC`
}

function where(filter: OperationFilter, dialect: Dialect): Sql {
  const { run, before, within, cause } = filter
  const at = param('$before_at', 'datetime')
  return and([
    each(filter, sql`j`),
    ...whose(filter.actor),
    ...(cause === undefined ? [] : [sql`j."cause" = ${param('$cause')}`]),
    ...(run === undefined ? [] : [sql`j."operation" IN ${operationsOfRun}`]),
    ...(within === undefined ? [] : [isOfTypes(dialect)]),
    ...(before === undefined
      ? []
      : [sql`j."at" <= ${at} AND (j."at" < ${at} OR j."operation" < ${param('$before')})`]),
  ])
}

/** Whether all changes of the operation are of the `$types`, or the key has made it itself. */
function isOfTypes(dialect: Dialect): Sql {
  return sql`(j."via" = ${param('$key')} OR NOT EXISTS (SELECT 1 FROM ${JOURNAL} o WHERE o."operation" = j."operation"
    AND o."entity" NOT IN ${dialect.listed('$types', 'text')}))`
}

function whose({ user, via }: ActorFilter = {}): Sql[] {
  const inName =
    user === undefined
      ? []
      : [
          sql`j."actor" = ${param('$actor')}`,
          user.id === null ? sql`j."actor_id" IS NULL` : sql`j."actor_id" = ${param('$actor_id')}`,
        ]
  return [...inName, ...(via === undefined ? [] : [sql`j."via" = ${param('$via')}`])]
}

/** Conditions that may differ between the changes of one operation. */
function each({ since, until, entity, kind }: OperationFilter, alias: Sql): Sql {
  return and([
    sql`1 = 1`,
    ...(since === undefined ? [] : [sql`${alias}."at" >= ${param('$since', 'datetime')}`]),
    ...(until === undefined ? [] : [sql`${alias}."at" < ${param('$until', 'datetime')}`]),
    ...(entity === undefined ? [] : [isOf(entity, alias)]),
    ...(kind === undefined ? [] : [sql`${alias}."kind" = ${param('$kind')}`]),
  ])
}

/** That a change is of a type or one Entity. The `||` keeps planners off the index of types, which is not by time. */
function isOf({ id }: NonNullable<OperationFilter['entity']>, alias: Sql): Sql {
  if (id === null) return sql`${alias}."entity" || '' = ${param('$entity')}`
  return sql`${alias}."entity" = ${param('$entity')} AND ${alias}."entity_id" = ${param('$entity_id', 'integer')}`
}

function filterShape(filter: OperationFilter): string {
  const { user, via } = filter.actor ?? {}
  return [
    user === undefined ? '' : user.id === null ? 'name' : 'user',
    via === undefined ? '' : 'via',
    filter.entity === undefined ? '' : filter.entity.id === null ? 'type' : 'one',
    ...(['since', 'until', 'run', 'before', 'within', 'kind', 'cause'] as const).filter(
      (key) => filter[key] !== undefined,
    ),
  ].join(' ')
}
