import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openApp } from '../../src/app.ts'
import { tryCases } from '../../src/cli/rule-cases.ts'
import { readConfig } from '../../src/config.ts'
import { resolve } from '../../src/declare/resolve.ts'
import { StartError } from '../../src/errors.ts'
import { app, boolean, entity, everyone, integer, list, object, ref, text } from '../../src/takeback.ts'
import { newDatabase, onEveryStoreByHand } from '../harness.ts'
import { newFolder, root, run } from './process.ts'

const example = join(root, 'examples', 'bookings', 'takeback.rules.ts')

onEveryStoreByHand('takeback rules test', (store) => {
  test('tries the cases of the example on an empty database, and on no other', async () => {
    const database = await newDatabase(store, newFolder())
    const args = ['rules', 'test', example, '--database', database.url]
    expect(await run(args)).toMatchObject({ code: 0, out: 'All 17 cases hold.\n', err: '' })
    const { code, out, err } = await run(args)
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain('is not empty: rules are tried on an empty database.')
    await database.remove()
  })
})

test('what fails is said in plain words, and the exit code is 1', async () => {
  const folder = newFolder()
  writeFileSync(
    join(folder, 'takeback.rules.ts'),
    `import { cases } from 'takeback'
import config from ${JSON.stringify(join(root, 'examples', 'bookings', 'takeback.config.ts'))}
export default cases(config, {
  given: { users: { anna: { name: 'Anna' } }, rooms: { attic: { title: 'Attic', beds: 2 } } },
  cases: [{ as: 'users/anna', may: ['update rooms/attic', 'list rooms'], mayNot: ['read rooms/attic'] }],
})`,
  )
  expect(await run(['rules', 'test'], { cwd: folder })).toMatchObject({
    code: 1,
    out: `users/anna may not update rooms/attic, but should: You may not do this.
    rooms.access.update: no rule, so admins only
users/anna may read rooms/attic, but should not.\n`,
    err: '2 of 3 cases failed.\n',
  })
  expect((await run(['rules', 'test', 'no.ts'], { cwd: folder })).err).toContain(
    'no.ts: name the file with the cases: takeback rules test FILE.',
  )
})

const declared = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user' }, fields: { boss: ref('users', { optional: true }) } }),
    teams: entity({
      fields: {
        name: text({ max: 9 }),
        members: list(ref('users'), { default: [] }),
        info: object({
          lead: ref('users', { optional: true, onDelete: 'clear' }),
          size: integer({ default: 1 }),
        }),
        open: boolean({ default: true, write: 'info.lead.id == me.id' }),
      },
      access: {
        create: everyone,
        read: 'me.id in members',
        update: 'me.id in members',
        delete: 'info.lead.id == me.id',
      },
    }),
  },
})

/** Returns the failed cases, or the mistake in them. */
async function tried(given: unknown, cases: unknown, deleted?: unknown): Promise<string | readonly string[]> {
  const opened = await openApp(readConfig({ database: 'sqlite::memory:' }, {}), resolve(declared))
  try {
    return (await tryCases(opened.context, { given, cases, deleted })).failed
  } catch (error) {
    if (error instanceof StartError) return error.message
    throw error
  } finally {
    await opened.close()
  }
}

test('names stand for ids, in any order, and only rules count as a reason', async () => {
  const given = {
    teams: {
      red: { name: 'red', members: ['ann', 'users/bob'], info: { lead: 'ann' } },
      old: { name: 'old', info: {} },
    },
    users: { bob: { boss: 'ann' }, ann: {} },
  }
  const cases = [
    {
      as: 'users/bob',
      may: [
        'read teams/red',
        ['update teams/red', { name: 'new', members: { $add: ['ann'] } }],
        ['create teams', { name: 'x', info: { lead: 'bob' } }],
      ],
      mayNot: ['delete teams/red', ['update teams/red', { open: false }], 'list users', 'restore teams/old'],
    },
    { as: 'users/ann', may: [['update teams/red', { open: false }], 'delete teams/red'] },
    { as: 'nobody', mayNot: ['read teams/red'] },
  ]
  expect(await tried(given, cases, ['teams/old'])).toEqual([])
  expect(
    await tried(
      given,
      [
        { as: 'users/bob', mayNot: ['read teams/old'] },
        { as: 'users/ann', mayNot: [['update teams/red', { name: 'much too long' }]] },
        { as: 'nobody', may: [['create teams', { name: 3 }]] },
      ],
      ['teams/old'],
    ),
  ).toEqual([
    'users/bob may not read teams/old, but not because of a rule: There is nothing here.',
    'users/ann may not update teams/red with {"name":"much too long"}, but not because of a rule: Invalid Data\n    name must have at most 9 characters',
    'nobody may not create teams with {"name":3}, but should: Invalid Data\n    name must be a text\n    info is required',
  ])
})

test('mistakes in the cases have their place', async () => {
  const given = { users: { ann: {} }, teams: { red: { name: 'red', info: {} } } }
  const asked = (question: unknown, as = 'users/ann') => tried(given, [{ as, may: [question] }])
  expect(await asked('read teams/rde')).toBe(
    'cases.0.may.0: there is no "teams/rde" in given; did you mean "teams/red"?',
  )
  expect(await asked('raed teams/red')).toStartWith('cases.0.may.0: action must be one of list, create, read')
  expect(await asked('read team/red')).toStartWith(
    'cases.0.may.0: "team/red" is not of a declared Entity type',
  )
  expect(await asked('read')).toBe(
    "cases.0.may.0 must be an action and a name, such as 'read bookings/monday'.",
  )
  expect(await asked('read teams')).toBe('cases.0.may.0: path must have an id: teams/7.')
  expect(await asked(['read teams/red', {}])).toBe('cases.0.may.0: body is only for create and update.')
  expect(await asked('list teams', 'teams/red')).toBe(
    'cases.0.as: teams/red cannot sign in: teams have no login.',
  )
  expect(await tried({ teams: { red: { nme: 'x' } } }, [])).toStartWith(
    'given: teams/red cannot be created: Invalid Data\n    name is required',
  )
  expect(await tried({ users: { a: { boss: 'b' }, b: { boss: 'a' } } }, [])).toBe(
    'given: users/a and users/b refer to each other, so none can be created first.',
  )
  expect(await tried({ users: { a: { boss: 'c' } } }, [])).toBe(
    'given.users.a, boss: there is no "users/c" in given; did you mean "users/a"?',
  )
  expect(await tried({ nothing: { a: {} } }, [])).toStartWith(
    'given: "nothing" is not a declared Entity type',
  )
  expect(await tried(3, [])).toStartWith('given must have names by type')
  expect(await tried({}, 3)).toStartWith('cases must be a list')
})
