import { expect, test } from 'bun:test'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandNames } from '../../src/cli/commands.ts'
import { newDatabase, onEveryStoreByHand } from '../harness.ts'
import { example, newFolder, prepared, root, run, runHere, serve } from './process.ts'

/** Commands that make or migrate a database, or need none. */
const OTHERS = [
  'serve',
  'dev',
  'init',
  'rules test',
  'types',
  'mcp',
  'migrate',
  'copy',
  'backup',
  'restore',
  'check',
  'user add',
  // These need no declaration.
  'sessions end',
  'vacuum',
]

const WORDS: Readonly<Record<string, readonly string[]>> = {
  'user list': ['admins'],
  'user unlock': ['admins', 'a@example.com'],
  'keys end': ['7'],
  history: ['rooms/1'],
  undo: ['--actor', 'system', '--yes'],
  'trash purge': ['--older-than', '1d', '--yes'],
  'jobs run': ['nightly'],
  'reactions retry': ['--all'],
  'retention confirm': ['--yes'],
  'webhooks resend': ['erp', '--aside'],
}

const commands = commandNames
  .filter((name) => !OTHERS.includes(name))
  .map((name) => [...name.split(' '), ...(WORDS[name] ?? [])])

/** Writes a declaration that has nothing in common with the example. */
function otherDeclaration(): string {
  const file = join(newFolder(), 'takeback.config.ts')
  writeFileSync(
    file,
    `import { app, entity, text } from '${root}/src/takeback.ts'
export default app({ admins: 'admins', entities: {
  admins: entity({ login: { userType: 'admin' }, fields: {} }),
  pets: entity({ fields: { name: text() } }),
} })`,
  )
  return file
}

onEveryStoreByHand('a command that is about the data', (store) => {
  test('does not migrate to another declaration, and says so', async () => {
    const { database, args } = await prepared(store)
    const config = ['--config', otherDeclaration(), '--database', database.url]
    const meta = async () => JSON.stringify(await database.query('SELECT * FROM takeback_meta ORDER BY key'))
    const before = await meta()
    for (const command of [
      ...commands,
      ['user', 'add', 'admins', 'b@example.com', '--password', 'a long password'],
    ]) {
      const { code, err } = await runHere([...command, ...config])
      expect([command, code, err]).toEqual([
        command,
        1,
        expect.stringContaining('is not that of the database'),
      ])
      expect(err).toContain('"takeback migrate" shows what differs')
    }
    expect(await meta()).toBe(before)
    await (await serve(args)).end()
  })

  test('makes no database', async () => {
    const folder = newFolder()
    const { url, query } = await newDatabase(store, folder)
    const looking = store === 'sqlite' ? [...commands, ['migrate', '--drop', 'rooms']] : commands
    for (const command of looking) {
      const { code, err } = await runHere([...command, '--config', example, '--database', url])
      const said = store === 'sqlite' ? `There is no ${folder}` : 'has no data of Takeback yet'
      expect([command, code, err]).toEqual([command, 1, expect.stringContaining(said)])
    }
    if (store === 'sqlite') expect(existsSync(folder) && readdirSync(folder)).toEqual([])
    else
      expect(await query("SELECT 1 FROM information_schema.tables WHERE table_schema = 'public'")).toEqual([])
  })
})

test('a process says it in one sentence', async () => {
  const path = join(newFolder(), 'none.db')
  const { code, out, err } = await run(['keys', 'list', '--config', example, '--database', `sqlite:${path}`])
  expect([code, out, err]).toEqual([1, '', `There is no ${path}.\n`])
  const nowhere = join(newFolder(), 'none.config.ts')
  for (const words of [['migrate'], ['migrate', '--apply'], ['user', 'list', 'admins']])
    expect((await runHere([...words, '--config', nowhere, '--database', `sqlite:${path}`])).err).toContain(
      nowhere,
    )
  expect(existsSync(path)).toBe(false)
})
