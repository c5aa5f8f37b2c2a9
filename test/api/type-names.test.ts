import { expect, test } from 'bun:test'
import type { AppDeclaration } from '../../src/declare/define.ts'
import { byHand } from '../../src/store/migration/type-names.ts'
import { ownTables } from '../../src/store/own.ts'
import { TestServer } from '../harness.ts'
import { declaring, OLD } from '../renamed.ts'
import { SECRET } from '../webhook-receiver.ts'

/**
 * Text columns of our own tables that name no Entity type, and why. A new one that names types has `names` in
 * `store/own.ts`; the column `entity` is recognised by its name.
 */
// The keys of answers are hashes that include the caller's name: `knownBy` in `api/idempotency.ts` also looks for the
// former name.
const COLUMNS_WITHOUT_TYPE_NAMES: Readonly<Record<string, readonly string[]>> = {
  'a random id, a digest or a hash': [
    ...['journal', 'cleared', 'migrations', 'answers', 'notes', 'undone', 'purges', 'deliveries'].map(
      (table) => `${table}.operation`,
    ),
    ...['journal.deletion', 'journal.cause', 'undone.by', 'purges.purge', 'links.slot'],
    ...['ended_sessions.session', 'sessions.session', 'shown.key', 'answers.key', 'answers.request'],
    ...[
      'temporary_passwords',
      'keys',
      'links',
      'verified',
      'tried_passwords',
      'recovery_codes',
      'handoffs',
    ].map((table) => `${table}.digest`),
    ...['links.bound', 'tried_passwords.hash', 'second_factors.secret', 'sealed.value', 'identities.unset'],
    ...['passkeys.credential', 'passkeys.public_key'],
  ],
  // Some include a user by the name of the type: a rename starts these counts again.
  'a hash, for the throttle': [
    ...['attempts.id', 'attempts.account', 'attempts.address', 'attempts.place'],
    ...['known_places.account', 'known_places.place', 'waits.account', 'waits.address'],
  ],
  'values and fields of an Entity': ['journal.data', 'cleared.column', 'migrations.column', 'sealed.column'],
  'a word of ours': [
    ...['journal.kind', 'migrations.change', 'attempts.outcome', 'links.purpose', 'sessions.how'],
    ...['handoffs.kind', 'work.holder', 'tasks.holder', 'keys.limits'],
  ],
  'a name in the declaration that is not a type': [
    ...['work.name', 'tasks.queue', 'deliveries.webhook', 'identities.provider'],
  ],
  'an answer or a message as it was then': [
    ...['answers.headers', 'answers.body', 'work.error', 'tasks.error', 'deliveries.error'],
  ],
  'what others have sent': [
    ...['notes.run', 'notes.reason', 'keys.name', 'links.address', 'sessions.address', 'sessions.agent'],
    ...['passkeys.name', 'identities.issuer', 'identities.subject'],
  ],
}

test('every text of our own tables that names Entity types says how a rename reaches it', () => {
  const texts = ownTables.flatMap(({ name, columns }) =>
    columns
      .filter((column) => column.kind === 'text' && column.name !== 'entity')
      .map((column) => ({ at: `${name.replace('takeback_', '')}.${column.name}`, names: column.names })),
  )
  const nameless = texts.filter(({ names }) => names === undefined).map(({ at }) => at)
  expect(nameless.sort()).toEqual(Object.values(COLUMNS_WITHOUT_TYPE_NAMES).flat().sort())
  const hands = texts.filter(({ names }) => names === 'by hand').map(({ at }) => `takeback_${at}`)
  expect(hands.sort()).toEqual(Object.keys(byHand).sort())
})

/**
 * How the tasks of each queue name Entity types: by `entity` in their payload, and by `<type>/<id>` as their key. For a
 * new queue, add its tasks to `renamed-work.test.ts`.
 */
const QUEUES = {
  mail: 'by entity and key',
  reactions: 'by entity, reaction and key',
  'webhook hook': 'not at all',
}

test('every queue says how its tasks name Entity types', async () => {
  const webhooks = { hook: { to: 'https://example.com/', on: ['notes.create'], secret: SECRET } }
  const declaration = { ...declaring(OLD), webhooks } as unknown as AppDeclaration
  const server = new TestServer('sqlite', declaration)
  await server.start()
  const { queues } = await server.context.work.state()
  await server.remove()
  expect(Object.keys(queues).sort()).toEqual(Object.keys(QUEUES).sort())
})
