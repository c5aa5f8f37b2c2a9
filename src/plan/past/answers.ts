import { budget } from '../../budget.ts'
import { allComputed } from '../../declare/computed.ts'
import type { Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
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
import { Dependencies } from '../condition/dependencies.ts'
import { ShapeCache } from '../condition/shape-cache.ts'
import { lockRows } from '../tables/lock-rows.ts'
import { lockNames } from '../tables/locks.ts'
import { JOURNAL } from './journal.ts'

const ANSWERS = id('takeback_answers')
/** The Entities that each kept answer shows: key, Entity type, id. */
const SHOWN = id('takeback_shown')

/**
 * The lock between code with a key and purges. Code that begins before a purge is found by it; code that begins later
 * reads nothing that it erases. Without the lock, code could begin after the purge has looked for keys, and still read.
 */
const BEGINNING = ['code with a key']

/** Stands for any Entity: nobody knows which ones the user's code shows. */
const ANYTHING = quoted('')

/** As the id of an Entity: any of its type. */
const ANY_ID = sql`0`

/** Requests with an `Idempotency-Key`, and their answers. */
export interface AnswersPlan {
  /** Claims `$key` for `$request` at `$now`, unless it was claimed since `$expired`. Waits for concurrent claims. */
  readonly claim: readonly Step[]
  /** The request that has the key, and its answer: request, status, headers, body. */
  readonly find: Statement
  /** Stores the answer, and the Entities that it shows, which are also bound as `$shown`. */
  keep(shows: readonly (readonly [entity: string, id: number])[]): readonly Step[]
  /** Claims `$key` for user code. Also takes over code that began before `$stalled` and never answered. */
  readonly begin: readonly Step[]
  /** Stores the answer of that code. */
  readonly finish: readonly Step[]
  /** Releases the key: the code has failed. */
  readonly release: readonly Step[]
  /** Deletes some answers from before `$expired`; refused if there are none. */
  readonly clear: readonly Step[]
}

export function compileAnswers(model: Model, dialect: Dialect): AnswersPlan {
  const expired = param('$expired', 'datetime')
  const one = (name: string, source: Sql) => step(dialect, name, 'some', source)
  const claim = (isFree: Sql) =>
    one(
      'claim',
      sql`INSERT INTO ${ANSWERS} ("key", "request", "at", "status", "headers") VALUES (${param('$key')}, ${param('$request')}, ${param('$now', 'datetime')}, 0, '')
        ON CONFLICT ("key") DO UPDATE SET "request" = excluded."request", "at" = excluded."at", "operation" = NULL, "status" = 0, "headers" = '', "body" = NULL
        WHERE ${isFree} RETURNING "key"`,
    )
  const isOld = sql`${ANSWERS}."at" < ${expired}`
  const cache = new ShapeCache<readonly Step[]>()
  const old = sql`SELECT a."key" FROM ${ANSWERS} a WHERE a."at" < ${expired} ORDER BY a."at", a."key" LIMIT ${intLiteral(budget.stepRows)}`
  return {
    claim: [claim(isOld)],
    ...compileCode(dialect, claim, isOld),
    find: compile(
      sql`SELECT "request", "status", "headers", "body" FROM ${ANSWERS} WHERE "key" = ${param('$key')}`,
      dialect.placeholder,
    ),
    keep(shows) {
      const types = [...new Set(shows.map(([entity]) => entity))].sort()
      return cache.of(types.join('|'), () => [
        ...keepSteps(types, dialect),
        ...types.flatMap((type) => [...reachedTypes(type, model)]).map((type) => showAny(type, dialect)),
      ])
    },
    clear: [
      step(dialect, 'clear', 'any', sql`DELETE FROM ${SHOWN} WHERE ${dialect.isAmong(id('key'), old)}`),
      one('clear', sql`DELETE FROM ${ANSWERS} WHERE ${dialect.isAmong(id('key'), old)}`),
    ],
  }
}

/** The types from which the computed fields of a type take values. */
function reachedTypes(name: string, model: Model): Set<string> {
  const depends = new Dependencies(model)
  const type = model.entities.get(name)
  if (type !== undefined) for (const { expression } of allComputed(type, model)) depends.add(expression, type)
  return new Set(depends.found.map((one) => one.type))
}

/** For user code, which does not share a transaction with its answer. A purge while it runs marks the key. */
function compileCode(
  dialect: Dialect,
  claim: (isFree: Sql) => Step,
  isOld: Sql,
): Pick<AnswersPlan, 'begin' | 'finish' | 'release'> {
  const any = (name: string, source: Sql) => step(dialect, name, 'any', source)
  const isMine = sql`"key" = ${param('$key')} AND "at" = ${param('$now', 'datetime')} AND "status" = 0`
  const stalled = sql`${ANSWERS}."status" = 0 AND ${ANSWERS}."at" < ${param('$stalled', 'datetime')}`
  return {
    begin: [
      ...lockNames(BEGINNING, dialect, true),
      claim(sql`${isOld} OR ${stalled}`),
      any(
        'shown',
        sql`INSERT INTO ${SHOWN} ("key", "entity", "entity_id") VALUES (${param('$key')}, ${ANYTHING}, 0) ON CONFLICT DO NOTHING`,
      ),
    ],
    finish: [
      any(
        'keep',
        sql`UPDATE ${ANSWERS} SET "status" = ${param('$status', 'integer')}, "headers" = ${param('$headers')},
          "body" = CASE WHEN "operation" IS NULL THEN ${param('$body')} END, "operation" = NULL WHERE ${isMine}`,
      ),
    ],
    // In the same order as a purge locks them.
    release: [
      step(dialect, 'release', 'some', sql`DELETE FROM ${ANSWERS} WHERE ${isMine}`),
      any('release', sql`DELETE FROM ${SHOWN} WHERE "key" = ${param('$key')}`),
    ],
  }
}

/**
 * Stores an answer; without its body if it shows Entities that are purged by now. A later purge finds the answer in
 * SHOWN. The Entities are locked meanwhile, so no purge comes in between.
 */
function keepSteps(types: readonly string[], dialect: Dialect): Step[] {
  const shown = dialect.rows('$shown', [
    { name: 'entity', kind: 'text' },
    { name: 'id', kind: 'integer' },
  ])
  const idsOf = (type: string) => sql`(SELECT s."id" FROM ${shown} s WHERE s."entity" = ${quoted(type)})`
  const gone = types.map(
    (type) =>
      sql`EXISTS (SELECT 1 FROM ${shown} s WHERE s."entity" = ${quoted(type)} AND NOT EXISTS (SELECT 1 FROM ${id(type)} t WHERE t."id" = s."id"))`,
  )
  const purges = sql`EXISTS (SELECT 1 FROM ${JOURNAL} j WHERE j."operation" = ${param('$operation')} AND j."kind" = 'purge')`
  return [
    ...types.flatMap((type) => hold(type, idsOf(type), dialect)),
    ...(types.length === 0
      ? []
      : [
          step(
            dialect,
            'shown',
            'any',
            sql`INSERT INTO ${SHOWN} ("key", "entity", "entity_id") SELECT DISTINCT ${param('$key')}, s."entity", s."id" FROM ${shown} s
              WHERE 1 = 1 ON CONFLICT DO NOTHING`,
          ),
        ]),
    step(
      dialect,
      'keep',
      'some',
      sql`UPDATE ${ANSWERS} SET "operation" = ${param('$operation')}, "status" = ${param('$status', 'integer')}, "headers" = ${param('$headers')},
        "body" = CASE WHEN ${join([purges, ...gone], sql` OR `)} THEN NULL ELSE ${param('$body')} END WHERE "key" = ${param('$key')}`,
    ),
  ]
}

/**
 * Records that the answer may show any Entity of a type. It takes no lock: what a computed field reaches is referred to,
 * so it cannot be purged until that reference is gone.
 */
function showAny(type: string, dialect: Dialect): Step {
  return step(
    dialect,
    'shown',
    'any',
    sql`INSERT INTO ${SHOWN} ("key", "entity", "entity_id") VALUES (${param('$key')}, ${quoted(type)}, ${ANY_ID}) ON CONFLICT DO NOTHING`,
  )
}

function hold(type: string, ids: Sql, dialect: Dialect): Step[] {
  if (dialect.lock === undefined) return []
  return [step(dialect, 'hold', 'any', lockRows(type, sql`h."id" IN ${ids}`, dialect.lock.toExist))]
}

/** The first step of every transaction that erases Entities. */
export function holdBeginning(dialect: Dialect): Step[] {
  return lockNames(BEGINNING, dialect)
}

/**
 * Blanks the kept answers that show erased Entities, or may show them. The keys stay answered, so their requests do not
 * run again. Blanked answers no longer show anything, and running code is marked: later purges can ignore both.
 */
export function eraseAnswers(type: string, ofThese: Sql, { isAmong }: Dialect): Sql[] {
  const isAny = sql`"entity" IN (${ANYTHING}, ${quoted(type)}) AND "entity_id" = ${ANY_ID}`
  const keys = sql`SELECT s."key" FROM ${SHOWN} s WHERE ${ofThese} UNION SELECT s."key" FROM ${SHOWN} s WHERE ${isAny}`
  return [
    sql`UPDATE ${ANSWERS} SET "body" = NULL, "operation" = CASE WHEN "status" = 0 THEN 'purged' ELSE "operation" END WHERE ${isAmong(id('key'), keys)}`,
    sql`DELETE FROM ${SHOWN} WHERE ${isAny} AND EXISTS (SELECT 1 FROM ${ANSWERS} a WHERE a."key" = ${SHOWN}."key"
      AND (a."body" IS NULL AND a."status" <> 0 OR a."operation" = 'purged'))`,
  ]
}
