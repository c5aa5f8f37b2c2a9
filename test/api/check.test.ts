import { expect, test } from 'bun:test'
import { cpSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { makeBackup } from '../../src/store/backup/make.ts'
import { check } from '../../src/store/check/check.ts'
import { searchName } from '../../src/store/migration/structure.ts'
import { aboutEntities, ownTables } from '../../src/store/own.ts'
import type { OwnColumn, OwnTable } from '../../src/store/own-table.ts'
import { entity, integer, list, object, ref, secret, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { giant, newDatabase, onEveryStoreByHand, sample, type TestDatabase, TestServer } from '../harness.ts'
import { newPostgresDatabase } from '../postgres.ts'
import { newFolder, run } from '../process/process.ts'

const notes = {
  title: text({ search: true }),
  count: integer({ optional: true }),
  place: object({ city: text() }, { optional: true }),
  pin: secret({ optional: true }),
  parent: ref('notes', { optional: true, onDelete: 'clear' }),
  friends: list(ref('notes', { onDelete: 'clear' }), { default: [] }),
}
const declaration = withAdmins({ notes: entity({ fields: notes }) })

/**
 * Declarations that lead to migrations: a new default, a conversion, a field that is removed, one that returns, and a
 * default that goes again.
 */
const { count: _, ...withoutCount } = notes
const later = [
  { ...notes, stars: integer({ default: 3 }), count: text({ optional: true }) },
  { ...withoutCount, stars: integer({ default: 5 }) },
  { ...notes, stars: integer({ default: 5 }), count: text({ default: 'none' }) },
  { ...notes, stars: integer({ default: 5 }), count: text({ optional: true }) },
].map((fields) => withAdmins({ notes: entity({ fields }) }))

/** Damage done by hand, the Entity or table that the finding must name, and its text. */
const damages: [name: string, statements: string[], where: string, what: RegExp][] = [
  [
    'a value',
    [`UPDATE notes SET title = 'other', "title~" = ' other ' WHERE id = 1`],
    'notes/1',
    /differs from the journal in title/,
  ],
  ['a value in an object', [`UPDATE notes SET "place.city" = 'X' WHERE id = 2`], 'notes/2', /place\.city/],
  [
    'an object that went',
    [`UPDATE notes SET place = NULL WHERE id = 2`],
    'notes/2',
    /differs from the journal in place/,
  ],
  [
    'a deleted one',
    [`UPDATE notes SET count = 99 WHERE id = 4`],
    'notes/4',
    /differs from the journal in count/,
  ],
  [
    'a version',
    ['UPDATE notes SET version = version + 1 WHERE id = 1'],
    'notes/1',
    /which the journal does not have/,
  ],
  [
    'a version that went back',
    ['UPDATE notes SET version = version - 1 WHERE id = 3'],
    'notes/3',
    /in the journal, but/,
  ],
  ['a deletion by half', ['UPDATE notes SET deleted_at = NULL WHERE id = 4'], 'notes/4', /half deleted/],
  ['another deletion', [`UPDATE notes SET deletion = 'x' WHERE id = 4`], 'notes/4', /another operation/],
  ['a row that went', [`DELETE FROM notes WHERE id = 6`], 'notes/6', /in the journal, but not in its table/],
  [
    'journal data',
    [`UPDATE takeback_journal SET data = NULL WHERE entity = 'notes' AND entity_id = 1`],
    'notes/1',
    /no data/,
  ],
  [
    'a hole in the journal',
    [`DELETE FROM takeback_journal WHERE entity = 'notes' AND entity_id = 3 AND version = 2`],
    'notes/3',
    /only 2 of them/,
  ],
  [
    'a purge that left data',
    [`UPDATE takeback_journal SET data = '{}' WHERE entity = 'notes' AND entity_id = 5`],
    'notes/5',
    /still has data/,
  ],
  [
    'a type of nowhere',
    [`UPDATE takeback_journal SET entity = 'nowhere' WHERE entity = 'notes' AND entity_id = 6`],
    'nowhere',
    /has no such Entity type/,
  ],
  ['a link too few', ['DELETE FROM "notes.friends" WHERE source = 3'], 'notes/3', /no row in the link table/],
  [
    'a link too many',
    ['INSERT INTO "notes.friends" (source, target, place) VALUES (1, 2, 0)'],
    'notes/1',
    /not in its list/,
  ],
  [
    'the place of a link',
    ['UPDATE "notes.friends" SET place = 7 WHERE source = 3 AND target = 1'],
    'notes/3',
    /link table/,
  ],
  ['search words', [`UPDATE notes SET "title~" = ' wrong ' WHERE id = 1`], 'notes/1', /search words/],
  [
    'a reference to what is deleted',
    ['UPDATE notes SET "parent.id" = 4 WHERE id = 3'],
    'notes/3',
    /refers to notes\/4, which is deleted/,
  ],
  ['what was cleared', [`UPDATE takeback_cleared SET entity_id = 99`], 'takeback_cleared', /notes\/99/],
  [
    'the target of what was cleared',
    [`UPDATE takeback_cleared SET target = 98`],
    'takeback_cleared',
    /notes\/98/,
  ],
  ['a sealed secret', [`UPDATE takeback_sealed SET entity_id = 97`], 'takeback_sealed', /notes\/97/],
  ['a kept answer', ['DELETE FROM takeback_answers'], 'takeback_shown', /that answer is not stored/],
  ['what an answer shows', [`UPDATE takeback_shown SET entity_id = 96`], 'takeback_shown', /notes\/96/],
]

/**
 * Tables without a column that names an Entity. A new table that names one has `entity` and `entity_id`: by these
 * columns a purge, a rename and a check find its rows.
 */
const TABLES_WITHOUT_ENTITIES = [
  'answers',
  'attempts',
  'cursors',
  'deliveries',
  'ended_sessions',
  'handoffs',
  'known_places',
  'notes',
  'purges',
  'rates',
  'tasks',
  'undone',
  'waits',
  'work',
]

/** A value for a column, in a row about an Entity that never existed. */
function sampleOf({ name, kind }: OwnColumn, entity: string): string {
  if (kind === 'integer') return name === 'entity_id' ? '95' : '1'
  return kind === 'datetime' ? `'2026-06-02T17:00:00.000Z'` : `'${name} of ${entity}'`
}

/** The search index, changed directly, past its triggers. */
const SEARCH = `"${searchName('notes', ['title~'])}"`
const unsearched: typeof damages = [
  [
    'an entry too few in the search index',
    [`INSERT INTO ${SEARCH} (${SEARCH}, rowid, "title~") VALUES ('delete', 1, ' first  note ')`],
    'notes/1',
    /not found by its search words/,
  ],
  [
    'an entry too many in the search index',
    [`INSERT INTO ${SEARCH} (rowid, "title~") VALUES (99, ' ghost ')`],
    'notes',
    /entries in its search index that no row has words for/,
  ],
]

async function fill(server: TestServer): Promise<void> {
  const once = { headers: { 'Idempotency-Key': 'once' } }
  const add = (body: object) => server.expect(201, 'POST', '/api/notes/', body)
  await add({ title: 'First note', pin: 'one secret pin' })
  await add({ title: 'Second', place: { city: 'Bern' } })
  await add({ title: 'Third', parent: { id: 1 }, friends: [{ id: 1 }, { id: 2 }] })
  await add({ title: 'Fourth', count: 4 })
  await add({ title: 'Fifth' })
  await add({ title: 'Sechste Straße 東京都 💥 Ωμέγα 𝒳𐐀' })
  await server.expect(200, 'PATCH', '/api/notes/3/', { parent: { id: 4 } })
  await server.expect(200, 'PATCH', '/api/notes/1/', { pin: 'another secret pin' }, once)
  for (const id of [4, 5]) await server.expect(200, 'DELETE', `/api/notes/${id}/`)
  await server.expect(204, 'DELETE', '/api/notes/5/?purge=1')
}

/** Of a database that nobody is connected to. */
async function copyOf(store: string, original: TestDatabase): Promise<TestDatabase> {
  if (store === 'postgres') return newPostgresDatabase(original)
  const folder = newFolder()
  cpSync(dirname(new URL(original.url).pathname), folder, { recursive: true })
  return newDatabase(store, folder)
}

onEveryStoreByHand('takeback check', (store) => {
  giant('names each kind of damage, and nothing else', async () => {
    const database = await newDatabase(store, newFolder())
    const server = new TestServer(store, declaration, {}, database)
    await server.start()
    await fill(server)
    await server.stop()
    const location = readConfig({ database: database.url }, {}).database
    expect((await check(location)).findings).toEqual([])
    const all = store === 'sqlite' ? [...damages, ...unsearched] : sample(damages, 3)
    for (const [name, statements, where, what] of all) {
      const damaged = await copyOf(store, database)
      const place = readConfig({ database: damaged.url }, {}).database
      for (const statement of statements) await damaged.query(statement)
      const { findings } = await check(place)
      expect([name, findings.map((one) => `${one.where} ${one.what}`)]).toEqual([
        name,
        expect.arrayContaining([expect.stringMatching(new RegExp(`^${where} .*${what.source}`))]),
      ])
      expect([name, findings.length <= 3]).toEqual([name, true])
      await damaged.remove()
    }
    // Damage in the original database, too.
    await database.query(`UPDATE notes SET "title~" = ' wrong ' WHERE id = 1`)
    const { code, out, err } = await run(['check', '--database', database.url])
    expect([code, out]).toEqual([
      1,
      expect.stringContaining('notes/1 has search words that do not match its title'),
    ])
    expect(err).toContain('is not sound')
    const json = await run(['check', '--json', '--database', database.url])
    expect([json.code, JSON.parse(json.out).sound]).toEqual([1, false])
    await database.remove()
  })

  test('checks every own table that names Entities', async () => {
    const database = await newDatabase(store, newFolder())
    const server = new TestServer(store, declaration, {}, database)
    await server.start()
    await server.stop()
    const expected: string[] = []
    const add = async ({ name, columns, key, numbered }: OwnTable, entity: string) => {
      const own = columns.filter((column) => !(numbered && key.includes(column.name)))
      const values = own.map((column) =>
        column.name === 'entity' ? `'${entity}'` : sampleOf(column, entity),
      )
      const names = own.map((column) => `"${column.name}"`)
      await database.query(`INSERT INTO ${name} (${names}) VALUES (${values}) RETURNING 1 AS n`)
      expected.push(`${name} ${entity}`)
    }
    for (const table of aboutEntities.filter(({ name }) => name !== 'takeback_journal')) {
      await add(table, 'ghosts')
      if (table.columns.some(({ name }) => name === 'entity_id')) await add(table, 'notes')
    }
    const { findings } = await check(readConfig({ database: database.url }, {}).database)
    const found = findings.map(({ where, what }) => `${where} ${/ghosts|notes/.exec(what)}`)
    expect([...new Set(found)].sort()).toEqual(expected.sort())
    const others = ownTables.filter((table) => !aboutEntities.includes(table))
    expect(others.map(({ name }) => name.replace('takeback_', '')).sort()).toEqual(TABLES_WITHOUT_ENTITIES)
    await database.remove()
  })

  test('no table names a second Entity, which purges, renames and checks would not find', () => {
    const named = ownTables.flatMap(({ name, columns }) =>
      columns.filter((column) => /entity|_id$/.test(column.name)).map((column) => `${name} ${column.name}`),
    )
    const first = new Set(aboutEntities.flatMap(({ name }) => [`${name} entity`, `${name} entity_id`]))
    // `actor_id` names who acted. It stays in the journal after a purge.
    expect(named.filter((one) => !first.has(one))).toEqual(['takeback_journal actor_id'])
  })

  test('accepts the changes of migrations, also in a backup', async () => {
    const database = await newDatabase(store, newFolder())
    const server = new TestServer(store, declaration, {}, database)
    await server.start()
    await fill(server)
    for (const [at, next] of later.entries()) {
      await server.restart(next)
      await server.expect(201, 'POST', '/api/notes/', { title: `later ${at}` })
      const { findings } = await check(await server.location())
      expect([at, findings]).toEqual([at, []])
    }
    const file = join(newFolder(), 'a.db')
    await makeBackup(await server.location(), file, { version: 'test' })
    const { code, out } = await run(['check', '--database', `sqlite:${file}`])
    expect([code, out]).toEqual([0, `${file} is sound: 2 Entity types, all as in the journal.\n`])
    await server.remove()
  })
})
