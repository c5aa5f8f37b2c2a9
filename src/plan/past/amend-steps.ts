import type { Edge, EntityType, Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { id, join, param, quoted, type Sql, sql, unionAll } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'
import { type BodyColumn, bodyColumns } from '../tables/columns.ts'
import { referenceRowsOf } from '../tables/links.ts'
import { lockRows } from '../tables/lock-rows.ts'
import { columnsBeside, TOKEN_EPOCH, uniquesOf } from '../tables/schema.ts'
import type { Viewer } from '../viewer/viewer.ts'
import { AmendmentRows } from './amend-rows.ts'
import {
  type AmendmentGroup,
  FORBIDDEN,
  goersName,
  goneName,
  HEADS,
  headsName,
  idsName,
} from './amendment.ts'
import { journal } from './journal.ts'
import { refuseMoved } from './moved.ts'
import { edgeKey } from './obstacle.ts'

/** The statements that amend one group. */
export class AmendSteps {
  readonly #type: EntityType
  readonly #table: Sql
  readonly #columns: readonly BodyColumn[]
  /** Columns that are derived from others: the key of an e-mail, the words of texts. */
  readonly #beside: readonly string[]
  readonly #out: readonly Edge[]
  readonly #into: readonly Edge[]
  readonly #dialect: Dialect
  readonly #group: AmendmentRows
  readonly #at: number
  readonly #heads: Sql
  readonly #idsName: string
  readonly #ids: Sql

  constructor(group: AmendmentGroup, at: number, model: Model, dialect: Dialect) {
    const { type, columns } = group
    const known = bodyColumns(type.fields)
    this.#type = type
    this.#table = id(type.name)
    this.#columns = columns.flatMap((name) => known.filter((column) => column.name === name))
    this.#beside = columnsBeside(type).filter((name) => columns.includes(name))
    this.#out = model.edges.filter(({ from }) => from === type.name)
    this.#into = model.edges.filter(({ to }) => to === type.name)
    this.#dialect = dialect
    this.#at = at
    this.#group = new AmendmentRows(group, at, model, dialect)
    // For statements without the values, which may be large.
    this.#heads = dialect.rows(headsName(at), HEADS)
    this.#idsName = idsName(at)
    this.#ids = dialect.listed(this.#idsName, 'integer')
  }

  #step(name: string, expect: Step['expect'], source: Sql): Step {
    return step(this.#dialect, name, expect, source)
  }

  /** Locks the Entities. They must still have the versions that were read. */
  lock(): Step[] {
    const { lock } = this.#dialect
    const isOne = this.#dialect.isListed(sql`h."id"`, this.#idsName)
    return [
      ...(lock === undefined
        ? []
        : [this.#step('lock', 'any', lockRows(this.#type.name, isOne, lock.toChange))]),
      refuseMoved(this.#dialect, this.#type, this.#at, this.#dialect.isListed(sql`t."id"`, this.#idsName)),
    ]
  }

  refuseForbidden(viewer: Viewer): Step[] {
    const found = this.#group.forbidden(viewer)
    return found.length === 0 ? [] : [this.#step(FORBIDDEN, 'none', sql`${unionAll(found)} LIMIT 1`)]
  }

  /** Refuses references to purged Entities. */
  refuseGone(): Step[] {
    const found = this.#group.gone()
    return found.length === 0 ? [] : [this.#step('gone', 'none', unionAll(found))]
  }

  /** Marks all as deleted, so that no unique index applies while values move from one Entity to another. */
  park(): Step[] {
    if (uniquesOf(this.#type).length === 0) return []
    return [
      this.#step(
        'change',
        'any',
        sql`UPDATE ${this.#table} SET "deleted_at" = "updated_at" WHERE ${this.#dialect.isListed(id('id'), this.#idsName)} AND "deleted_at" IS NULL`,
      ),
    ]
  }

  /** Records cleared references for a later restore of their targets, and forgets those of undone operations. */
  keepCleared(): Step[] {
    const ofThis = sql`"entity" = ${quoted(this.#type.name)}`
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

  /** Records a reference under the deletion of its target. For a list: the deleted targets that are no longer in it. */
  #kept(edge: Edge): Sql {
    const { rows, target } = referenceRowsOf(edge)
    const { column, to, list } = edge
    const still = this.#dialect.members(sql`v.${id(column)}`, list?.member ?? '')
    const emptied =
      list === undefined
        ? sql`v.${id(column)} IS NULL`
        : sql`NOT EXISTS (SELECT 1 FROM ${still.rows} WHERE ${still.target} = l."target")`
    const goers = this.#dialect.rows(goersName(to), [
      { name: '$id', kind: 'integer' },
      { name: '$deletion', kind: 'text' },
    ])
    return sql`INSERT INTO "takeback_cleared" ("operation", "entity", "entity_id", "column", "target", "place", "version")
      SELECT coalesce(g."$deletion", ${param('$operation')}), ${quoted(this.#type.name)}, c."id", ${quoted(column)}, ${target}, ${list === undefined ? sql`NULL` : sql`l."place"`}, c."version" + 1
      FROM ${rows} JOIN ${this.#group.rows} v ON v."$id" = c."id" JOIN ${goers} g ON g."$id" = ${target} WHERE ${emptied}
      ON CONFLICT ("operation", "entity", "entity_id", "column", "target") DO UPDATE SET "place" = excluded."place", "version" = excluded."version"`
  }

  change(): Step[] {
    const later = this.#dialect.nextTime(sql`t."updated_at"`)
    const names = [...this.#columns.map(({ name }) => name), ...this.#beside]
    const isDelete = sql`v."$kind" = 'delete'`
    const sets = [
      ...names.map((name) => sql`${id(name)} = v.${id(name)}`),
      sql`"deleted_at" = CASE WHEN ${isDelete} THEN ${later} WHEN v."$kind" = 'update' AND t."deletion" IS NOT NULL THEN t."deleted_at" END`,
      sql`"deletion" = CASE WHEN ${isDelete} THEN coalesce(v."$deletion", ${param('$operation')}) WHEN v."$kind" = 'update' THEN t."deletion" END`,
      ...(this.#type.login === undefined
        ? []
        : [sql`${id(TOKEN_EPOCH)} = t.${id(TOKEN_EPOCH)} + ${this.#endsSessions(isDelete)}`]),
      sql`"version" = t."version" + 1`,
      sql`"updated_at" = ${later}`,
    ]
    return [
      this.#step(
        'change',
        'any',
        sql`UPDATE ${this.#table} AS t SET ${join(sets)} FROM ${this.#group.rows} v WHERE v."$id" = t."id"`,
      ),
    ]
  }

  /** Deleting a user and changing a password end all tokens. */
  #endsSessions(isDelete: Sql): Sql {
    return this.#columns.some(({ name }) => name === 'password')
      ? sql`1`
      : sql`CASE WHEN ${isDelete} THEN 1 ELSE 0 END`
  }

  /** Refuses live Entities that refer to deleted ones. */
  check(): Step[] {
    const { lock } = this.#dialect
    const live = sql`${this.#dialect.isListed(sql`c."id"`, this.#idsName)} AND c."deleted_at" IS NULL`
    const holds =
      lock === undefined
        ? []
        : this.#out.map((edge) => {
            const { rows, target } = referenceRowsOf(edge)
            // Computed first: otherwise a planner may compare every referrer of a target with every id.
            const targets = sql`SELECT DISTINCT ${target} FROM ${rows} WHERE ${live}`
            const isTarget = this.#dialect.isAmong(sql`h."id"`, targets)
            return this.#step('lock', 'any', lockRows(edge.to, isTarget, lock.toStay))
          })
    const dead = this.#out.map((edge) => {
      const { rows, target } = referenceRowsOf(edge)
      return sql`SELECT ${quoted(edgeKey('dead', edge))}, c."id", d."id" FROM ${rows} JOIN ${id(edge.to)} d ON d."id" = ${target}
        WHERE ${live} AND d."deleted_at" IS NOT NULL`
    })
    const held = this.#into.map((edge) => {
      const { rows, target } = referenceRowsOf(edge)
      return sql`SELECT ${quoted(edgeKey('held', edge))}, ${target}, c."id" FROM ${rows}
        WHERE ${this.#dialect.isListed(target, goneName(edge.to))} AND c."deleted_at" IS NULL`
    })
    return [
      ...holds,
      ...(dead.length === 0 ? [] : [this.#step('dead', 'none', sql`${unionAll(dead)} LIMIT 1`)]),
      ...(held.length === 0 ? [] : [this.#step('held', 'none', sql`${unionAll(held)} LIMIT 1`)]),
    ]
  }

  writeDown(): Step[] {
    const source = sql`${this.#table} t JOIN ${this.#heads} v ON v."$id" = t."id"`
    return [this.#step('change', 'any', journal(this.#type, sql`v."$kind"`, this.#dialect, source))]
  }
}
