import { accountTables } from './own-accounts.ts'
import { columnMakers, inJson, type OwnColumn, type OwnTable } from './own-table.ts'
import { sql } from './sql.ts'

/**
 * The format of the tables below. A database of an older format is upgraded at the next start; one of a newer format is
 * refused. To add a table, a column or an index, declare it here, or for accounts in `own-accounts.ts`, with `since`
 * set to this format, or to the next one if this one was released.
 */
export const FORMAT = 5

const { text, integer, time, optional } = columnMakers

/** Every table of Takeback's own except `takeback_meta`, which must exist before all others. */
export const ownTables: readonly OwnTable[] = [
  {
    name: 'takeback_journal',
    about:
      'Every change: the Entity as it then was, who did it and in which operation. Append-only; a purge blanks `data`. Secrets are never in it. A migration that changed values has one row per type, of kind `migrate`, with `entity_id` 0.',
    columns: [
      integer('seq'),
      text('operation'),
      time('at'),
      {
        ...optional(text('actor')),
        names: [
          { text: '*', at: 'whole' },
          { text: 'reactions/*.', at: 'start' },
        ],
      },
      optional(integer('actor_id')),
      text('entity'),
      integer('entity_id'),
      integer('version'),
      text('kind'),
      optional(text('data')),
      // The operation that had deleted the Entity, as of this change.
      { ...optional(text('deletion')), since: 3 },
      // Who acted in the name of the actor; and the operation that caused it.
      { ...optional(text('via')), since: 4, names: [{ text: '*/', at: 'start', users: true }] },
      { ...optional(text('cause')), since: 4 },
    ],
    key: ['seq'],
    numbered: true,
    indexes: [
      { name: 'entity', columns: ['entity', 'entity_id', 'version'], unique: true },
      // With the number, so that the last change of an operation is found at once, however many there are.
      { name: 'operation', columns: ['operation', 'seq'], was: ['operation'], since: 4 },
      // Everything that operations are searched by. Time comes first, so that new entries go to the end: an index that
      // begins with the actor was measured to cost eight times as much with every write.
      { name: 'at', columns: ['at', 'operation', 'actor', 'actor_id', 'entity'], since: 3 },
      // Only for the few changes made in the name of a user by somebody else.
      { name: 'via', columns: ['via', 'at', 'operation'], with: 'via', since: 4 },
      // Only for the few changes that another operation has caused.
      { name: 'cause', columns: ['cause', 'operation'], with: 'cause', since: 5 },
    ],
  },
  {
    name: 'takeback_cleared',
    about:
      'References that a deletion emptied, with their place and version, so that its restore can set them again.',
    columns: [
      text('operation'),
      text('entity'),
      integer('entity_id'),
      text('column'),
      integer('target'),
      { ...optional(integer('place')), since: 2 },
      // The version of the Entity in which the reference was cleared.
      { ...optional(integer('version')), since: 3 },
    ],
    key: ['operation', 'entity', 'entity_id', 'column', 'target'],
    indexes: [{ name: 'entity', columns: ['entity', 'entity_id'], since: 3 }],
    rekeyed: 2,
  },
  {
    name: 'takeback_migrations',
    about:
      'What migrations did to all values of a field: added with a default, filled, converted, set aside. The journal is read through it.',
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
    about: 'Logins of a day, for the throttle. Accounts and places are hashes.',
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
    about:
      'Addresses and devices where an account has signed in, as hashes, for 90 days. For accounts of two types with one e-mail, also which passwords of one were tried for the other.',
    columns: [text('account'), text('place'), time('at')],
    key: ['account', 'place'],
    indexes: [{ name: 'at', columns: ['at'] }],
    since: 3,
  },
  {
    name: 'takeback_waits',
    about: 'Until when an address was told to wait for an account.',
    columns: [text('account'), text('address'), time('until')],
    key: ['account', 'address'],
    indexes: [{ name: 'until', columns: ['until'] }],
    since: 3,
  },
  {
    name: 'takeback_rates',
    about: 'Token buckets of the rate limits: the time at which each is full again, in milliseconds.',
    // The name of a bucket and its owner: `kept admins/1 as users/3`.
    columns: [{ ...text('key'), names: [{ text: ' */', at: 'anywhere', users: true }] }, integer('full_at')],
    key: ['key'],
    since: 3,
  },
  {
    name: 'takeback_ended_sessions',
    about: 'Sessions that were logged out and tokens that were refreshed, until they would have expired.',
    columns: [text('session'), time('until')],
    key: ['session'],
  },
  {
    name: 'takeback_temporary_passwords',
    about: 'Digests of the hashes of passwords that were printed, and when they expire.',
    columns: [text('entity'), integer('entity_id'), text('digest'), time('until')],
    key: ['entity', 'entity_id'],
    since: 3,
  },
  {
    name: 'takeback_answers',
    about:
      'Answers to requests with an `Idempotency-Key`, for a day; key and request are hashes. A purge blanks `body`.',
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
    about:
      'Which Entities a kept answer shows, so that a purge finds it. The empty type: any of them (routes of the app).',
    columns: [text('key'), text('entity'), integer('entity_id')],
    key: ['entity', 'entity_id', 'key'],
    indexes: [{ name: 'key', columns: ['key'] }],
    since: 3,
    // Nothing says which Entities these answers show, so a purge could not find them.
    upgrade: sql`UPDATE "takeback_answers" SET "body" = NULL`,
  },
  {
    name: 'takeback_notes',
    about: 'The run and the reason of an operation, if the caller sent them.',
    columns: [text('operation'), optional(text('run')), optional(text('reason'))],
    key: ['operation'],
    indexes: [{ name: 'run', columns: ['run', 'operation'] }],
    since: 3,
  },
  {
    name: 'takeback_undone',
    about: 'Which operation was taken back by which.',
    columns: [text('operation'), text('by')],
    key: ['operation', 'by'],
    indexes: [{ name: 'by', columns: ['by', 'operation'] }],
    since: 3,
  },
  {
    name: 'takeback_sealed',
    about:
      "Former hashes of secrets, encrypted with a key from the server's secret: an undo takes them from here.",
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
    about: 'Purges that are not finished: what they take has their id as its `deletion`.',
    columns: [text('purge'), text('operation'), time('at')],
    key: ['purge'],
    since: 3,
  },
  {
    name: 'takeback_cursors',
    about: 'How far each reader that acts for the server has come in the journal. Moved by compare-and-set.',
    columns: [
      { ...text('name'), names: [{ text: 'reactions/*', at: 'whole' }] },
      integer('seq'),
      time('updated_at'),
    ],
    key: ['name'],
    since: 4,
  },
  {
    name: 'takeback_work',
    about:
      'Recurring work: when it is due (`next_at`; while it is held, when the lease ends), who holds it, the fencing token, when it last began, and the last error.',
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
    // Keys that older versions used to schedule retention and backups.
    upgrade: sql`DELETE FROM "takeback_meta" WHERE "key" IN ('keeper', 'backup turn', 'backup made')`,
  },
  {
    name: 'takeback_tasks',
    about:
      'Tasks that are not done. `next_at` is empty while another task with the same key comes first, and once the task is set aside.',
    columns: [
      integer('id'),
      text('queue'),
      { ...optional(text('key')), names: [{ text: '*/', at: 'start' }] },
      { ...text('payload'), names: inJson },
      time('at'),
      // As above. Null if another task of the same key comes first, and if the task is set aside.
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
  {
    name: 'takeback_deliveries',
    about:
      'The last requests to each webhook: which attempt it was, and the status of the answer or what went wrong. No values of Entities.',
    columns: [
      integer('id'),
      text('webhook'),
      text('operation'),
      time('at'),
      integer('attempt'),
      optional(integer('status')),
      optional(text('error')),
      integer('ms'),
    ],
    key: ['id'],
    numbered: true,
    indexes: [{ name: 'webhook', columns: ['webhook', 'id'], since: 5 }],
    since: 5,
  },
  {
    name: 'takeback_keys',
    about:
      'Keys for programs: whose name they act in, what they may do, and a digest of each, which an ended key does not have any more.',
    columns: [
      integer('id'),
      text('entity'),
      integer('entity_id'),
      text('name'),
      optional(text('digest')),
      { ...text('can'), names: 'by hand' },
      text('limits'),
      integer('agent'),
      time('created_at'),
      optional(time('expires_at')),
      optional(time('used_at')),
      optional(time('ended_at')),
    ],
    key: ['id'],
    numbered: true,
    indexes: [
      { name: 'digest', columns: ['digest'], unique: true, with: 'digest', since: 5 },
      { name: 'owner', columns: ['entity', 'entity_id', 'id'], since: 5 },
    ],
    since: 5,
  },
  ...accountTables,
]

/** Tables that name an Entity type in `entity`. */
export const aboutEntities = ownTables.filter(({ columns }) => columns.some(({ name }) => name === 'entity'))
/** Tables with data about single Entities, besides the journal. A purge erases these rows. */
export const besidesJournal = aboutEntities.filter(
  ({ name, columns }) => name !== 'takeback_journal' && columns.some((column) => column.name === 'entity_id'),
)
/** Tables that also name a column of it in `column`. */
export const aboutColumns = aboutEntities.filter(({ columns }) =>
  columns.some(({ name }) => name === 'column'),
)

/** The columns that a table has in a format. */
export function columnsIn({ columns }: OwnTable, format: number): readonly OwnColumn[] {
  return columns.filter(({ since = 1 }) => since <= format)
}

export function tablesIn(format: number): readonly OwnTable[] {
  return ownTables.filter(({ since = 1 }) => since <= format)
}
