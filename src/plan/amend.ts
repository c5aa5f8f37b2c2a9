import { yes } from '../declare/cel/expression.ts'
import { and as fold } from '../declare/cel/fold.ts'
import { columnOf, type Edge, type EntityType, type Model, walk } from '../declare/model.ts'
import type { Bag, Bound, Dialect } from '../store/dialect.ts'
import { and, id, join, param, type Sql, sql, unionAll, word } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import { keepAnAdmin } from './admins.ts'
import { type BodyColumn, bodyColumns } from './columns.ts'
import { Conditions } from './condition.ts'
import { inTurn } from './graph.ts'
import { rowOf } from './ground.ts'
import { type ChangeKind, journal } from './journal.ts'
import { arrowsOf } from './links.ts'
import { columnsBeside, TOKEN_EPOCH, uniquesOf } from './schema.ts'
import { Texts } from './texts.ts'
import type { Viewer } from './viewer.ts'

/** The step that is refused where Entities are not as they were found: to be looked at anew. */
export const MOVED = 'moved'
/** The step that is refused where a rule stands against an amendment. */
export const FORBIDDEN = 'forbidden'

/** What is to become of one Entity that is now at a version: other values, and whether it is there. */
export interface Amendment {
  readonly id: number
  readonly version: number
  readonly kind: Extract<ChangeKind, 'update' | 'delete' | 'restore'>
  /** One for each column of its sheaf. */
  readonly values: readonly Bound[]
}

/** Amendments of one type that set the same columns. */
export interface Sheaf {
  readonly type: EntityType
  readonly columns: readonly string[]
  readonly amendments: readonly Amendment[]
}

/** An obstacle that the database found, from a refused step. */
export interface Obstacle {
  readonly reason: 'gone' | 'dead' | 'held' | 'taken'
  /** The Entity whose amendment it stands against. */
  readonly entity: string
  readonly id: number
  /** Of the reference, or those whose values are taken. */
  readonly columns: readonly string[]
  /** What it has to do with: its type, its id. */
  readonly other: readonly [string, number]
}

export interface AmendPlan {
  /**
   * The steps of one operation that brings many Entities to given states, whole tables at a time, and the values that
   * they bind. `of` are the operations that are thereby taken back, `viewer` who must meet the rules.
   */
  steps(sheaves: readonly Sheaf[], of: readonly string[], viewer?: Viewer): { steps: Step[]; bag: Bag }
  /** After a refusal: who stands against whom. */
  taken(sheaves: readonly Sheaf[]): Step[]
  obstacles(name: string, rows: readonly (readonly Bound[])[]): Obstacle[]
}

/** Compiled for each type and set of columns when they are first needed. */
export function compileAmend(model: Model, dialect: Dialect): AmendPlan {
  const texts = new Texts<readonly Step[]>()
  const parts = (sheaf: Sheaf, at: number) => new Parts(sheaf, at, model, dialect)
  const cached = (name: string, sheaf: Sheaf, at: number, make: (parts: Parts) => readonly Step[]) =>
    texts.of(`${name}|${at}|${sheaf.type.name}|${sheaf.columns.join('|')}`, () => make(parts(sheaf, at)))
  const all = (name: string, sheaves: readonly Sheaf[], make: (parts: Parts) => readonly Step[]) =>
    sheaves.flatMap((sheaf, at) => cached(name, sheaf, at, make))

  return {
    steps(sheaves, of, viewer) {
      const types = [...new Set(sheaves.map(({ type }) => type))]
      const names = types.map(({ name }) => name).join('|')
      const steps = [
        ...texts.of(`turn|${names}`, () => inTurn(types, model, dialect)),
        ...all('lock', sheaves, (one) => one.lock()),
        ...(viewer === undefined
          ? []
          : all(`may ${viewer.name}`, sheaves, (one) => one.refuseForbidden(viewer))),
        ...all('gone', sheaves, (one) => one.refuseGone()),
        ...all('park', sheaves, (one) => one.park()),
        ...all('clear', sheaves, (one) => one.keepCleared()),
        ...all('change', sheaves, (one) => one.change()),
        ...texts.of(`admins|${names}`, () => keepAnAdmin(types, model, dialect)),
        ...all('check', sheaves, (one) => one.check()),
        ...all('write', sheaves, (one) => one.writeDown()),
      ]
      return { steps, bag: bagOf(sheaves, model, of) }
    },
    taken: (sheaves) => all('taken', sheaves, (one) => one.findTaken()),
    obstacles: (name, rows) => rows.map((row) => obstacleOf(name, row, model)),
  }
}

const rowsName = (at: number) => `$rows ${at}`
const headsName = (at: number) => `$heads ${at}`
const idsName = (at: number) => `$ids ${at}`
/** Of all sheaves together, by type: what goes. */
const goneName = (type: string) => `$gone ${type}`

function bagOf(sheaves: readonly Sheaf[], model: Model, of: readonly string[]): Bag {
  const bag: Bag = { $undone: JSON.stringify(of) }
  const gone = new Map<string, number[]>()
  for (const name of model.entities.keys()) gone.set(name, [])
  for (const [at, { type, amendments }] of sheaves.entries()) {
    bag[rowsName(at)] =
      `[${amendments.map(({ id, version, kind, values }) => `[${[id, version, kind, ...values].map(jsonOf).join(',')}]`).join(',')}]`
    bag[headsName(at)] = JSON.stringify(amendments.map(({ id, version, kind }) => [id, version, kind]))
    bag[idsName(at)] = JSON.stringify(amendments.map(({ id }) => id))
    for (const { id, kind } of amendments) if (kind === 'delete') gone.get(type.name)?.push(id)
  }
  for (const [name, ids] of gone) bag[goneName(name)] = JSON.stringify(ids)
  return bag
}

/** A scaled decimal may have more digits than a number of JavaScript. */
function jsonOf(value: Bound): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value)
}

/** The statements for one sheaf. */
class Parts {
  readonly #type: EntityType
  readonly #table: Sql
  readonly #columns: readonly BodyColumn[]
  /** Those that are made from others: the key of an e-mail, the words of texts. */
  readonly #beside: readonly string[]
  readonly #out: readonly Edge[]
  readonly #into: readonly Edge[]
  readonly #model: Model
  readonly #dialect: Dialect
  readonly #rows: Sql
  readonly #heads: Sql
  readonly #ids: Sql

  constructor({ type, columns }: Sheaf, at: number, model: Model, dialect: Dialect) {
    const known = bodyColumns(type.fields)
    this.#type = type
    this.#table = id(type.name)
    this.#columns = columns.flatMap((name) => known.filter((column) => column.name === name))
    this.#beside = columnsBeside(type).filter((name) => columns.includes(name))
    this.#out = model.edges.filter(({ from }) => from === type.name)
    this.#into = model.edges.filter(({ to }) => to === type.name)
    this.#model = model
    this.#dialect = dialect
    // Beside declared columns: no field can be called so.
    const heads = [
      { name: '$id', kind: 'integer' },
      { name: '$version', kind: 'integer' },
      { name: '$kind', kind: 'text' },
    ] as const
    // For what need not know the values: there may be many, and each statement reads them all.
    this.#heads = dialect.rows(headsName(at), heads)
    this.#rows = dialect.rows(rowsName(at), [
      ...heads,
      ...columns.map((name) => ({
        name,
        kind: known.find((column) => column.name === name)?.kind ?? ('text' as const),
      })),
    ])
    this.#ids = dialect.listed(idsName(at), 'integer')
  }

  #step(name: string, expect: Step['expect'], source: Sql): Step {
    return step(this.#dialect, name, expect, source)
  }

  /** From here on they stay as they are; and they must be as they were found. */
  lock(): Step[] {
    const { lock } = this.#dialect
    const held = sql`SELECT count(*) FROM (SELECT 1 FROM ${this.#table} h WHERE h."id" IN ${this.#ids} ORDER BY h."id"${lock?.toChange ?? sql``}) x`
    return [
      ...(lock === undefined ? [] : [this.#step('lock', 'any', held)]),
      this.#step(
        MOVED,
        'none',
        sql`SELECT v."$id" FROM ${this.#heads} v LEFT JOIN ${this.#table} t ON t."id" = v."$id"
          WHERE t."id" IS NULL OR t."version" <> v."$version" LIMIT 1`,
      ),
    ]
  }

  /** What is done to each must be what the rules let them do; of an update, from what it is to what it will be. */
  refuseForbidden(viewer: Viewer): Step[] {
    const type = this.#type
    const rules = new Conditions(this.#model, this.#dialect)
    const set = new Set(this.#columns.map(({ name }) => name))
    const ground = {
      ...rowOf(type),
      next: (name: string) => (set.has(name) ? sql`v.${id(name)}` : sql`t.${id(name)}`),
    }
    const fields = [...walk(type.fields)].filter((field) => set.has(columnOf(field)))
    const asked = {
      update: fold([
        viewer.may(type, 'update'),
        ...fields.map(({ path }) => viewer.mayField(type, path, 'change')),
      ]),
      delete: viewer.may(type, 'delete'),
      restore: viewer.may(type, 'restore'),
    }
    const against = Object.entries(asked)
      .filter(([, rule]) => rule !== yes)
      .map(([kind, rule]) => sql`(v."$kind" = ${word(kind)} AND (${rules.of(rule, ground)}) IS NOT TRUE)`)
    if (against.length === 0) return []
    return [
      this.#step(
        FORBIDDEN,
        'none',
        sql`SELECT v."$id" FROM ${this.#rows} v JOIN ${this.#table} t ON t."id" = v."$id" WHERE ${join(against, sql` OR `)} LIMIT 1`,
      ),
    ]
  }

  /** What they are to refer to by an edge. */
  #wanted({ column, list }: Edge): { readonly rows: Sql; readonly target: Sql } {
    const value = sql`v.${id(column)}`
    if (list === undefined) return { rows: sql`${this.#rows} v`, target: value }
    const { rows, target } = this.#dialect.members(value)
    return { rows: sql`${this.#rows} v CROSS JOIN ${rows}`, target }
  }

  /** What they would refer to may have been purged. */
  refuseGone(): Step[] {
    const found = this.#out
      .filter(({ column }) => this.#columns.some(({ name }) => name === column))
      .map((edge) => {
        const { rows, target } = this.#wanted(edge)
        return sql`SELECT ${word(nameOf(edge))}, v."$id", ${target} FROM ${rows}
          LEFT JOIN ${id(edge.to)} d ON d."id" = ${target} WHERE ${target} IS NOT NULL AND d."id" IS NULL`
      })
    return found.length === 0 ? [] : [this.#step('gone', 'none', unionAll(found))]
  }

  /** Values may go from one to another: out of the way, nothing is unique for a moment. */
  park(): Step[] {
    if (uniquesOf(this.#type).length === 0) return []
    return [
      this.#step(
        'change',
        'any',
        sql`UPDATE ${this.#table} SET "deleted_at" = "updated_at" WHERE "id" IN ${this.#ids} AND "deleted_at" IS NULL`,
      ),
    ]
  }

  /** What is emptied because its target goes is kept, so that a restore sets it again; what was kept of what is undone is not needed any more. */
  keepCleared(): Step[] {
    const ofThis = sql`"entity" = ${word(this.#type.name)}`
    const kept = this.#out
      .filter(({ column }) => this.#columns.some(({ name }) => name === column))
      .map((edge) => this.#kept(edge))
    const undone = this.#dialect.listed('$undone', 'text')
    return [
      this.#step(
        'change',
        'any',
        sql`DELETE FROM "takeback_cleared" WHERE ${ofThis} AND "entity_id" IN ${this.#ids} AND "operation" IN ${undone}`,
      ),
      ...kept.map((source) => this.#step('change', 'any', source)),
    ]
  }

  /** From a list, whatever goes and is not to be in it any more. */
  #kept(edge: Edge): Sql {
    const { rows, target } = arrowsOf(edge)
    const { column, to, list } = edge
    const still = this.#dialect.members(sql`v.${id(column)}`)
    const emptied =
      list === undefined
        ? sql`v.${id(column)} IS NULL`
        : sql`NOT EXISTS (SELECT 1 FROM ${still.rows} WHERE ${still.target} = l."target")`
    return sql`INSERT INTO "takeback_cleared" ("operation", "entity", "entity_id", "column", "target", "place")
      SELECT ${param('$operation')}, ${word(this.#type.name)}, c."id", ${word(column)}, ${target}, ${list === undefined ? sql`NULL` : sql`l."place"`}
      FROM ${rows} JOIN ${this.#rows} v ON v."$id" = c."id"
      WHERE ${emptied} AND ${target} IN ${this.#dialect.listed(goneName(to), 'integer')}`
  }

  change(): Step[] {
    const later = this.#dialect.later(sql`t."updated_at"`)
    const names = [...this.#columns.map(({ name }) => name), ...this.#beside]
    const isDelete = sql`v."$kind" = 'delete'`
    const sets = [
      ...names.map((name) => sql`${id(name)} = v.${id(name)}`),
      sql`"deleted_at" = CASE WHEN ${isDelete} THEN ${later} WHEN v."$kind" = 'update' AND t."deletion" IS NOT NULL THEN t."deleted_at" END`,
      sql`"deletion" = CASE WHEN ${isDelete} THEN ${param('$operation')} WHEN v."$kind" = 'update' THEN t."deletion" END`,
      ...(this.#type.login === undefined
        ? []
        : [sql`${id(TOKEN_EPOCH)} = t.${id(TOKEN_EPOCH)} + CASE WHEN ${isDelete} THEN 1 ELSE 0 END`]),
      sql`"version" = t."version" + 1`,
      sql`"updated_at" = ${later}`,
    ]
    return [
      this.#step(
        'change',
        'any',
        sql`UPDATE ${this.#table} AS t SET ${join(sets)} FROM ${this.#rows} v WHERE v."$id" = t."id"`,
      ),
    ]
  }

  /** Whatever is live now refers to what is live, and nothing that is live to what went. */
  check(): Step[] {
    const { lock } = this.#dialect
    const live = sql`c."id" IN ${this.#ids} AND c."deleted_at" IS NULL`
    const holds =
      lock === undefined
        ? []
        : this.#out.map((edge) => {
            const { rows, target } = arrowsOf(edge)
            return this.#step(
              'lock',
              'any',
              sql`SELECT count(*) FROM (SELECT 1 FROM ${id(edge.to)} h WHERE h."id" IN (SELECT ${target} FROM ${rows} WHERE ${live})
                ORDER BY h."id"${lock.toStay}) x`,
            )
          })
    const dead = this.#out.map((edge) => {
      const { rows, target } = arrowsOf(edge)
      return sql`SELECT ${word(nameOf(edge))}, c."id", d."id" FROM ${rows} JOIN ${id(edge.to)} d ON d."id" = ${target}
        WHERE ${live} AND d."deleted_at" IS NOT NULL`
    })
    const held = this.#into.map((edge) => {
      const { rows, target } = arrowsOf(edge)
      return sql`SELECT ${word(nameOf(edge))}, ${target}, c."id" FROM ${rows}
        WHERE ${target} IN ${this.#dialect.listed(goneName(edge.to), 'integer')} AND c."deleted_at" IS NULL`
    })
    return [
      ...holds,
      ...(dead.length === 0 ? [] : [this.#step('dead', 'none', unionAll(dead))]),
      ...(held.length === 0 ? [] : [this.#step('held', 'none', unionAll(held))]),
    ]
  }

  writeDown(): Step[] {
    const source = sql`${this.#table} t JOIN ${this.#heads} v ON v."$id" = t."id"`
    return [this.#step('change', 'any', journal(this.#type, sql`v."$kind"`, this.#dialect, source))]
  }

  /** Others that have the values which must be unique. */
  findTaken(): Step[] {
    const sets = uniquesOf(this.#type)
    const found = sets.map((set, at) => {
      const values = set.map((name) => {
        const given = this.#columns.some((column) => column.name === name) || this.#beside.includes(name)
        return sql`h.${id(name)} = ${given ? sql`v` : sql`t`}.${id(name)}`
      })
      return sql`SELECT ${word(`${this.#type.name} ${at}`)}, v."$id", h."id" FROM ${this.#rows} v
        JOIN ${this.#table} t ON t."id" = v."$id" JOIN ${this.#table} h ON ${and(values)}
        WHERE v."$kind" <> 'delete' AND h."id" <> v."$id" AND h."deleted_at" IS NULL AND h."id" NOT IN ${this.#ids}`
    })
    return found.length === 0 ? [] : [this.#step('taken', 'any', unionAll(found))]
  }
}

/** How a refused step's rows say which reference they are about. */
function nameOf({ from, column }: Edge): string {
  return `${from} ${column}`
}

function obstacleOf(name: string, [key, one, other]: readonly Bound[], model: Model): Obstacle {
  const [from = '', column = ''] = String(key).split(' ')
  if (name === 'taken') {
    const type = model.entities.get(from)
    const columns = type === undefined ? [] : (uniquesOf(type)[Number(column)] ?? [])
    return { reason: 'taken', entity: from, id: Number(one), columns, other: [from, Number(other)] }
  }
  const edge = model.edges.find((edge) => edge.from === from && edge.column === column)
  const to = edge?.to ?? ''
  const about = { id: Number(one), columns: [column] }
  if (name === 'held') return { ...about, reason: 'held', entity: to, other: [from, Number(other)] }
  const reason = name === 'gone' ? 'gone' : 'dead'
  return { ...about, reason, entity: from, other: [to, Number(other)] }
}
