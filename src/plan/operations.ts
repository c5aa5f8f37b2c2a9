import type { Dialect } from '../store/dialect.ts'
import { and, compile, count, param, type Sql, type Statement, sql } from '../store/sql.ts'
import { fittingRows } from './bytes.ts'
import { JOURNAL } from './journal.ts'
import { operationsOfRun } from './notes.ts'
import { Texts } from './texts.ts'

/** Which operations: all that is given must hold. */
export interface Filter {
  readonly actor?: { readonly name: string; readonly id: number | null } | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly entity?: string | undefined
  /** That of `Takeback-Run`. */
  readonly run?: string | undefined
  /** Only those behind this place. */
  readonly before?: OperationPlace | undefined
}

/** Operations are in the order of their newest change that matches; where that is the same, of their ids. */
export interface OperationPlace {
  readonly at: string
  readonly operation: string
}

/** What the journal says about operations. */
export interface OperationsPlan {
  /** Newest first: id, time, actor, actor's id, number of changes, time of its place. */
  page(filter: Filter, limit: number): Statement
  /** The same of one, by `$operation`. */
  readonly byId: Statement
  /** Of those in `$operations`: operation, Entity type, kind, number. */
  readonly kinds: Statement
  /** The ids of all that match, newest first. */
  matching(filter: Filter, limit: number): Statement
  /**
   * By `$operation`, behind the place `$after`: seq, Entity type, its id, version, kind, JSON, JSON of the version before,
   * and how many there are up to the limit. Those that an answer has no room for do not come back.
   */
  changes(limit: number): Statement
  /**
   * What `$operations` have touched: Entity type, id, the first version by them, the last one, how many; version, kind,
   * JSON, actor and actor's id of the newest; JSON of the version before the first.
   */
  readonly touched: Statement
}

export function compileOperations(dialect: Dialect): OperationsPlan {
  const texts = new Texts<Statement>()
  const made = (shape: string, make: () => Sql) => texts.of(shape, () => compile(make(), dialect.placeholder))
  const named = dialect.listed('$operations', 'text')
  return {
    page: (filter, limit) =>
      made(
        `page ${limit} ${shapeOf(filter)}`,
        () => sql`SELECT m."operation", ${head}, m."at" FROM (${matching(filter, limit)}) m
          JOIN ${JOURNAL} o ON o."operation" = m."operation" GROUP BY m."at", m."operation" ORDER BY m."at" DESC, m."operation" DESC`,
      ),
    byId: compile(
      sql`SELECT o."operation", ${head} FROM ${JOURNAL} o WHERE o."operation" = ${param('$operation')} GROUP BY o."operation"`,
      dialect.placeholder,
    ),
    kinds: compile(
      sql`SELECT j."operation", j."entity", j."kind", count(*) FROM ${JOURNAL} j WHERE j."operation" IN ${named}
        GROUP BY j."operation", j."entity", j."kind" ORDER BY j."operation", j."entity", j."kind"`,
      dialect.placeholder,
    ),
    matching: (filter, limit) => made(`matching ${limit} ${shapeOf(filter)}`, () => matching(filter, limit)),
    changes: (limit) =>
      made(`changes ${limit}`, () => {
        const former = sql`LEFT JOIN ${JOURNAL} b
          ON b."entity" = j."entity" AND b."entity_id" = j."entity_id" AND b."version" = j."version" - 1`
        const bytes = (of: Sql) => sql`coalesce(${dialect.bytes(sql`${of}."data"`, 'text')}, 0)`
        const picked = sql`SELECT j."seq" AS "key", ${bytes(sql`j`)} + ${bytes(sql`b`)} AS "bytes" FROM ${JOURNAL} j ${former}
          WHERE j."operation" = ${param('$operation')} AND j."seq" > ${param('$after', 'integer')} ORDER BY j."seq" LIMIT ${count(limit)}`
        return sql`SELECT j."seq", j."entity", j."entity_id", j."version", j."kind", j."data", b."data", f."picked"
          FROM (${fittingRows(picked, sql`p."key"`)}) f JOIN ${JOURNAL} j ON j."seq" = f."key" ${former} ORDER BY j."seq"`
      }),
    touched: compile(touched(named), dialect.placeholder),
  }
}

/**
 * Read from the index over the times, in its order: the statement ends when the page is full. The changes of an operation
 * mostly have one time; where they have several, the newest that matches is its place.
 */
function matching(filter: Filter, limit: number): Sql {
  return sql`SELECT j."operation", j."at" FROM ${JOURNAL} j WHERE ${where(filter)} GROUP BY j."at", j."operation"
    HAVING NOT EXISTS (SELECT 1 FROM ${JOURNAL} k WHERE k."operation" = j."operation" AND k."at" > j."at" AND ${each(filter, sql`k`)})
    ORDER BY j."at" DESC, j."operation" DESC LIMIT ${count(limit)}`
}

/** Of an operation: time, actor, actor's id, number of changes. */
const head = sql`min(o."at"), min(o."actor"), min(o."actor_id"), count(*)`

function touched(named: Sql): Sql {
  const same = (alias: Sql) => sql`${alias}."entity" = w."entity" AND ${alias}."entity_id" = w."entity_id"`
  const newest = sql`(SELECT max(k."version") FROM ${JOURNAL} k WHERE ${same(sql`k`)})`
  return sql`SELECT w."entity", w."entity_id", w."first", w."last", w."n", c."version", c."kind", c."data", c."actor", c."actor_id", b."data"
    FROM (SELECT j."entity", j."entity_id", min(j."version") AS "first", max(j."version") AS "last", count(*) AS "n"
      FROM ${JOURNAL} j WHERE j."operation" IN ${named} GROUP BY j."entity", j."entity_id") w
    JOIN ${JOURNAL} c ON ${same(sql`c`)} AND c."version" = ${newest}
    LEFT JOIN ${JOURNAL} b ON ${same(sql`b`)} AND b."version" = w."first" - 1
    ORDER BY w."entity", w."entity_id"`
}

function where(filter: Filter): Sql {
  const { actor, run, before } = filter
  const whose =
    actor === undefined
      ? []
      : [
          sql`j."actor" = ${param('$actor')}`,
          actor.id === null ? sql`j."actor_id" IS NULL` : sql`j."actor_id" = ${param('$actor_id')}`,
        ]
  const at = param('$before_at', 'datetime')
  return and([
    each(filter, sql`j`),
    ...whose,
    ...(run === undefined ? [] : [sql`j."operation" IN ${operationsOfRun}`]),
    ...(before === undefined
      ? []
      : [sql`j."at" <= ${at} AND (j."at" < ${at} OR j."operation" < ${param('$before')})`]),
  ])
}

/** What the changes of one operation need not have in common. The `||` keeps a type's own index from looking better: it is in no order of time. */
function each({ since, until, entity }: Filter, alias: Sql): Sql {
  return and([
    sql`1 = 1`,
    ...(since === undefined ? [] : [sql`${alias}."at" >= ${param('$since', 'datetime')}`]),
    ...(until === undefined ? [] : [sql`${alias}."at" < ${param('$until', 'datetime')}`]),
    ...(entity === undefined ? [] : [sql`${alias}."entity" || '' = ${param('$entity')}`]),
  ])
}

function shapeOf(filter: Filter): string {
  return [
    filter.actor === undefined ? '' : filter.actor.id === null ? 'name' : 'user',
    ...(['since', 'until', 'entity', 'run', 'before'] as const).filter((key) => filter[key] !== undefined),
  ].join(' ')
}
