import { columnMakers, inJson, type OwnTable } from './own-table.ts'

const { text, integer, time, optional } = columnMakers

/** Tables for accounts since format 5. */
export const accountTables: readonly OwnTable[] = [
  {
    name: 'takeback_links',
    about:
      'Links that were mailed, one for each account, purpose and slot: a digest of the token, a digest of the e-mail and the password as they were, and when it expires. The purpose `reverted` says when a change of the e-mail was last taken back.',
    columns: [
      text('entity'),
      integer('entity_id'),
      text('purpose'),
      // The operation that the link takes back; empty for all other links.
      text('slot'),
      text('digest'),
      text('bound'),
      // The e-mail address that the link is for, if it is not the account's. New invitations always have it.
      optional(text('address')),
      time('until'),
    ],
    key: ['entity', 'entity_id', 'purpose', 'slot'],
    indexes: [
      { name: 'digest', columns: ['digest'], unique: true, since: 5 },
      { name: 'until', columns: ['until'], since: 5 },
    ],
    since: 5,
  },
  {
    name: 'takeback_verified',
    about:
      'Digests of the e-mail addresses that users of types with `verify` have proved. The id 0 says since when the type asks for proof.',
    columns: [text('entity'), integer('entity_id'), text('digest'), time('at')],
    key: ['entity', 'entity_id', 'digest'],
    since: 5,
  },
  {
    name: 'takeback_tried_passwords',
    about:
      'Of each account the hash of the password of the last sign-up that found its e-mail taken, with a digest of that e-mail: logins with it must not tell. It opens nothing.',
    columns: [text('entity'), integer('entity_id'), text('digest'), text('hash')],
    key: ['entity', 'entity_id'],
    since: 5,
  },
  {
    name: 'takeback_sessions',
    about:
      'The sessions of users, for people to see: when and how each began, where it was last used and when. Whether a token works does not depend on it.',
    columns: [
      text('session'),
      text('entity'),
      integer('entity_id'),
      // The epoch of the user's tokens. Tokens of another epoch have ended.
      integer('epoch'),
      text('how'),
      time('started_at'),
      time('seen_at'),
      time('expires_at'),
      // When to erase the row, in service time.
      time('until'),
      text('address'),
      optional(text('agent')),
    ],
    key: ['session'],
    indexes: [
      { name: 'entity', columns: ['entity', 'entity_id', 'started_at'], since: 5 },
      { name: 'until', columns: ['until'], since: 5 },
    ],
    since: 5,
  },
  {
    name: 'takeback_second_factors',
    about:
      "Secrets from which authenticator apps make codes, encrypted with a key from the server's secret, and the last 30 seconds of which a code was used. Without `confirmed_at` it is not set up yet.",
    columns: [
      text('entity'),
      integer('entity_id'),
      text('secret'),
      optional(time('confirmed_at')),
      integer('last_step'),
    ],
    key: ['entity', 'entity_id'],
    since: 5,
  },
  {
    name: 'takeback_passkeys',
    about: 'Public keys of passkeys, and how often each says that it was used.',
    columns: [
      integer('id'),
      text('entity'),
      integer('entity_id'),
      text('name'),
      text('credential'),
      text('public_key'),
      integer('counter'),
      time('created_at'),
      optional(time('used_at')),
    ],
    key: ['id'],
    numbered: true,
    indexes: [
      { name: 'entity', columns: ['entity', 'entity_id'], since: 5 },
      { name: 'credential', columns: ['credential'], unique: true, since: 5 },
    ],
    since: 5,
  },
  {
    name: 'takeback_recovery_codes',
    about: 'Digests of codes that log in in place of a second factor, once each.',
    columns: [text('entity'), integer('entity_id'), text('digest')],
    key: ['entity', 'entity_id', 'digest'],
    since: 5,
  },
  {
    name: 'takeback_preferences',
    about: 'What programs keep for a user, such as the language: one JSON object, which only its user reads.',
    columns: [text('entity'), integer('entity_id'), { ...text('value'), names: 'by hand' }],
    key: ['entity', 'entity_id'],
    since: 5,
  },
  {
    name: 'takeback_handoffs',
    about:
      'Logins through a provider that are under way: a digest of the text that passes through a URL, what it stands for, and when it expires.',
    columns: [text('digest'), text('kind'), { ...text('payload'), names: inJson }, time('until')],
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
