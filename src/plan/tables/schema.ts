import { emailKey } from '../../declare/email-key.ts'
import {
  columnOf,
  type Edge,
  type EntityType,
  type LinksField,
  linkTableOf,
  type Model,
  walk,
} from '../../declare/model.ts'
import { checkOf, defaultOf, isRequired, objectSchema } from '../../declare/values.ts'
import type { MigrationStep } from '../../store/migration/steps.ts'
import { type Column, type Index, pathOf, type Table, wordsColumn } from '../../store/tables.ts'
import { bodyColumns } from './columns.ts'
import type { Legacy } from './graph.ts'

/** Columns that `login` adds to a table. They are never in a body and never rendered. */
export const EMAIL_KEY = 'email_key'
export const TOKEN_EPOCH = 'token_epoch'

/** The tables that hold the Model: one per Entity type, a column per dot path. */
export function tablesOf(model: Model): Table[] {
  return [...model.entities.values()].map((type) => ({
    name: type.name,
    columns: [...columnsOf(type), ...derivedColumns(type), ...(type.login === undefined ? [] : loginColumns)],
    indexes: indexesOf(type),
    ...(type.checks.length > 0 && { checks: type.checks }),
    renames: renamesOf(type),
    ...(type.was !== undefined && { was: type.was }),
  }))
}

/** The renames of columns, outer objects first. Inner ones use the new name of the outer one. */
function renamesOf(type: EntityType): (readonly [from: string, to: string])[] {
  return [...walk(type.fields)].flatMap(({ path, name, was }) =>
    was === undefined ? [] : [[path.slice(0, path.length - name.length) + was, path] as const],
  )
}

const loginColumns: readonly Column[] = [
  // Nobody can log in without it, so a type that has rows cannot become a login type.
  { name: EMAIL_KEY, kind: 'text', required: true, derived: { from: 'email', by: emailKey } },
  { name: TOKEN_EPOCH, kind: 'integer', fill: 0 },
]

function columnsOf(type: EntityType): Column[] {
  return bodyColumns(type.fields).map(({ name, kind, scale, field, within, secret }) => {
    const required = field.kind !== 'object' && isRequired(field)
    const column = {
      name,
      kind,
      ...(kind === 'decimal' && { scale }),
      ...(secret && { secret }),
      ...(required && { required }),
      ...((field.kind === 'value' || field.kind === 'links') && field.optional && { optional: true }),
      ...(within !== undefined && { within }),
      ...(field.kind === 'value' && !secret && { limits: field.schema, check: field.check }),
    }
    if (field.kind === 'reference') return { ...column, references: field.target, ever: [field.onDelete] }
    const links = field.kind === 'links' ? linksColumn(field) : {}
    const fill = defaultOf(field)
    return { ...column, ...links, ...(fill !== undefined && { fill }) }
  })
}

/** What a list of references adds to its column. The limits are those of the list. */
function linksColumn(field: LinksField): Partial<Column> {
  const { target, onDelete, min, max, item, member } = field
  return {
    links: target,
    ...(item !== undefined && { member }),
    ever: [onDelete],
    limits: {
      ...(min > 0 && { minItems: min }),
      ...(max !== undefined && { maxItems: max }),
      ...(item !== undefined && { items: objectSchema(item.fields, 'whole', 'in') }),
    },
    check: checkOf(field, 'whole'),
  }
}

function derivedColumns(type: EntityType): Column[] {
  return bodyColumns(type.fields).flatMap(({ name: of, derived }) =>
    derived.map(({ name, by }): Column => ({ name, kind: 'text', words: { of, cut: by } })),
  )
}

/** Columns derived from those of a body, and set together with them. */
export function columnsBeside(type: EntityType): string[] {
  return [...(type.login === undefined ? [] : [EMAIL_KEY]), ...derivedColumns(type).map(({ name }) => name)]
}

/** What former declarations have left in a database. */
export function legacyOf(held: readonly Table[], model: Model, steps: readonly MigrationStep[] = []): Legacy {
  const ever = new Map(
    held.flatMap(({ name, columns }) =>
      columns.map((column) => [`${name} ${column.name}`, column.ever ?? []]),
    ),
  )
  return {
    aside: asideEdges(held, model),
    steps,
    did: ({ from, column }, what) => ever.get(`${from} ${column}`)?.includes(what) ?? false,
  }
}

/** Stored references that are no longer declared. A purge of their targets must still be refused. */
function asideEdges(held: readonly Table[], model: Model): Edge[] {
  return held.flatMap(({ name, columns }) =>
    columns.flatMap((column): Edge[] => {
      const to = column.references ?? column.links
      if (to === undefined || (model.entities.has(name) && !column.aside)) return []
      const list =
        column.links === undefined
          ? undefined
          : {
              links: linkTableOf(name, column.name).table,
              member: column.member ?? '',
              min: 0,
              max: undefined,
            }
      return [
        {
          from: name,
          path: pathOf(column),
          column: column.name,
          within: undefined,
          to,
          onDelete: 'restrict',
          list,
        },
      ]
    }),
  )
}

function indexesOf(type: EntityType): Index[] {
  const uniques = uniquesOf(type).map((columns) => ({ columns, unique: true }))
  // With the id at the end: the referrers of an Entity come in list order, and a page reads only its own rows.
  const references = [...walk(type.fields)]
    .filter((field) => field.kind === 'reference')
    .map((field) => ({ columns: [columnOf(field), 'id'], unique: false }))
  const sorts = type.indexes.map((keys) => ({
    columns: keys.map(({ column }) => column),
    unique: false,
    descending: keys.map(({ descending }) => descending),
  }))
  const searched = derivedColumns(type)
    .filter(({ name, words }) => words !== undefined && wordsColumn(words.of) === name)
    .map(({ name }) => name)
  const search = searched.length === 0 ? [] : [{ columns: searched, unique: false, search: true }]
  return [...uniques, ...references, ...sorts, ...search]
}

/** Sets of columns that are unique among live rows, including those of the login. */
export function uniquesOf(type: EntityType): readonly (readonly string[])[] {
  return type.login === undefined ? type.uniques : [[EMAIL_KEY], ...type.uniques]
}
