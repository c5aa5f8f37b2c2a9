import { budget } from '../../budget.ts'
import type { Dialect } from '../../store/dialect.ts'
import { INCARNATION } from '../../store/migration/incarnation.ts'
import { CUT } from '../../store/migration/metadata.ts'
import { namedColumns } from '../../store/named-columns.ts'
import { compile, id, intLiteral, param, quoted, type Sql, type Statement, sql } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'
import { ShapeCache } from '../condition/shape-cache.ts'
import { fittingRows } from '../tables/bytes.ts'
import { journalledActor } from '../viewer/actor.ts'
import { FORMER, JOURNAL } from './journal.ts'
import { ofChange } from './operations.ts'

const META = id('takeback_meta')
const CURSORS = id('takeback_cursors')

/** The end of the journal: the number of its last change, and a row of `takeback_meta`. */
export const endColumns = namedColumns({
  last: sql`(SELECT max(j."seq") FROM ${JOURNAL} j)`,
  key: sql`m."key"`,
  value: sql`m."value"`,
})
/** An operation in a window: its last change there, how many it has there, and 1 if it ends there and is wanted. */
export const windowColumns = namedColumns({
  operation: sql`e."operation"`,
  place: sql`e."place"`,
  changes: sql`e."changes"`,
  isEnd: sql`e."is_end"`,
})
/** A change, and the number of changes up to the limit. */
export const followedColumns = namedColumns({
  operation: sql`j."operation"`,
  at: sql`j."at"`,
  actor: journalledActor(sql`j`),
  cause: sql`j."cause"`,
  ...ofChange,
  picked: sql`f."picked"`,
})

/** A single change. */
export const soleColumns = namedColumns({
  operation: sql`j."operation"`,
  at: sql`j."at"`,
  actor: journalledActor(sql`j`),
  cause: sql`j."cause"`,
  ...ofChange,
})

/** The step that is refused if somebody else has moved the cursor. */
export const CURSOR_MOVED = 'cursor'

/**
 * Statements to follow the journal. The place of an operation is its last change. A change of an Entity is made only
 * after earlier changes of it are committed, so these places are in the order of every Entity's versions. `filtered`:
 * only the types in `$entities`.
 */
export interface FeedPlan {
  /** From `takeback_meta`: the incarnation, and how far retention has cut each type. `endColumns`. */
  readonly end: Statement
  /** The operations of the next changes after `$after`, up to `$upto`, by their last change: `windowColumns`. */
  window(changes: number, filtered: boolean): Statement
  /**
   * The changes of `$operations` (lists of an operation and its place), in that order: `followedColumns`. Only as many
   * as an answer has room for.
   */
  changes(limit: number, filtered: boolean): Statement
  /** The changes of `$operation` after the number `$behind`: `followedColumns`. */
  further(limit: number, filtered: boolean): Statement
  /** The change that made `$version` of the Entity `$id` of the type `$entity`: `soleColumns`. */
  readonly change: Statement
  /** The first change after `$after`: the time now, and its own. `$at`: the server's clock, if it is the only one. */
  readonly next: Statement
  /** The place of the cursor `$name`. */
  readonly cursor: Statement
  /** The names of cursors that have not moved for long. */
  readonly idleCursors: Statement
  /** Creates the cursor `$name` at `$to`, unless it exists. */
  readonly make: readonly Step[]
  /** Moves the cursor from `$from` to `$to`. */
  readonly move: readonly Step[]
  /** Deletes the cursor. */
  readonly drop: readonly Step[]
}

export function compileFeed(dialect: Dialect): FeedPlan {
  const made = new ShapeCache<Statement>()
  const cached = (shape: string, make: () => Sql) =>
    made.of(shape, () => compile(make(), dialect.placeholder))
  return {
    end: compile(
      sql`SELECT ${endColumns.sql} FROM ${META} m
        WHERE m."key" = ${quoted(INCARNATION)} OR m."key" LIKE ${quoted(`${CUT}%`)}`,
      dialect.placeholder,
    ),
    window: (changes, filtered) =>
      cached(`window ${changes} ${filtered}`, () => window(changes, filtered, dialect)),
    changes: (limit, filtered) =>
      cached(`changes ${limit} ${filtered}`, () => {
        const operations = dialect.rows('$operations', [
          { name: 'operation', kind: 'text' },
          { name: 'place', kind: 'integer' },
        ])
        const isOne = dialect.isAmong(sql`j."operation"`, sql`SELECT n."operation" FROM ${operations} n`)
        return page(
          sql`SELECT j."seq", o."place" FROM ${operations} o JOIN ${JOURNAL} j ON j."operation" = o."operation"
            WHERE ${isOne} AND ${isWanted(sql`j`, filtered, dialect)} ORDER BY o."place", j."seq" LIMIT ${intLiteral(limit)}`,
          dialect,
        )
      }),
    further: (limit, filtered) =>
      cached(`further ${limit} ${filtered}`, () =>
        page(
          sql`SELECT j."seq", 0 AS "place" FROM ${JOURNAL} j WHERE j."operation" = ${param('$operation')} AND j."seq" > ${param('$behind', 'integer')}
            AND ${isWanted(sql`j`, filtered, dialect)} ORDER BY j."seq" LIMIT ${intLiteral(limit)}`,
          dialect,
        ),
      ),
    change: compile(
      sql`SELECT ${soleColumns.sql} FROM ${JOURNAL} j ${FORMER} WHERE j."entity" = ${param('$entity')}
        AND j."entity_id" = ${param('$id', 'integer')} AND j."version" = ${param('$version', 'integer')}`,
      dialect.placeholder,
    ),
    next: compile(
      sql`SELECT ${dialect.render('datetime', dialect.now, 0)}, ${dialect.render('datetime', sql`j."at"`, 0)}
        FROM ${JOURNAL} j WHERE j."seq" > ${param('$after', 'integer')} ORDER BY j."seq" LIMIT 1`,
      dialect.placeholder,
    ),
    ...compileCursors(dialect),
  }
}

function compileCursors(
  dialect: Dialect,
): Pick<FeedPlan, 'cursor' | 'idleCursors' | 'make' | 'move' | 'drop'> {
  const [name, from, to] = [param('$name'), param('$from', 'integer'), param('$to', 'integer')]
  return {
    cursor: compile(sql`SELECT "seq" FROM ${CURSORS} WHERE "name" = ${name}`, dialect.placeholder),
    idleCursors: compile(
      sql`SELECT "name" FROM ${CURSORS} WHERE "updated_at" < ${dialect.shift(dialect.clock, -budget.cursorIdleMs)}`,
      dialect.placeholder,
    ),
    make: [
      step(
        dialect,
        'make',
        'any',
        sql`INSERT INTO ${CURSORS} ("name", "seq", "updated_at") VALUES (${name}, ${to}, ${dialect.now}) ON CONFLICT DO NOTHING`,
      ),
    ],
    drop: [step(dialect, 'drop', 'any', sql`DELETE FROM ${CURSORS} WHERE "name" = ${name}`)],
    move: [
      step(
        dialect,
        CURSOR_MOVED,
        'some',
        sql`UPDATE ${CURSORS} SET "seq" = ${to}, "updated_at" = ${dialect.now} WHERE "name" = ${name} AND "seq" = ${from}`,
      ),
    ],
  }
}

/**
 * Each operation is looked up once, however many changes it has; an index finds its first and last one. All of its
 * changes are read only if it begins before the window.
 */
function window(changes: number, filtered: boolean, dialect: Dialect): Sql {
  const after = param('$after', 'integer')
  const within = sql`SELECT j."seq", j."operation", CASE WHEN ${isWanted(sql`j`, filtered, dialect)} THEN 1 ELSE 0 END AS "wanted" FROM ${JOURNAL} j
    WHERE j."seq" > ${after} AND j."seq" <= ${param('$upto', 'integer')} ORDER BY j."seq" LIMIT ${intLiteral(changes)}`
  const ofOperation = sql`FROM ${JOURNAL} k WHERE k."operation" = e."operation"`
  // One row instead of EXISTS, for which some databases would first read the whole journal.
  const andWanted = filtered
    ? sql` AND CASE WHEN e."wanted" = 1 THEN 1 WHEN (SELECT min(k."seq") ${ofOperation}) > ${after} THEN 0
        ELSE (SELECT 1 ${ofOperation} AND ${isWanted(sql`k`, filtered, dialect)} LIMIT 1) END = 1`
    : sql``
  const grouped = sql`SELECT w."operation", max(w."seq") AS "place", count(*) AS "changes", max(w."wanted") AS "wanted" FROM (${within}) w GROUP BY w."operation"`
  return sql`SELECT ${windowColumns.sql} FROM (SELECT e.*,
      CASE WHEN e."place" = (SELECT max(k."seq") ${ofOperation})${andWanted} THEN 1 ELSE 0 END AS "is_end"
    FROM (${grouped}) e) e ORDER BY e."place"`
}

/** The changes for rows of `seq` and `place`, with everything that readers get. */
function page(rows: Sql, dialect: Dialect): Sql {
  const bytes = (of: Sql) => sql`coalesce(${dialect.bytes(sql`${of}."data"`, 'text')}, 0)`
  const sized = sql`SELECT r."seq" AS "key", r."place", ${bytes(sql`j`)} + ${bytes(sql`b`)} AS "bytes"
    FROM (${rows}) r JOIN ${JOURNAL} j ON j."seq" = r."seq" ${FORMER}`
  return sql`SELECT ${followedColumns.sql}
    FROM (${fittingRows(sized, sql`p."place", p."key"`)}) f JOIN ${JOURNAL} j ON j."seq" = f."key" ${FORMER} ORDER BY j."seq"`
}

/** That a change is of a wanted type. A join with the list would tempt planners to read the whole journal. */
function isWanted(alias: Sql, filtered: boolean, { isAmong, listed }: Dialect): Sql {
  if (!filtered) return sql`1 = 1`
  return isAmong(sql`${alias}."entity"`, sql`SELECT n.* FROM ${listed('$entities', 'text')} n`)
}
