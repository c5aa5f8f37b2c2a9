import { columnMakers, type OwnTable } from './own-table.ts'

const { text, integer, time, optional } = columnMakers

/** Tables of accounts that came with format 5 and later. */
export const accountTables: readonly OwnTable[] = [
  {
    name: 'takeback_handoffs',
    about:
      'Logins through a provider that are under way: a digest of the text that passes through a URL, what it stands for, and when it expires.',
    columns: [text('digest'), text('kind'), text('payload'), time('until')],
    key: ['digest'],
    indexes: [{ name: 'until', columns: ['until'], since: 5 }],
    since: 5,
  },
  {
    name: 'takeback_identities',
    about:
      'Which account somebody at a provider logs in to. `unset` is a digest of the hash of a password that nobody knows, if the provider made the account.',
    columns: [
      integer('id'),
      text('provider'),
      text('issuer'),
      text('subject'),
      text('entity'),
      integer('entity_id'),
      optional(text('unset')),
      time('created_at'),
    ],
    key: ['id'],
    numbered: true,
    indexes: [
      { name: 'identity', columns: ['issuer', 'subject', 'entity'], unique: true, since: 5 },
      { name: 'entity', columns: ['entity', 'entity_id'], since: 5 },
    ],
    since: 5,
  },
]
