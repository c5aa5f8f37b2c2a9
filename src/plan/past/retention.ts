import { budget } from '../../budget.ts'
import type { EntityType, Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { CUT, MARKS } from '../../store/migration/metadata.ts'
import {
  compile,
  id,
  intLiteral,
  join,
  param,
  quoted,
  type Sql,
  type Statement,
  sql,
} from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'
import { ShapeCache } from '../condition/shape-cache.ts'
import { JOURNAL } from './journal.ts'
import { cutNotes } from './notes.ts'
import { cutSeals } from './seals.ts'

const META = id('takeback_meta')
const PASSED = quoted('passed')

/** The statements that erase old data. */
export interface RetentionPlan {
  /** Times as texts, or null: the database's clock, the last pass, the newest change. `$at`: the server's clock. */
  readonly clocks: Statement
  /** Stores `$now` as the time of the last pass, unless that is later. */
  readonly keepPassed: readonly Step[]
  /** Stores `$now` as the time of the last pass in any case. */
  readonly confirm: readonly Step[]
  /** The marks as a text, and the place of the last change; each null if there is none. */
  readonly marks: Statement
  /** Stores `$marks`. */
  readonly keepMarks: readonly Step[]
  /** The types whose journal has a retention time. */
  readonly types: readonly EntityType[]
  /** How far the journal of each type is cut: key, place. */
  readonly places: Statement
  /**
   * The last old change among the next few after the place `$after`; null if all are younger. A change is old if its
   * time is up to `$before` or its place up to `$sure`. Nothing after the place `$last` counts.
   */
  readonly next: Statement
  /** Deletes what old changes of these types after `$after`, up to `$upto`, have replaced, and stores the place. */
  cut(types: readonly string[]): readonly Step[]
}

/** The key under which the place of a type is stored. */
export const cutPlaceKey = (type: string) => `${CUT}${type}`

export function compileRetention(model: Model, dialect: Dialect): RetentionPlan {
  const cache = new ShapeCache<readonly Step[]>()
  return {
    clocks: compile(
      sql`SELECT ${dialect.render('datetime', dialect.now, 0)}, (SELECT "value" FROM ${META} WHERE "key" = ${PASSED}),
        (SELECT ${dialect.render('datetime', sql`j."at"`, 0)} FROM ${JOURNAL} j ORDER BY j."seq" DESC LIMIT 1)`,
      dialect.placeholder,
    ),
    keepPassed: [
      step(
        dialect,
        'passed',
        'any',
        sql`${keepMeta(PASSED, param('$now'))} WHERE ${META}."value" < excluded."value"`,
      ),
    ],
    confirm: [step(dialect, 'passed', 'any', keepMeta(PASSED, param('$now')))],
    marks: compile(
      sql`SELECT (SELECT "value" FROM ${META} WHERE "key" = ${quoted(MARKS)}), (SELECT max(j."seq") FROM ${JOURNAL} j)`,
      dialect.placeholder,
    ),
    keepMarks: [step(dialect, 'marks', 'any', keepMeta(quoted(MARKS), param('$marks')))],
    types: [...model.entities.values()].filter(({ retention }) => retention.journal !== undefined),
    places: compile(
      sql`SELECT "key", "value" FROM ${META} WHERE "key" LIKE ${quoted(`${CUT}%`)}`,
      dialect.placeholder,
    ),
    next: compile(
      sql`SELECT max(n."seq") FROM (SELECT j."seq", j."at" FROM ${JOURNAL} j WHERE j."seq" > ${param('$after', 'integer')}
        AND j."seq" <= ${param('$last', 'integer')} ORDER BY j."seq" LIMIT ${intLiteral(budget.stepRows)}) n WHERE ${isOld(sql`n`)}`,
      dialect.placeholder,
    ),
    cut: (types) =>
      cache.of(types.join('|'), () =>
        [
          ...cutNotes(replaced(types), dialect),
          cutSeals(replaced(types)),
          sql`DELETE FROM ${JOURNAL} WHERE ${dialect.isAmong(id('seq'), sql`SELECT p."seq" ${replaced(types)}`)}`,
          ...types.map(keepPlace),
        ].map((source) => step(dialect, 'cut', 'any', source)),
      ),
  }
}

/**
 * Versions `p` that an old version `k` has replaced. The state of an Entity at the retention limit must stay known, so
 * a version goes only when the next one is old. All versions before `k` go, not just the last one: with a wrong clock,
 * an earlier pass may have skipped a version as too young.
 */
function replaced(types: readonly string[]): Sql {
  return sql`FROM ${JOURNAL} k JOIN ${JOURNAL} p ON p."entity" = k."entity" AND p."entity_id" = k."entity_id" AND p."version" < k."version"
    WHERE k."seq" > ${param('$after', 'integer')} AND k."seq" <= ${param('$upto', 'integer')} AND ${isOld(sql`k`)}
    AND k."entity" IN (${join(types.map(quoted))})`
}

/** That a change is old by its time; or by its place, if a fast clock gave it a time in the future. */
function isOld(change: Sql): Sql {
  return sql`(${change}."at" <= ${param('$before', 'datetime')} OR ${change}."seq" <= ${param('$sure', 'integer')})`
}

function keepPlace(type: string): Sql {
  return keepMeta(quoted(cutPlaceKey(type)), sql`CAST(${param('$upto', 'integer')} AS text)`)
}

function keepMeta(key: Sql, value: Sql): Sql {
  return sql`INSERT INTO ${META} ("key", "value") VALUES (${key}, ${value})
    ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value"`
}
