import type { ColumnKind } from '../../declare/fields/field.ts'
import { type EntityType, isPointing } from '../../declare/model.ts'
import { isRequired, noteReference, defaultOf as standardOf } from '../../declare/values.ts'
import { keptWords } from '../../declare/words.ts'
import { type Errors, note } from '../../errors.ts'
import type { Dialect, Params, Row } from '../../store/dialect.ts'
import {
  and,
  compile,
  count,
  id,
  join,
  param,
  type Sql,
  type Statement,
  sql,
  unionAll,
} from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'
import { type RowSource, rowOf } from '../condition/row-source.ts'
import { ShapeCache } from '../condition/shape-cache.ts'
import { journalAndReturn } from '../past/journal.ts'
import { type BodyColumn, bodyColumns, next, ownColumns } from '../tables/columns.ts'
import { EMAIL_KEY, TOKEN_EPOCH, uniquesOf } from '../tables/schema.ts'
import type { Disclosure } from '../viewer/disclosure.ts'
import type { Sight } from '../viewer/sight.ts'

/** The steps that create and update Entities of one type, and the statement that says why they were refused. */
export interface WritePlan {
  /** `guarded` are the dot paths that were sent and that a rule of their own guards. */
  create(guarded?: readonly string[]): readonly Step[]
  /** For the columns among the parameters; the text for a set of columns is made once. */
  update(params: Params, manner: Manner): readonly Step[]
  /** After a refusal: whether the rule holds, and that of each guarded path; nothing where there is no such Entity. */
  allowed(params: Params, manner: Manner | { readonly guarded: readonly string[] }): Statement
  /** Columns that must have a value where the optional object that they are in is there. */
  readonly needed: readonly { readonly path: string; readonly within: string; readonly column: string }[]
  /** Which of the parameters refers to nothing or is taken. `$id` is the Entity itself, 0 for a new one. */
  faults(params: Params): Statement
  explain(rows: readonly Row[], errors: Errors): void
}

/** How an update is meant: merged in, or as a whole; and what of it is guarded. */
export interface Manner {
  readonly partial: boolean
  readonly guarded: readonly string[]
  /** What the caller saw of the Entity when the body was checked: it must still be so when it is written. */
  readonly sight?: Sight | undefined
}

/** What the rules ask of what is written; undefined where they ask for nothing. */
export interface WriteRules {
  create(rowSource: RowSource): Sql | undefined
  update(rowSource: RowSource): Sql | undefined
  field(path: string, rowSource: RowSource, action: 'write' | 'change'): Sql | undefined
  /** The conditions behind a `Sight`. */
  sights(rowSource: RowSource): readonly Sql[]
  readonly disclosure: Disclosure
}

export function compileWrites(type: EntityType, dialect: Dialect, rules: WriteRules): WritePlan {
  const columns = bodyColumns(type.fields)
  const defaults = defaultsOf(columns, dialect)
  const steps = (change: Sql, which: Sql | 'last', kind: 'create' | 'update') =>
    dialect
      .journalled(change, type.name, which, (source) => journalAndReturn(type, kind, dialect, source))
      .map((source) => step(dialect, 'change', 'some', source))
  const cache = new ShapeCache<readonly Step[]>()
  const sentIn = (params: Params) => columns.filter(({ name }) => Object.hasOwn(params, name))
  // What is made has neither id nor times yet: there is nothing bound for them, but it must be of their kind.
  const kinds = new Map<string, ColumnKind>([
    ...Object.entries(ownColumns),
    ...columns.map(({ name, kind }) => [name, kind] as const),
  ])
  const made: RowSource = { type, stored: false, self: (column) => param(column, kinds.get(column)) }
  const asked = (rule: Sql | undefined, guarded: readonly string[], rowSource: RowSource) => {
    const action = rowSource === made ? 'write' : 'change'
    return [rule, ...guarded.map((path) => rules.field(path, rowSource, action))]
  }
  const isThere = (one: Sql | undefined) => one !== undefined
  const creation = (guarded: readonly string[]) => {
    const guards = asked(rules.create(made), guarded, made).filter(isThere)
    return steps(insert(type, columns, dialect, guards), 'last', 'create')
  }
  const stillSeen = (sight: Sight, rowSource: RowSource) =>
    rules.sights(rowSource).map((one, at) => (sight[at] ? one : sql`(${one}) IS NOT TRUE`))
  const plain = creation([])
  const looks = new ShapeCache<Statement>()
  return {
    create: (guarded = []) =>
      guarded.length === 0 ? plain : cache.of(`create|${guarded.join('|')}`, () => creation(guarded)),
    update(params, { partial, guarded, sight = [] }) {
      const sent = sentIn(params)
      if (partial) Object.assign(params, defaults)
      return cache.of(`${shapeOf(sent, partial)}|?${guarded.join('|')}|${sight}`, () => {
        const rowSource = changed(type, columns, sent, partial)
        const more = [
          ...asked(rules.update(rowSource), guarded, rowSource).filter(isThere),
          ...(sight.length === 0 ? [] : stillSeen(sight, rowSource)),
        ]
        return steps(
          updateOf(type, columns, sent, partial, dialect, more),
          sql`t."id" = ${param('$id')}`,
          'update',
        )
      })
    },
    allowed(params, manner) {
      const { guarded } = manner
      const sent = sentIn(params)
      const partial = 'partial' in manner ? manner.partial : undefined
      const isCreate = partial === undefined
      return looks.of(`${isCreate ? 'create' : shapeOf(sent, partial)}|?${guarded.join('|')}`, () => {
        const rowSource = isCreate ? made : changed(type, columns, sent, partial)
        const rule = isCreate ? rules.create(rowSource) : rules.update(rowSource)
        const told = asked(rule, guarded, rowSource).map((one) =>
          one === undefined ? sql`1` : sql`CASE WHEN ${one} THEN 1 ELSE 0 END`,
        )
        const from = isCreate ? sql`` : sql` FROM ${id(type.name)} t WHERE t."id" = ${param('$id')}`
        return compile(sql`SELECT ${join(told)}${from}`, dialect.placeholder)
      })
    },
    needed: columns.flatMap(({ name, field, within }) =>
      within !== undefined && isRequired(field) ? [{ path: field.path, within, column: name }] : [],
    ),
    ...compileFaults(type, columns, dialect, rules.disclosure),
  }
}

function shapeOf(sent: readonly BodyColumn[], partial: boolean): string {
  return `${partial}|${sent.map(({ name }) => name).join('|')}`
}

/** Bound under names of their own, for objects that a merge makes. */
const defaultOf = (name: string) => `$default ${name}`

function defaultsOf(columns: readonly BodyColumn[], dialect: Dialect): Params {
  const params: Params = {}
  for (const { name, kind, scale, field, within, words } of columns) {
    if (within === undefined) continue
    const value = standardOf(field)
    params[defaultOf(name)] = value === undefined ? null : dialect.encode(kind, scale)(value)
    if (words !== undefined) params[defaultOf(words)] = value === undefined ? null : keptWords(String(value))
  }
  return params
}

/** A new row, where every target is live. */
export function insert(
  type: EntityType,
  columns: readonly BodyColumn[],
  dialect: Dialect,
  more: readonly Sql[] = [],
): Sql {
  const values: (readonly [Sql, Sql])[] = [
    ...columns.map((column) => [id(column.name), boundOf(column)] as const),
    ...columns.flatMap(({ words }) => (words === undefined ? [] : [[id(words), param(words)] as const])),
    ...(type.login === undefined
      ? []
      : [
          [id(EMAIL_KEY), param(EMAIL_KEY)] as const,
          [id(TOKEN_EPOCH), param(TOKEN_EPOCH, 'integer')] as const,
        ]),
    [id('version'), sql`1`],
    [id('created_at'), dialect.now],
    [id('updated_at'), dialect.now],
  ]
  const guards = [
    ...(dialect.fence === undefined ? [] : [dialect.fence]),
    ...columns.filter(refers).map((one) => isLive(one, dialect)),
    ...more,
  ]
  return sql`INSERT INTO ${id(type.name)} (${join(values.map(([name]) => name))})
    SELECT ${join(values.map(([, value]) => value))}${guards.length === 0 ? sql`` : sql` WHERE ${and(guards)}`}`
}

function boundOf({ name, kind }: BodyColumn): Sql {
  return param(name, kind)
}

function refers({ field }: BodyColumn): boolean {
  return isPointing(field)
}

/** The reference is empty, or its target is there and live, and stays so until the transaction ends; of a list, all of them. */
function isLive(column: BodyColumn, { lock, members }: Pick<Dialect, 'lock' | 'members'>): Sql {
  const { field, within } = column
  const value = boundOf(column)
  if (field.kind === 'links') {
    // In the order of their ids, whatever theirs in the list: two who lock the same ones do not wait for each other.
    const { rows, target } = members(value)
    return sql`(SELECT count(*) FROM (SELECT 1 FROM ${id(field.target)} h WHERE h."id" IN (SELECT ${target} FROM ${rows})
      AND h."deleted_at" IS NULL ORDER BY h."id"${lock?.toStay ?? sql``}) x) = (SELECT count(*) FROM ${rows})`
  }
  const target = field.kind === 'reference' ? field.target : ''
  const live = sql`EXISTS (SELECT 1 FROM ${id(target)} WHERE "id" = ${value} AND "deleted_at" IS NULL${lock?.toStay ?? sql``})`
  return field.optional || within !== undefined ? sql`(${value} IS NULL OR ${live})` : live
}

function updateOf(
  type: EntityType,
  columns: readonly BodyColumn[],
  sent: readonly BodyColumn[],
  partial: boolean,
  dialect: Dialect,
  more: readonly Sql[],
): Sql {
  const names = new Set(sent.map(({ name }) => name))
  const untouched = columns.filter(
    ({ within, name }) => within !== undefined && names.has(within) && !names.has(name),
  )
  const merged = partial ? untouched : []
  const sets = [
    ...sent.map((column) => sql`${id(column.name)} = ${boundOf(column)}`),
    ...sent.flatMap(({ words }) => (words === undefined ? [] : [sql`${id(words)} = ${param(words)}`])),
    ...merged.filter(({ field }) => !isRequired(field)).flatMap(fillWhenNew),
    ...(type.login !== undefined && names.has('email') ? [sql`${id(EMAIL_KEY)} = ${param(EMAIL_KEY)}`] : []),
    ...(type.login !== undefined && names.has('password')
      ? [sql`${id(TOKEN_EPOCH)} = ${id(TOKEN_EPOCH)} + 1`]
      : []),
    next(dialect),
  ]
  const conditions = [
    ...(dialect.fence === undefined ? [] : [dialect.fence]),
    sql`"id" = ${param('$id')} AND "deleted_at" IS NULL AND ${isVersion}`,
    ...(type.login !== undefined && names.has('password') ? [isEpoch] : []),
    ...sent.filter(refers).map((one) => isLive(one, dialect)),
    ...untouched
      .filter(({ field }) => isRequired(field))
      .map(({ within }) => sql`${id(within ?? '')} IS NOT NULL`),
    ...more,
  ]
  return sql`UPDATE ${id(type.name)} AS t SET ${join(sets)} WHERE ${and(conditions)}`
}

/** The row called `t`, and what an update makes of it. */
function changed(
  type: EntityType,
  columns: readonly BodyColumn[],
  sent: readonly BodyColumn[],
  partial: boolean,
): RowSource {
  const names = new Set(sent.map(({ name }) => name))
  const next = (name: string) => {
    const column = columns.find((one) => one.name === name)
    if (column === undefined) return sql`t.${id(name)}`
    if (names.has(name)) return boundOf(column)
    return partial && column.within !== undefined && names.has(column.within) && !isRequired(column.field)
      ? filled(name, column.kind, column.within)
      : sql`t.${id(name)}`
  }
  return { ...rowOf(type), next }
}

/** Merging into an optional object that was not there makes it anew: what was not sent is its default, or nothing. */
function fillWhenNew({ name, kind, within, words }: BodyColumn): Sql[] {
  const fill = (column: string, as: ColumnKind) => sql`${id(column)} = ${filled(column, as, within)}`
  return [fill(name, kind), ...(words === undefined ? [] : [fill(words, 'text')])]
}

function filled(name: string, kind: ColumnKind, within: string | undefined): Sql {
  return sql`CASE WHEN t.${id(within ?? '')} IS NULL THEN ${param(defaultOf(name), kind)} ELSE t.${id(name)} END`
}

/** A password is changed by whoever knew the one before; `null` is for those who need not. */
const isEpoch = sql`(${param('$epoch')} IS NULL OR ${id(TOKEN_EPOCH)} = ${param('$epoch')})`

/** `If-Match`: the version is one of those, a text such as `|3|7|`; `null` takes any. */
export const isVersion = sql`(${param('$versions')} IS NULL OR ${param('$versions')} LIKE '%|' || CAST("version" AS text) || '|%')`

function compileFaults(
  type: EntityType,
  columns: readonly BodyColumn[],
  dialect: Dialect,
  disclosure: Disclosure,
): Pick<WritePlan, 'faults' | 'explain'> {
  const references = columns.filter(refers)
  const uniques = uniquesOf(type)
  return {
    faults(params) {
      const dead = references.flatMap((one, at) =>
        params[one.name] == null ? [] : [deadOf(one, at, dialect)],
      )
      const taken = uniques.flatMap((set, at) =>
        set.some((name) => Object.hasOwn(params, name)) ? [holderOf(type, columns, set, at, params)] : [],
      )
      return compile(unionAll([...dead, ...taken]), dialect.placeholder)
    },
    explain(rows, errors) {
      for (const [kind, at, holder] of rows) {
        const field = kind === 'reference' ? references[Number(at)]?.field : undefined
        const place = field?.kind === 'links' ? `.${holder}` : ''
        if (field !== undefined) noteReference(errors, field.path + place, 'refers to nothing')
        else noteTaken(errors, type.name, uniques[Number(at)] ?? [], Number(holder), disclosure)
      }
    },
  }
}

/** Which of what a column refers to is not live: the column's place, and the one in the list. Nothing is built upon it, so nothing is locked. */
function deadOf(column: BodyColumn, at: number, { members }: Dialect): Sql {
  const { field } = column
  if (field.kind !== 'links')
    return sql`SELECT 'reference', ${count(at)}, 0 WHERE NOT ${isLive(column, { lock: undefined, members })}`
  const { rows, target, place } = members(boundOf(column))
  return sql`SELECT 'reference', ${count(at)}, ${place} FROM ${rows} WHERE ${target} IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM ${id(field.target)} h WHERE h."id" = ${target} AND h."deleted_at" IS NULL)`
}

/** Who else has these values. Those that are not among the parameters are the Entity's own. */
function holderOf(
  type: EntityType,
  columns: readonly BodyColumn[],
  set: readonly string[],
  at: number,
  params: Params,
): Sql {
  const same = set.map((name) => {
    const kind = columns.find((column) => column.name === name)?.kind
    const own = sql`(SELECT own.${id(name)} FROM ${id(type.name)} own WHERE own."id" = ${param('$id')})`
    return sql`t.${id(name)} = ${Object.hasOwn(params, name) ? param(name, kind) : own}`
  })
  return sql`SELECT 'unique', ${count(at)}, t."id" FROM ${id(type.name)} t
    WHERE ${and(same)} AND t."deleted_at" IS NULL AND t."id" <> ${param('$id')}`
}

/**
 * A set of columns that is taken is noted at each of them that may be named, the login's key at the e-mail that it is
 * made from. By whom is told to those who see that one has these values.
 */
export function noteTaken(
  errors: Errors,
  type: string,
  set: readonly string[],
  holder: number,
  disclosure: Disclosure,
  prefix = '',
): void {
  const by = disclosure.entity(type) && disclosure.values(type, set) ? `${type}/${holder}` : undefined
  const named = set.filter((name) => disclosure.column(type, name))
  if (named.length > 0) noteTakenAt(errors, named, by, set.length, prefix)
  else note(errors, prefix.slice(0, -1), 'has a value that is taken')
}

export function noteTakenAt(
  errors: Errors,
  paths: readonly string[],
  holder: string | undefined,
  together: number,
  prefix: string,
): void {
  const by = holder === undefined ? '' : ` by ${holder}`
  const others =
    together === 1 ? '' : `, together with ${together === 2 ? 'the other value' : 'the other values'}`
  for (const name of paths)
    note(errors, prefix + (name === EMAIL_KEY ? 'email' : name), `is taken${by}${others}`)
}
