import type { Edge, EntityType, Model } from '../declare/model.ts'
import { type Errors, note } from '../errors.ts'
import { and, compile, count, id, join, param, type Sql, type Statement, sql, word } from '../store/sql.ts'
import type { Dialect, Row, Step } from '../store/store.ts'
import { renderEntity } from './columns.ts'
import { type Extent, extentOf } from './extent.ts'
import { byType, type Reach, reachOf } from './graph.ts'
import { JOURNAL, journal } from './journal.ts'
import { TOKEN_EPOCH, uniquesOf } from './schema.ts'
import { isVersion, noteTaken } from './write.ts'

/**
 * Delete, restore and purge of one type, with all that hangs from it. Each is one set-based transaction: first the
 * extent is found, then what stands against it, then whole tables at a time are changed and written down.
 */
export interface RemovePlan {
  readonly delete: readonly Step[]
  readonly restore: readonly Step[]
  readonly purge: readonly Step[]
  /** After a restore that met a taken value: which, and who has it. */
  readonly conflicts: Statement
  explainHeld(rows: readonly Row[], errors: Errors, action: 'delete' | 'purge'): void
  explainDead(rows: readonly Row[], errors: Errors, self: number): void
  /** After a restore that met a taken value that is not among the conflicts: it was in what would have been set again. */
  explainSetAgain(errors: Errors): void
  explainConflicts(
    rows: readonly Row[],
    errors: Errors,
    self: number,
    mayName: (type: string) => boolean,
  ): void
}

/** How many of many obstacles are named. */
const NAMED_MAX = 20

export function compileRemovals(type: EntityType, model: Model, dialect: Dialect): RemovePlan {
  const reach = reachOf(type, model)
  const extent = extentOf(reach, dialect)
  const ofDeletion = sql`"deletion" = ${param('$deletion')}`
  const step = (name: string, expect: Step['expect'], source: Sql): Step => ({
    name,
    expect,
    statement: compile(source, dialect.placeholder),
  })
  const change = (sources: readonly Sql[]) => sources.map((source) => step('change', 'any', source))
  const find = (root: Sql, rest: Sql) => {
    const sources = extent.find(sql`${root} AND ${isVersion}`, rest)
    return sources.map((source, at) => step('root', at === sources.length - 1 ? 'some' : 'any', source))
  }
  const check = (name: string, parts: readonly Sql[]) =>
    parts.length === 0 ? [] : [step(name, 'none', sql`${union(parts)} LIMIT ${count(NAMED_MAX)}`)]
  const answer = sql`SELECT t."id", t."version", ${renderEntity(type, dialect)} FROM ${id(type.name)} t WHERE t."id" = ${param('$id')}`
  const back = () => find(ofDeletion, sql`c.${ofDeletion}`)
  const conflicts = reach.types.flatMap((one, code) =>
    uniquesOf(one).map((set, at) => conflictOf(one, code, set, at)),
  )

  return {
    delete: [
      ...find(sql`"deleted_at" IS NULL`, sql`c."deleted_at" IS NULL`),
      ...check(
        'held',
        reach.restricts.map((edge, at) => extent.holders(edge, at, sql`c."deleted_at" IS NULL`)),
      ),
      ...change(reach.types.map((one) => stamp(one, extent))),
      ...change(reach.types.map((one) => extent.journal(one, 'delete'))),
      ...change(
        byType(reach.clears, model).flatMap(({ type, edges }) => clear(type, edges, extent, model, dialect)),
      ),
      step('answer', 'some', answer),
    ],
    restore: [
      ...back(),
      ...check(
        'dead',
        reach.out.map((edge, at) => extent.deadTargets(edge, at)),
      ),
      ...change(
        byType(reach.clears, model).flatMap(({ type, edges }) =>
          setAgain(type, edges, extent, model, dialect),
        ),
      ),
      ...change(reach.types.map((one) => unstamp(one, extent))),
      ...change(reach.types.map((one) => extent.journal(one, 'restore'))),
      step('answer', 'some', answer),
    ],
    purge: [
      ...back(),
      ...check(
        'held',
        reach.into.map((edge, at) => extent.holders(edge, at, sql`1 = 1`)),
      ),
      ...change([dialect.deferReferences, ...reach.types.flatMap((one) => erase(one, extent))]),
    ],
    conflicts: compile(
      sql`WITH back("type", "id") AS (SELECT * FROM (${extent.closure(ofDeletion, sql`c.${ofDeletion}`)}))
        ${union(conflicts)} LIMIT ${count(NAMED_MAX)}`,
      dialect.placeholder,
    ),
    ...explanations(reach, model),
  }
}

const NOTHING = sql`SELECT NULL, NULL, NULL WHERE 1 = 0`

function union(parts: readonly Sql[]): Sql {
  return join([NOTHING, ...parts], sql` UNION ALL `)
}

const next = sql`"version" = "version" + 1, "updated_at" = ${param('$at')}`

/** A login's tokens die with it, and do not come back to life when it does. */
function stamp(type: EntityType, extent: Extent): Sql {
  const tokens = type.login === undefined ? sql`` : sql`, ${id(TOKEN_EPOCH)} = ${id(TOKEN_EPOCH)} + 1`
  return sql`UPDATE ${id(type.name)} SET "deleted_at" = ${param('$at')}, "deletion" = ${param('$operation')}, ${next}${tokens}
    WHERE "id" IN ${extent.ids(type)}`
}

function unstamp(type: EntityType, extent: Extent): Sql {
  return sql`UPDATE ${id(type.name)} SET "deleted_at" = NULL, "deletion" = NULL, ${next} WHERE "id" IN ${extent.ids(type)}`
}

/** Runs after the stamps, so what is live then and refers into the extent is outside of it. */
function clear(
  type: EntityType,
  edges: readonly Edge[],
  extent: Extent,
  model: Model,
  dialect: Dialect,
): Sql[] {
  const gone = (edge: Edge) => sql`${id(edge.column)} IN ${idsOf(edge.to, extent, model)}`
  const cleared = edges.map(
    (edge) => sql`${id(edge.column)} = CASE WHEN ${gone(edge)} THEN NULL ELSE ${id(edge.column)} END`,
  )
  const some = join(edges.map(gone), sql` OR `)
  return [
    extent.aside(type, sql`SELECT "id" FROM ${id(type.name)} WHERE "deleted_at" IS NULL AND (${some})`),
    sql`UPDATE ${id(type.name)} SET ${join(cleared)}, ${next} WHERE "id" IN ${extent.asideIds(type)}`,
    journalAside(type, extent, dialect),
  ]
}

/** What the deletion cleared stands in the journal one version earlier. It is set again where it is still empty. */
function setAgain(
  type: EntityType,
  edges: readonly Edge[],
  extent: Extent,
  model: Model,
  dialect: Dialect,
): Sql[] {
  const before = (edge: Edge) => {
    const value = dialect.extract(sql`b."data"`, edge.column)
    return { value, comesBack: sql`${value} IN ${idsOf(edge.to, extent, model)}` }
  }
  const pair = sql`${JOURNAL} a JOIN ${JOURNAL} b ON b."entity" = a."entity" AND b."entity_id" = a."entity_id" AND b."version" = a."version" - 1
    WHERE a."operation" = ${param('$deletion')} AND a."entity" = ${word(type.name)} AND a."kind" = 'update'`
  const empty = (edge: Edge) => sql`(t.${id(edge.column)} IS NULL AND ${before(edge).comesBack})`
  const former = (edge: Edge) =>
    sql`(SELECT ${before(edge).value} FROM ${pair} AND a."entity_id" = t."id" AND ${before(edge).comesBack})`
  const set = edges.map((edge) => sql`${id(edge.column)} = coalesce(t.${id(edge.column)}, ${former(edge)})`)
  return [
    extent.aside(
      type,
      sql`SELECT t."id" FROM ${id(type.name)} t JOIN (SELECT a."entity_id" AS "of", b."data" FROM ${pair}) b ON b."of" = t."id"
        WHERE ${join(edges.map(empty), sql` OR `)}`,
    ),
    sql`UPDATE ${id(type.name)} AS t SET ${join(set)}, ${next} WHERE t."id" IN ${extent.asideIds(type)}`,
    journalAside(type, extent, dialect),
  ]
}

function journalAside(type: EntityType, extent: Extent, dialect: Dialect): Sql {
  return journal(type, 'update', dialect, sql`${id(type.name)} t WHERE t."id" IN ${extent.asideIds(type)}`)
}

function idsOf(name: string, extent: Extent, model: Model): Sql {
  const type = model.entities.get(name)
  return type === undefined ? sql`(NULL)` : extent.ids(type)
}

/** The rows go, and what the journal knows of them; that they were there, and when they went, stays. */
function erase(type: EntityType, extent: Extent): Sql[] {
  return [
    sql`UPDATE ${JOURNAL} SET "data" = NULL WHERE "entity" = ${word(type.name)} AND "entity_id" IN ${extent.ids(type)}`,
    sql`UPDATE ${id(type.name)} SET "version" = "version" + 1 WHERE "id" IN ${extent.ids(type)}`,
    extent.journal(type, 'purge'),
    sql`DELETE FROM ${id(type.name)} WHERE "id" IN ${extent.ids(type)}`,
  ]
}

/** Type's place in the reach, unique set's place in the type, who wants it back, who has it. */
function conflictOf(type: EntityType, code: number, set: readonly string[], at: number): Sql {
  const same = set.map((name) => sql`h.${id(name)} = t.${id(name)}`)
  return sql`SELECT ${count(code)} || ' ' || ${count(at)}, t."id", h."id" FROM back b
    JOIN ${id(type.name)} t ON t."id" = b."id" JOIN ${id(type.name)} h ON ${and(same)} AND h."id" <> t."id"
    WHERE b."type" = ${count(code)} AND h."deleted_at" IS NULL`
}

function explanations(
  reach: Reach,
  model: Model,
): Pick<RemovePlan, 'explainHeld' | 'explainDead' | 'explainSetAgain' | 'explainConflicts'> {
  const [self] = reach.types
  const prefix = (type: string, member: unknown, own: number) =>
    type === self?.name && member === own ? '' : `${type}/${member}.`
  return {
    explainHeld(rows, errors, action) {
      for (const [at, number] of rows) {
        const edge = (action === 'delete' ? reach.restricts : reach.into)[Number(at)]
        if (edge === undefined) continue
        const target = edge.to === self?.name ? 'it' : `${edge.to} that would go with it`
        const what =
          number === 1 ? `1 of ${edge.from} refers to ${target}` : `${number} ${edge.from} refer to ${target}`
        note(errors, `${edge.from}.${edge.path}`, what)
      }
    },
    explainDead(rows, errors, own) {
      for (const [at, member, target] of rows) {
        const edge = reach.out[Number(at)]
        if (edge === undefined) continue
        note(
          errors,
          prefix(edge.from, member, own) + edge.column,
          `refers to ${edge.to}/${target}, which is deleted`,
        )
      }
    },
    explainSetAgain(errors) {
      for (const { type, edges } of byType(reach.clears, model))
        for (const set of uniquesOf(type))
          if (edges.some(({ column }) => set.includes(column)))
            note(errors, `${type.name}.${set.join('+')}`, 'would no longer be unique if it were set again')
    },
    explainConflicts(rows, errors, own, mayName) {
      for (const [place, member, holder] of rows) {
        const [code, at] = String(place).split(' ').map(Number)
        const type = reach.types[code ?? 0]
        if (type === undefined) continue
        const set = uniquesOf(type)[at ?? 0] ?? []
        noteTaken(
          errors,
          set,
          mayName(type.name) ? `${type.name}/${holder}` : undefined,
          prefix(type.name, member, own),
        )
      }
    },
  }
}
