import { budget } from '../../budget.ts'
import type { Edge, EntityType, Model } from '../../declare/model.ts'
import type { Dialect, Params } from '../../store/dialect.ts'
import {
  and,
  compile,
  id,
  intLiteral,
  param,
  quoted,
  type Sql,
  type Statement,
  sql,
  unionAll,
} from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'
import { checksOf } from '../condition/checks.ts'
import { rowOf } from '../condition/row-source.ts'
import { FORBIDDEN, UNMET } from '../past/amendment.ts'
import { refuseMoved, versionsParams } from '../past/moved.ts'
import { checkKey } from '../past/obstacle.ts'
import { beginPurge, isNoPurge } from '../past/purge.ts'
import { nextVersion } from '../tables/columns.ts'
import { byType, type Legacy, type Reach, reachOf } from '../tables/graph.ts'
import { lockGraphs } from '../tables/locks.ts'
import { renderEntity } from '../tables/render.ts'
import { TOKEN_EPOCH, uniquesOf } from '../tables/schema.ts'
import type { View } from '../view/view.ts'
import { keepAnAdmin } from '../viewer/admins.ts'
import { isVersion } from '../write/update.ts'
import { clear, forgetCleared, setAgain } from './clear.ts'
import { explainRemovals, type RemovalExplanations } from './explain.ts'
import { Extent } from './extent.ts'

/**
 * Delete, restore and purge of one type, with everything that cascades. Each is one transaction: it finds the extent and
 * the obstacles, then changes whole tables at a time and writes the journal. Each is compiled on first use.
 */
export interface RemovePlan extends RemovalExplanations {
  readonly delete: readonly Step[]
  /** Deletes all Entities that are bound by `manyParams`, with everything that cascades from them. */
  deleteMany(): readonly Step[]
  readonly restore: readonly Step[]
  /** Marks the Entities to be erased. */
  readonly purge: readonly Step[]
  /** The types that a restore or a purge can include. */
  readonly takes: readonly string[]
  /** Whether a removal can include users. */
  readonly endsLogins: boolean
  /** After a restore that was refused for a taken value: the value, and the Entity that has it. */
  readonly conflicts: Statement
}

/** What removals of one type are compiled from, for one viewer. */
interface Removing {
  readonly type: EntityType
  readonly model: Model
  readonly legacy: Legacy
  readonly dialect: Dialect
  readonly view: Pick<View, 'shown' | 'rule' | 'disclosure'>
}

export function compileRemovals(removing: Removing): RemovePlan {
  const { type, model, legacy, view } = removing
  const reach = reachOf(type, model, legacy)
  const back = reachOf(type, model, legacy, 'back')
  const steps = new RemoveSteps(removing, reach, back)
  const one = onFirstUse(() => steps.delete())
  const restore = onFirstUse(() => steps.restore())
  const purge = onFirstUse(() => steps.purge())
  const conflicts = onFirstUse(() => steps.conflicts())
  return {
    ...explainRemovals(reach, back, model, view.disclosure),
    takes: back.types.map(({ name }) => name),
    endsLogins: reach.types.some(({ login }) => login !== undefined),
    deleteMany: onFirstUse(() => steps.deleteMany()),
    get delete() {
      return one()
    },
    get restore() {
      return restore()
    },
    get purge() {
      return purge()
    },
    get conflicts() {
      return conflicts()
    },
  }
}

export function onFirstUse<Made extends object>(make: () => Made): () => Made {
  let made: Made | undefined
  return () => {
    made ??= make()
    return made
  }
}

// The `coalesce` avoids the index on `deletion`, which would give the whole deletion at every step of the search.
const rootOfDeletion = sql`coalesce("deletion", '') = ${param('$deletion')}`
const restOfDeletion = sql`coalesce(c."deletion", '') = ${param('$deletion')}`

const isLiveRow = sql`c."deleted_at" IS NULL`

/** The parameters of `deleteMany`: all must still be at these versions. */
export function manyParams(entities: readonly { readonly id: number; readonly version: number }[]): Params {
  return {
    $ids: JSON.stringify(entities.map((one) => one.id)),
    ...versionsParams(0, entities),
  }
}

/** The steps of removals of one type. */
class RemoveSteps {
  readonly #type: EntityType
  readonly #model: Model
  readonly #dialect: Dialect
  readonly #view: Removing['view']
  /** The types that a deletion can reach. */
  readonly #reach: Reach
  readonly #extent: Extent
  /** The types that a restore or a purge can reach. */
  readonly #back: Reach
  readonly #taken: Extent

  constructor({ type, model, dialect, view }: Removing, reach: Reach, back: Reach) {
    this.#type = type
    this.#model = model
    this.#dialect = dialect
    this.#view = view
    this.#reach = reach
    this.#extent = new Extent(reach, model, dialect)
    this.#back = back
    this.#taken = new Extent(back, model, dialect)
  }

  delete(): Step[] {
    return [
      // Otherwise two admins could delete each other at the same time.
      ...(this.#type.name === this.#model.admins ? lockGraphs([this.#type], this.#model, this.#dialect) : []),
      ...this.#extent.find(this.#mayBe('delete', sql`"deleted_at" IS NULL`), isLiveRow),
      ...this.#deletion(this.#extent),
      this.#answer(),
    ]
  }

  deleteMany(): Step[] {
    const extent = new Extent(this.#reach, this.#model, this.#dialect, 'many')
    const table = id(this.#type.name)
    const rule = this.#view.rule('delete', rowOf(this.#type))
    const forbidden = sql`SELECT t."id" FROM ${table} t WHERE ${extent.isRoot(sql`t."id"`)}
      AND (${rule ?? sql`1 = 1`}) IS NOT TRUE LIMIT 1`
    return [
      ...extent.find(sql`"deleted_at" IS NULL`, isLiveRow),
      refuseMoved(
        this.#dialect,
        this.#type,
        0,
        sql`${extent.isRoot(sql`t."id"`)} AND t."deleted_at" IS NULL`,
      ),
      ...(rule === undefined ? [] : [step(this.#dialect, FORBIDDEN, 'none', forbidden)]),
      ...this.#deletion(extent),
    ]
  }

  /** The steps of a deletion, once its extent is known. */
  #deletion(extent: Extent): Step[] {
    const { types, restricts, floors, clears } = this.#reach
    return [
      ...this.#refuse('held', [
        ...restricts.map((edge, at) => extent.holders(edge, at, isLiveRow)),
        ...floors.map((edge, at) => extent.undercut(edge, restricts.length + at)),
      ]),
      ...this.#change(types.map((one) => stamp(one, extent, this.#dialect))),
      ...keepAnAdmin(types, this.#model, this.#dialect),
      ...this.#change(types.map((one) => extent.journal(one, 'delete'))),
      ...byType(clears, this.#model).flatMap(({ type, edges }) => clear(type, edges, extent, this.#dialect)),
      ...this.#refuse(UNMET, this.#unmet(clears, extent)),
    ]
  }

  restore(): Step[] {
    const { types, out, clears } = this.#back
    const taken = this.#taken
    return [
      ...this.#findTaken('restore'),
      ...taken.holdTargets(out),
      ...this.#refuse(
        'dead',
        out.map((edge, at) => taken.deadTargets(edge, at)),
      ),
      ...byType(clears, this.#model).flatMap(({ type, edges }) =>
        setAgain(type, edges, taken, this.#dialect),
      ),
      ...this.#change(types.map((one) => unstamp(one, taken, this.#dialect))),
      ...this.#refuse(UNMET, [
        ...types.flatMap((one) => this.#unmetIn(one, taken.ids(one.name))),
        ...this.#unmet(clears, taken),
      ]),
      ...this.#change(types.map((one) => taken.journal(one, 'restore'))),
      ...this.#change(clears.map((edge) => forgetCleared(edge, taken))),
      this.#answer(),
    ]
  }

  purge(): Step[] {
    const { types, into, clears } = this.#back
    const taken = this.#taken
    return [
      ...this.#findTaken('purge'),
      ...this.#refuse(
        'held',
        into.map((edge, at) => taken.holders(edge, at, sql`1 = 1`)),
      ),
      ...this.#change([
        ...clears.map((edge) => forgetCleared(edge, taken)),
        ...types.map((one) => mark(one, taken, this.#dialect)),
        ...types.map((one) => taken.journal(one, 'purge')),
        beginPurge(this.#dialect),
      ]),
    ]
  }

  /** Rows outside of the extent whose references have changed and that now break a check on them. */
  #unmet(edges: readonly Edge[], extent: Extent): Sql[] {
    return byType(edges, this.#model).flatMap(({ type, edges: changed }) =>
      this.#unmetIn(type, extent.affectedIds(type), new Set(changed.map(({ column }) => column))),
    )
  }

  /** Rows that break a check of their type: the type and the number of the check, the row. */
  #unmetIn(type: EntityType, ids: Sql, changed?: ReadonlySet<string>): Sql[] {
    return checksOf(type, this.#model, this.#dialect).flatMap((check, at) =>
      changed !== undefined && check.reads.isDisjointFrom(changed)
        ? []
        : [
            sql`SELECT ${quoted(checkKey(type, at))}, t."id", 0 FROM ${id(type.name)} t
              WHERE t."id" IN ${ids} AND ${check.broken(rowOf(type))}`,
          ],
    )
  }

  /** The unique values that a restore would bring back, but another Entity has. */
  conflicts(): Statement {
    const found = this.#back.types.flatMap((one, code) =>
      uniquesOf(one).map((set, at) => conflictOf(one, code, set, at)),
    )
    return compile(
      sql`WITH "takeback_back"("type", "id") AS (SELECT q."type", q."id" FROM (${this.#taken.closure(rootOfDeletion, restOfDeletion)}) q)
        ${unionAll(found)} LIMIT ${intLiteral(budget.namedObstacles)}`,
      this.#dialect.placeholder,
    )
  }

  /** The condition on the Entity itself: its state, `If-Match`, and the rule. */
  #mayBe(action: 'delete' | 'restore' | 'purge', state: Sql): Sql {
    const rule = this.#view.rule(action, rowOf(this.#type))
    return sql`${state} AND ${isVersion}${rule === undefined ? sql`` : sql` AND ${rule}`}`
  }

  #findTaken(action: 'restore' | 'purge'): readonly Step[] {
    return this.#taken.find(this.#mayBe(action, sql`${rootOfDeletion} AND ${isNoPurge}`), restOfDeletion)
  }

  #refuse(name: string, obstacles: readonly Sql[]): Step[] {
    if (obstacles.length === 0) return []
    return [
      step(
        this.#dialect,
        name,
        'none',
        sql`${unionAll(obstacles)} LIMIT ${intLiteral(budget.namedObstacles)}`,
      ),
    ]
  }

  #change(sources: readonly Sql[]): Step[] {
    return sources.map((source) => step(this.#dialect, 'change', 'any', source))
  }

  #answer(): Step {
    const json = renderEntity(this.#type, this.#dialect, this.#view.shown)
    return step(
      this.#dialect,
      'answer',
      'some',
      sql`SELECT t."id", t."version", ${json} FROM ${id(this.#type.name)} t WHERE t."id" = ${param('$id')}`,
    )
  }
}

/** Deleting a user ends their tokens. A restore does not bring these back. */
function stamp(type: EntityType, extent: Extent, dialect: Dialect): Sql {
  const tokens = type.login === undefined ? sql`` : sql`, ${id(TOKEN_EPOCH)} = ${id(TOKEN_EPOCH)} + 1`
  return sql`UPDATE ${id(type.name)} SET "deleted_at" = ${dialect.nextTime(id('updated_at'))}, "deletion" = ${param('$operation')}, ${nextVersion(dialect)}${tokens}
    WHERE ${extent.has(sql`"id"`, type.name)}`
}

function unstamp(type: EntityType, extent: Extent, dialect: Dialect): Sql {
  return sql`UPDATE ${id(type.name)} SET "deleted_at" = NULL, "deletion" = NULL, ${nextVersion(dialect)} WHERE "id" IN ${extent.ids(type.name)}`
}

/** Marks rows for a purge. No restore or undo brings them back. */
function mark(type: EntityType, extent: Extent, dialect: Dialect): Sql {
  return sql`UPDATE ${id(type.name)} SET "deletion" = ${param('$purge')}, ${nextVersion(dialect)} WHERE "id" IN ${extent.ids(type.name)}`
}

/** The type's number in the reach, the unique set's number in the type, who wants the value back, who has it. */
function conflictOf(type: EntityType, code: number, set: readonly string[], at: number): Sql {
  const same = set.map((name) => sql`h.${id(name)} = t.${id(name)}`)
  return sql`SELECT ${quoted(`${code} ${at}`)}, t."id", h."id" FROM "takeback_back" b
    JOIN ${id(type.name)} t ON t."id" = b."id" JOIN ${id(type.name)} h ON ${and(same)} AND h."id" <> t."id"
    WHERE b."type" = ${intLiteral(code)} AND h."deleted_at" IS NULL`
}
