import type { EntityType } from '../../declare/model.ts'
import { addReferenceError, dottedPath } from '../../declare/values.ts'
import { addError, type Errors } from '../../errors.ts'
import type { Dialect, Params, Row } from '../../store/dialect.ts'
import {
  and,
  compile,
  id,
  intLiteral,
  param,
  type Sql,
  type Statement,
  sql,
  unionAll,
} from '../../store/sql.ts'
import type { BodyColumn } from '../tables/columns.ts'
import { EMAIL_KEY, uniquesOf } from '../tables/schema.ts'
import type { Disclosure } from '../viewer/disclosure.ts'
import { boundOf, hasLiveTarget, isReference } from './targets.ts'

/** Finds what was wrong with a refused write. */
export interface FaultsPlan {
  /** Which parameters refer to nothing or are taken. `$id`: the Entity itself, 0 for a new one. */
  faults(params: Params): Statement
  explain(rows: readonly Row[], errors: Errors): void
}

export function compileFaults(
  type: EntityType,
  columns: readonly BodyColumn[],
  dialect: Dialect,
  disclosure: Disclosure,
): FaultsPlan {
  const references = columns.filter(isReference)
  const uniques = uniquesOf(type)
  return {
    faults(params) {
      const dead = references.flatMap((one, at) =>
        params[one.name] == null ? [] : [deadOf(one, at, dialect)],
      )
      const taken = uniques.flatMap((set, at) =>
        set.some((name) => Object.hasOwn(params, name)) ? [holderOf({ type, columns, set, at }, params)] : [],
      )
      return compile(unionAll([...dead, ...taken]), dialect.placeholder)
    },
    explain(rows, errors) {
      for (const [kind, at, holder] of rows) {
        const field = kind === 'reference' ? references[Number(at)]?.field : undefined
        const path =
          field?.kind === 'links' ? dottedPath(`${field.path}.${holder}`, field.member) : field?.path
        if (path !== undefined) addReferenceError(errors, path, 'refers to nothing')
        else
          addTaken(
            errors,
            { type: type.name, set: uniques[Number(at)] ?? [], holder: Number(holder) },
            disclosure,
          )
      }
    },
  }
}

/** The targets of a column that are not live: the column's number, and the place in its list. Takes no locks. */
function deadOf(column: BodyColumn, at: number, { members }: Dialect): Sql {
  const { field } = column
  if (field.kind !== 'links')
    return sql`SELECT 'reference', ${intLiteral(at)}, 0 WHERE NOT ${hasLiveTarget(column, { lock: undefined, members })}`
  const { rows, target, place } = members(boundOf(column), field.member)
  return sql`SELECT 'reference', ${intLiteral(at)}, ${place} FROM ${rows} WHERE ${target} IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM ${id(field.target)} h WHERE h."id" = ${target} AND h."deleted_at" IS NULL)`
}

interface UniqueSet {
  readonly type: EntityType
  readonly columns: readonly BodyColumn[]
  readonly set: readonly string[]
  /** Its place among the unique sets of the type. */
  readonly at: number
}

/** The Entity that already has these values. Values that were not sent are those of the Entity itself. */
function holderOf({ type, columns, set, at }: UniqueSet, params: Params): Sql {
  const same = set.map((name) => {
    const kind = columns.find((column) => column.name === name)?.kind
    const own = sql`(SELECT own.${id(name)} FROM ${id(type.name)} own WHERE own."id" = ${param('$id')})`
    return sql`t.${id(name)} = ${Object.hasOwn(params, name) ? param(name, kind) : own}`
  })
  return sql`SELECT 'unique', ${intLiteral(at)}, t."id" FROM ${id(type.name)} t
    WHERE ${and(same)} AND t."deleted_at" IS NULL AND t."id" <> ${param('$id')}`
}

/** Values of a unique set that another Entity has. */
interface TakenSet {
  readonly type: string
  readonly set: readonly string[]
  readonly holder: number
  /** The prefix of each path in `errors`, such as `3.` for the fourth of a list. */
  readonly prefix?: string
}

/**
 * Reports a taken unique set at each of its columns that the viewer may know of; the key of an e-mail at the e-mail.
 * Which Entity has the values is revealed only to viewers who can see them there.
 */
export function addTaken(
  errors: Errors,
  { type, set, holder, prefix = '' }: TakenSet,
  disclosure: Disclosure,
): void {
  const by = disclosure.entity(type) && disclosure.values(type, set) ? `${type}/${holder}` : undefined
  const paths = set.filter((name) => disclosure.column(type, name))
  if (paths.length > 0) addTakenAt(errors, { paths, by, together: set.length, prefix })
  else addError(errors, prefix.slice(0, -1), 'has a value that is taken')
}

/** The paths of a unique set with `together` values, and the Entity that has them, if it may be revealed. */
interface TakenPaths {
  readonly paths: readonly string[]
  readonly by: string | undefined
  readonly together: number
  readonly prefix: string
}

export function addTakenAt(errors: Errors, { paths, by, together, prefix }: TakenPaths): void {
  const others =
    together === 1 ? '' : `, together with ${together === 2 ? 'the other value' : 'the other values'}`
  for (const name of paths)
    addError(
      errors,
      prefix + (name === EMAIL_KEY ? 'email' : name),
      `is taken${by === undefined ? '' : ` by ${by}`}${others}`,
    )
}
