import type { ColumnKind } from '../declare/fields/field.ts'
import type { Ddl } from './migration/structure.ts'
import { id, join, type Sql, sql } from './sql.ts'

/**
 * The format of the tables below. A database of an older format is upgraded at the next start; one of a newer format is
 * refused. To add a table, a column or an index, declare it here with `since` set to the next format.
 */
export const FORMAT = 4

interface OwnColumn {
  readonly name: string
  readonly kind: ColumnKind
  readonly required: boolean
  /** The first format that has it; 1 if left out. A column that comes later cannot be required. */
  readonly since?: number
}

interface OwnIndex {
  /** Behind the name of the table. */
  readonly name: string
  readonly columns: readonly string[]
  readonly unique?: boolean
  /** A column: rows without a value in it are left out. */
  readonly with?: string
  /** The first format that has it; 1 if left out. */
  readonly since?: number
  /** What it was over in the formats before `since`. */
  readonly was?: readonly string[]
}

/** A table of Takeback's own, the same on every database. */
export interface OwnTable {
  readonly name: string
  readonly columns: readonly OwnColumn[]
  readonly key: readonly string[]
  /** Whether the database numbers the key. */
  readonly numbered?: boolean
  /** Whether its rows can be large. */
  readonly wide?: boolean
  readonly indexes?: readonly OwnIndex[]
  readonly since?: number
  /** The format in which its key changed: an older table is made anew. */
  readonly rekeyed?: number
  /** What must be done to the data of an older format that does not have the table. */
  readonly upgrade?: Sql
}

const text = (name: string): OwnColumn => ({ name, kind: 'text', required: true })
const integer = (name: string): OwnColumn => ({ name, kind: 'integer', required: true })
const time = (name: string): OwnColumn => ({ name, kind: 'datetime', required: true })
const optional = (column: OwnColumn): OwnColumn => ({ ...column, required: false })

/** Every table of Takeback's own, but `takeback_meta`, which must be there before all others. */
export const ownTables: readonly OwnTable[] = [
  {
    name: 'takeback_journal',
    columns: [
      integer('seq'),
      text('operation'),
      time('at'),
      optional(text('actor')),
      optional(integer('actor_id')),
      text('entity'),
      integer('entity_id'),
      integer('version'),
      text('kind'),
      optional(text('data')),
      // The operation that had deleted it, as it stood after this change.
      { ...optional(text('deletion')), since: 3 },
      // Who or what acted in the name of the actor, and the operation that made them act.
      { ...optional(text('via')), since: 4 },
      { ...optional(text('cause')), since: 4 },
    ],
    key: ['seq'],
    numbered: true,
    indexes: [
      { name: 'entity', columns: ['entity', 'entity_id', 'version'], unique: true },
      // With the number, so that the last change of an operation is found at once, however many it has.
      { name: 'operation', columns: ['operation', 'seq'], was: ['operation'], since: 4 },
      // All that operations are looked for by. Time comes first, so that new entries are put at the end: an index that
      // begins with the actor was measured to cost eight times as much with every write.
      { name: 'at', columns: ['at', 'operation', 'actor', 'actor_id', 'entity'], since: 3 },
      // Of the few that somebody else has done in the name of a user: all others cost nothing here.
      { name: 'via', columns: ['via', 'at', 'operation'], with: 'via', since: 4 },
    ],
  },
  {
    name: 'takeback_cleared',
    columns: [
      text('operation'),
      text('entity'),
      integer('entity_id'),
      text('column'),
      integer('target'),
      { ...optional(integer('place')), since: 2 },
      // The version of the Entity that left the reference empty.
      { ...optional(integer('version')), since: 3 },
    ],
    key: ['operation', 'entity', 'entity_id', 'column', 'target'],
    indexes: [{ name: 'entity', columns: ['entity', 'entity_id'], since: 3 }],
    rekeyed: 2,
  },
  {
    name: 'takeback_migrations',
    columns: [
      text('operation'),
      integer('place'),
      time('at'),
      text('entity'),
      text('column'),
      text('change'),
    ],
    key: ['operation', 'place'],
    since: 3,
  },
  {
    name: 'takeback_attempts',
    columns: [
      text('id'),
      time('at'),
      text('account'),
      text('address'),
      text('outcome'),
      { ...optional(text('place')), since: 3 },
      { ...optional(integer('elsewhere')), since: 3 },
    ],
    key: ['id'],
    indexes: [
      { name: 'account', columns: ['account', 'at'] },
      { name: 'address', columns: ['address', 'at'] },
      { name: 'at', columns: ['at'] },
    ],
  },
  {
    name: 'takeback_known_places',
    columns: [text('account'), text('place'), time('at')],
    key: ['account', 'place'],
    indexes: [{ name: 'at', columns: ['at'] }],
    since: 3,
  },
  {
    name: 'takeback_waits',
    columns: [text('account'), text('address'), time('until')],
    key: ['account', 'address'],
    indexes: [{ name: 'until', columns: ['until'] }],
    since: 3,
  },
  {
    name: 'takeback_rates',
    columns: [text('key'), integer('full_at')],
    key: ['key'],
    since: 3,
  },
  {
    name: 'takeback_ended_sessions',
    columns: [text('session'), time('until')],
    key: ['session'],
  },
  {
    name: 'takeback_temporary_passwords',
    columns: [text('entity'), integer('entity_id'), text('digest'), time('until')],
    key: ['entity', 'entity_id'],
    since: 3,
  },
  {
    name: 'takeback_answers',
    columns: [
      text('key'),
      text('request'),
      time('at'),
      optional(text('operation')),
      integer('status'),
      text('headers'),
      optional(text('body')),
    ],
    key: ['key'],
    wide: true,
    indexes: [{ name: 'at', columns: ['at'] }],
    since: 2,
  },
  {
    name: 'takeback_shown',
    columns: [text('key'), text('entity'), integer('entity_id')],
    key: ['entity', 'entity_id', 'key'],
    indexes: [{ name: 'key', columns: ['key'] }],
    since: 3,
    // Nothing says which Entities those answers show, so a purge could not find them.
    upgrade: sql`UPDATE "takeback_answers" SET "body" = NULL`,
  },
  {
    name: 'takeback_notes',
    columns: [text('operation'), optional(text('run')), optional(text('reason'))],
    key: ['operation'],
    indexes: [{ name: 'run', columns: ['run', 'operation'] }],
    since: 3,
  },
  {
    name: 'takeback_undone',
    columns: [text('operation'), text('by')],
    key: ['operation', 'by'],
    indexes: [{ name: 'by', columns: ['by', 'operation'] }],
    since: 3,
  },
  {
    name: 'takeback_sealed',
    columns: [
      text('entity'),
      integer('entity_id'),
      text('column'),
      integer('version'),
      optional(text('value')),
    ],
    key: ['entity', 'entity_id', 'column', 'version'],
    since: 3,
  },
  {
    name: 'takeback_purges',
    columns: [text('purge'), text('operation'), time('at')],
    key: ['purge'],
    since: 3,
  },
  {
    name: 'takeback_cursors',
    columns: [text('name'), integer('seq'), time('updated_at')],
    key: ['name'],
    since: 4,
  },
  {
    name: 'takeback_work',
    columns: [
      text('name'),
      // When it is due; while it is held, when the lease ends.
      time('next_at'),
      optional(text('holder')),
      integer('fence'),
      optional(time('ran_at')),
      integer('failures'),
      optional(text('error')),
      optional(time('since')),
    ],
    key: ['name'],
    since: 4,
    // What used to keep the time of retention and of backups, and who was at it.
    upgrade: sql`DELETE FROM "takeback_meta" WHERE "key" IN ('keeper', 'backup turn', 'backup made')`,
  },
  {
    name: 'takeback_tasks',
    columns: [
      integer('id'),
      text('queue'),
      optional(text('key')),
      text('payload'),
      time('at'),
      // As above; empty where another task of the same key comes first, and where it is set aside.
      optional(time('next_at')),
      optional(text('holder')),
      integer('fence'),
      integer('attempts'),
      optional(text('error')),
      optional(time('aside_at')),
    ],
    key: ['id'],
    numbered: true,
    indexes: [
      { name: 'due', columns: ['queue', 'next_at', 'id'] },
      { name: 'key', columns: ['queue', 'key', 'id'] },
    ],
    since: 4,
  },
]

/** Those that speak of Entities by the name of their type, in `entity`; and of these, those that name a column too. */
export const aboutEntities = ownTables.filter(({ columns }) => columns.some(({ name }) => name === 'entity'))
export const aboutColumns = aboutEntities.filter(({ columns }) =>
  columns.some(({ name }) => name === 'column'),
)

/** What a table has in a format: its columns then. */
export function columnsIn({ columns }: OwnTable, format: number): readonly OwnColumn[] {
  return columns.filter(({ since = 1 }) => since <= format)
}

export function tablesIn(format: number): readonly OwnTable[] {
  return ownTables.filter(({ since = 1 }) => since <= format)
}

/** Makes the tables as they are in a format. */
export function createOwnTables(ddl: Ddl, format = FORMAT): Sql[] {
  return [
    ddl.meta,
    ...ddl.extra,
    ...tablesIn(format).flatMap((table) => createWithIndexes(ddl, table, format)),
  ]
}

/** Brings the tables of an older format to that of today. */
export function upgradeOwnTables(ddl: Ddl, from: number): Sql[] {
  return ownTables.flatMap((table) => {
    if ((table.since ?? 1) > from)
      return [
        ...createWithIndexes(ddl, table, FORMAT),
        ...(table.upgrade === undefined ? [] : [table.upgrade]),
      ]
    if ((table.rekeyed ?? 1) > from) return makeAnew(ddl, table, from)
    const columns = table.columns.filter(({ since = 1 }) => since > from)
    return [
      ...columns.map(
        (column) => sql`ALTER TABLE ${id(table.name)} ADD COLUMN ${describeOwnColumn(ddl, column)}`,
      ),
      ...(table.indexes ?? []).flatMap((index) => upgradeIndex(ddl, table, index, from)),
    ]
  })
}

function upgradeIndex(ddl: Ddl, table: OwnTable, index: OwnIndex, from: number): Sql[] {
  const before = indexIn(ddl, table, index, from)
  const after = indexIn(ddl, table, index, FORMAT)
  if (after === undefined || Bun.deepEquals(before, after)) return []
  const drop = sql`DROP INDEX ${id(ownIndexName(table, index))}`
  return [...(before === undefined ? [] : [drop]), createIndex(table, after)]
}

function createWithIndexes(ddl: Ddl, table: OwnTable, format: number): Sql[] {
  const indexes = (table.indexes ?? []).flatMap((index) => indexIn(ddl, table, index, format) ?? [])
  return [
    createOwnTable(ddl, table, table.name, format),
    ...indexes.map((index) => createIndex(table, index)),
  ]
}

/** An index as it is in a format; undefined where that does not have it. */
function indexIn(
  { numberInIndexes }: Ddl,
  { numbered, key }: OwnTable,
  { since = 1, was, ...index }: OwnIndex,
  format: number,
): OwnIndex | undefined {
  const over = since <= format ? index.columns : was
  if (over === undefined) return undefined
  const isImplied = numbered && numberInIndexes && over.at(-1) === key[0]
  return { ...index, columns: isImplied ? over.slice(0, -1) : over }
}

function createOwnTable(ddl: Ddl, table: OwnTable, name: string, format: number): Sql {
  const columns = columnsIn(table, format)
  const [first] = table.key
  const described = columns.map((column) =>
    table.numbered && column.name === first ? ddl.numbered(column.name) : describeOwnColumn(ddl, column),
  )
  const key = table.numbered ? [] : [sql`PRIMARY KEY (${join(table.key.map(id))})`]
  const options = table.numbered || table.wide ? ddl.tableOptions : ddl.keyedOptions
  return sql`CREATE TABLE ${id(name)} (${join([...described, ...key])})${options}`
}

function createIndex(table: OwnTable, index: OwnIndex): Sql {
  const kind = index.unique ? sql`UNIQUE INDEX` : sql`INDEX`
  const picked = index.with === undefined ? sql`` : sql` WHERE ${id(index.with)} IS NOT NULL`
  return sql`CREATE ${kind} ${id(ownIndexName(table, index))} ON ${id(table.name)} (${join(index.columns.map(id))})${picked}`
}

function ownIndexName(table: OwnTable, { name }: OwnIndex): string {
  return `${table.name}:${name}`
}

/** Under another name first: some databases keep the names of a table's constraints when it is renamed. */
function makeAnew(ddl: Ddl, table: OwnTable, from: number): Sql[] {
  const fresh = `${table.name}_rekeyed`
  const kept = join(columnsIn(table, from).map(({ name }) => id(name)))
  return [
    createOwnTable(ddl, table, fresh, FORMAT),
    sql`INSERT INTO ${id(fresh)} (${kept}) SELECT ${kept} FROM ${id(table.name)}`,
    sql`DROP TABLE ${id(table.name)}`,
    sql`ALTER TABLE ${id(fresh)} RENAME TO ${id(table.name)}`,
    ...(table.indexes ?? [])
      .flatMap((index) => indexIn(ddl, table, index, FORMAT) ?? [])
      .map((index) => createIndex(table, index)),
  ]
}

function describeOwnColumn(ddl: Ddl, { name, kind, required, since }: OwnColumn): Sql {
  if (required && since !== undefined) throw new Error(`${name} came later: it cannot be required`)
  return sql`${id(name)} ${ddl.type({ name, kind })}${required ? sql` NOT NULL` : sql``}`
}
