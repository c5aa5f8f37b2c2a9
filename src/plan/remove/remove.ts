import { budget } from '../../budget.ts'
import type { EntityType, Model } from '../../declare/model.ts'
import { type Errors, note } from '../../errors.ts'
import type { Dialect, Row } from '../../store/dialect.ts'
import {
  and,
  compile,
  count,
  id,
  param,
  type Sql,
  type Statement,
  sql,
  unionAll,
  word,
} from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'
import { rowOf } from '../condition/row-source.ts'
import { beginPurge, isNoPurge } from '../past/purge.ts'
import { next } from '../tables/columns.ts'
import { byType, type Legacy, lockGraphs, type Reach, reachOf } from '../tables/graph.ts'
import { pathOfTarget } from '../tables/links.ts'
import { renderEntity } from '../tables/render.ts'
import { TOKEN_EPOCH, uniquesOf } from '../tables/schema.ts'
import type { View } from '../view/view.ts'
import { keepAnAdmin } from '../viewer/admins.ts'
import type { Disclosure } from '../viewer/disclosure.ts'
import { isVersion, noteTaken } from '../write/write.ts'
import { clear, forgetCleared, setAgain } from './clear.ts'
import { type Extent, extentOf } from './extent.ts'

/**
 * Delete, restore and purge of one type, with all that hangs from it. Each is one set-based transaction: first the
 * extent is found, then what stands against it, then whole tables at a time are changed and written down.
 */
export interface RemovePlan {
  readonly delete: readonly Step[]
  readonly restore: readonly Step[]
  /** Marks what is to be erased. */
  readonly purge: readonly Step[]
  /** The types that a restore or a purge can take. */
  readonly takes: readonly string[]
  /** Whether users can be among what it takes. */
  readonly endsLogins: boolean
  /** After a restore that met a taken value: which, and who has it. */
  readonly conflicts: Statement
  explainHeld(rows: readonly Row[], errors: Errors, action: 'delete' | 'purge'): void
  explainDead(rows: readonly Row[], errors: Errors, self: number): void
  /** After a restore that met deleted targets: which. */
  deadTargets(rows: readonly Row[]): (readonly [type: string, id: number])[]
  /** After a restore that met a taken value that is not among the conflicts: it was in what would have been set again. */
  explainSetAgain(errors: Errors): void
  explainConflicts(rows: readonly Row[], errors: Errors, self: number): void
}

export function compileRemovals(
  type: EntityType,
  model: Model,
  legacy: Legacy,
  dialect: Dialect,
  { shown, rule, disclosure }: Pick<View, 'shown' | 'rule' | 'disclosure'>,
): RemovePlan {
  const reach = reachOf(type, model, legacy)
  const extent = extentOf(reach, model, dialect)
  const back = reachOf(type, model, legacy, 'back')
  const taken = extentOf(back, model, dialect)
  // Not by the index of the deletion, which has all of it at every step of the way.
  const rootOfDeletion = sql`coalesce("deletion", '') = ${param('$deletion')}`
  const restOfDeletion = sql`coalesce(c."deletion", '') = ${param('$deletion')}`
  const change = (sources: readonly Sql[]) => sources.map((source) => step(dialect, 'change', 'any', source))
  const find = (of: Extent, action: 'delete' | 'restore' | 'purge', root: Sql, rest: Sql) => {
    const asked = rule(action, rowOf(type))
    return of.find(sql`${root} AND ${isVersion}${asked === undefined ? sql`` : sql` AND ${asked}`}`, rest)
  }
  const check = (name: string, parts: readonly Sql[]) =>
    parts.length === 0
      ? []
      : [step(dialect, name, 'none', sql`${unionAll(parts)} LIMIT ${count(budget.namedObstacles)}`)]
  const answer = sql`SELECT t."id", t."version", ${renderEntity(type, dialect, shown)} FROM ${id(type.name)} t WHERE t."id" = ${param('$id')}`
  const findTaken = (action: 'restore' | 'purge') =>
    find(taken, action, sql`${rootOfDeletion} AND ${isNoPurge}`, restOfDeletion)
  const conflicts = back.types.flatMap((one, code) =>
    uniquesOf(one).map((set, at) => conflictOf(one, code, set, at)),
  )

  return {
    delete: [
      // Two admins who delete each other must see each other.
      ...(type.name === model.admins ? lockGraphs([type], model, dialect) : []),
      ...find(extent, 'delete', sql`"deleted_at" IS NULL`, sql`c."deleted_at" IS NULL`),
      ...check('held', [
        ...reach.restricts.map((edge, at) => extent.holders(edge, at, sql`c."deleted_at" IS NULL`)),
        ...reach.floors.map((edge, at) => extent.undercut(edge, reach.restricts.length + at)),
      ]),
      ...change(reach.types.map((one) => stamp(one, extent, dialect))),
      ...keepAnAdmin(reach.types, model, dialect),
      ...change(reach.types.map((one) => extent.journal(one, 'delete'))),
      ...byType(reach.clears, model).flatMap(({ type, edges }) => clear(type, edges, extent, dialect)),
      step(dialect, 'answer', 'some', answer),
    ],
    restore: [
      ...findTaken('restore'),
      ...taken.holdTargets(back.out),
      ...check(
        'dead',
        back.out.map((edge, at) => taken.deadTargets(edge, at)),
      ),
      ...byType(back.clears, model).flatMap(({ type, edges }) => setAgain(type, edges, taken, dialect)),
      ...change(back.types.map((one) => unstamp(one, taken, dialect))),
      ...change(back.types.map((one) => taken.journal(one, 'restore'))),
      ...change(back.clears.map((edge) => forgetCleared(edge, taken))),
      step(dialect, 'answer', 'some', answer),
    ],
    purge: [
      ...findTaken('purge'),
      ...check(
        'held',
        back.into.map((edge, at) => taken.holders(edge, at, sql`1 = 1`)),
      ),
      ...change([
        ...back.clears.map((edge) => forgetCleared(edge, taken)),
        ...back.types.map((one) => mark(one, taken, dialect)),
        ...back.types.map((one) => taken.journal(one, 'purge')),
        beginPurge(dialect),
      ]),
    ],
    takes: back.types.map(({ name }) => name),
    endsLogins: reach.types.some(({ login }) => login !== undefined),
    conflicts: compile(
      sql`WITH "takeback_back"("type", "id") AS (SELECT q."type", q."id" FROM (${taken.closure(rootOfDeletion, restOfDeletion)}) q)
        ${unionAll(conflicts)} LIMIT ${count(budget.namedObstacles)}`,
      dialect.placeholder,
    ),
    ...explanations(reach, back, model, disclosure),
  }
}

/** A login's tokens die with it, and do not come back to life when it does. */
function stamp(type: EntityType, extent: Extent, dialect: Dialect): Sql {
  const tokens = type.login === undefined ? sql`` : sql`, ${id(TOKEN_EPOCH)} = ${id(TOKEN_EPOCH)} + 1`
  return sql`UPDATE ${id(type.name)} SET "deleted_at" = ${dialect.later(id('updated_at'))}, "deletion" = ${param('$operation')}, ${next(dialect)}${tokens}
    WHERE "id" IN ${extent.ids(type.name)}`
}

function unstamp(type: EntityType, extent: Extent, dialect: Dialect): Sql {
  return sql`UPDATE ${id(type.name)} SET "deleted_at" = NULL, "deletion" = NULL, ${next(dialect)} WHERE "id" IN ${extent.ids(type.name)}`
}

/** From here on it belongs to the purge, and no restore or undo brings it back. */
function mark(type: EntityType, extent: Extent, dialect: Dialect): Sql {
  return sql`UPDATE ${id(type.name)} SET "deletion" = ${param('$purge')}, ${next(dialect)} WHERE "id" IN ${extent.ids(type.name)}`
}

/** Type's place in the reach, unique set's place in the type, who wants it back, who has it. */
function conflictOf(type: EntityType, code: number, set: readonly string[], at: number): Sql {
  const same = set.map((name) => sql`h.${id(name)} = t.${id(name)}`)
  return sql`SELECT ${word(`${code} ${at}`)}, t."id", h."id" FROM "takeback_back" b
    JOIN ${id(type.name)} t ON t."id" = b."id" JOIN ${id(type.name)} h ON ${and(same)} AND h."id" <> t."id"
    WHERE b."type" = ${count(code)} AND h."deleted_at" IS NULL`
}

function explanations(
  reach: Reach,
  back: Reach,
  model: Model,
  disclosure: Disclosure,
): Pick<RemovePlan, 'explainHeld' | 'explainDead' | 'deadTargets' | 'explainSetAgain' | 'explainConflicts'> {
  const [self] = reach.types
  const prefix = (type: string, member: unknown, own: number) =>
    type === self?.name && Number(member) === own ? '' : `${type}/${member}.`
  return {
    explainHeld(rows, errors, action) {
      for (const [at, number] of rows) {
        const edge = (action === 'delete' ? [...reach.restricts, ...reach.floors] : back.into)[Number(at)]
        if (edge === undefined) continue
        const target = edge.to === self?.name ? 'it' : `${edge.to} that would go with it`
        const one = Number(number) === 1
        const who = one ? `1 of ${edge.from}` : `${number} ${edge.from}`
        const needs =
          action === 'delete' && reach.floors.includes(edge)
            ? `, and must keep at least ${edge.list?.min} there`
            : ''
        const place = disclosure.column(edge.from, edge.column) ? `${edge.from}.${edge.path}` : edge.from
        note(errors, place, `${who} ${one ? 'refers' : 'refer'} to ${target}${needs}`)
      }
    },
    explainDead(rows, errors, own) {
      for (const [key, member, target] of rows) {
        const [which, place] = String(key).split(' ')
        const edge = back.out[Number(which)]
        if (edge === undefined) continue
        const at = prefix(edge.from, member, own)
        if (disclosure.values(edge.from, [edge.column]))
          note(errors, at + pathOfTarget(edge, place), `refers to ${edge.to}/${target}, which is deleted`)
        else note(errors, at.slice(0, -1), 'refers to something that is deleted')
      }
    },
    deadTargets: (rows) =>
      rows.flatMap(([key, , target]) => {
        const edge = back.out[Number(String(key).split(' ')[0])]
        return edge === undefined ? [] : [[edge.to, Number(target)] as const]
      }),
    explainSetAgain(errors) {
      for (const { type, edges } of byType(back.clears, model))
        for (const set of uniquesOf(type))
          if (edges.some(({ column }) => set.includes(column))) {
            const named = set.filter((column) => disclosure.column(type.name, column))
            const place = named.length === 0 ? type.name : `${type.name}.${named.join('+')}`
            note(errors, place, 'would no longer be unique if it were set again')
          }
    },
    explainConflicts(rows, errors, own) {
      for (const [place, member, holder] of rows) {
        const [code, at] = String(place).split(' ').map(Number)
        const type = back.types[code ?? 0]
        if (type === undefined) continue
        const set = uniquesOf(type)[at ?? 0] ?? []
        noteTaken(errors, type.name, set, Number(holder), disclosure, prefix(type.name, member, own))
      }
    },
  }
}
