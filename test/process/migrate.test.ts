import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onEveryStoreByHand } from '../harness.ts'
import { databaseWithOwnTables, newFolder, run, runHere, takeback } from './process.ts'

const declared = (fields: string) => `import { app, decimal, entity, integer, text } from 'takeback'
export default app({ admins: 'admins', entities: {
  admins: entity({ login: { userType: 'admin' }, fields: {} }),
  things: entity({ fields: { ${fields} } }),
} })
`

onEveryStoreByHand('takeback migrate', (store) => {
  async function prepared(...declarations: string[]) {
    const folder = newFolder()
    const database = await databaseWithOwnTables(store, folder)
    const files = declarations.map((fields, at) => {
      const file = join(folder, `${at}.config.ts`)
      writeFileSync(file, declared(fields))
      return file
    })
    const migrate = (at: number, ...flags: string[]) => [
      'migrate',
      '--config',
      files[at] ?? '',
      '--database',
      database.url,
      ...flags,
    ]
    expect((await runHere(migrate(0, '--apply'))).code).toBe(0)
    return { database, migrate }
  }

  test('shows the plan, does it when told, and drops what is aside when that is meant', async () => {
    const { database, migrate } = await prepared(
      'a: text(), b: integer({ optional: true })',
      "c: text({ was: 'a' })",
      'c: integer()',
    )
    await database.query(
      "INSERT INTO things (a, version, created_at, updated_at) VALUES ('x', 1, $1, $1)",
      '2026-01-01T00:00:00.000Z',
    )
    const shown = await run(migrate(1))
    expect([shown.code, shown.err]).toEqual([0, ''])
    expect(shown.out.split('\n').slice(1)).toEqual([
      '',
      '  safe     things.c is the new name of a',
      '  aside    things.b is no longer declared: it leaves the API, but its data is kept',
      '',
      'Run "takeback migrate --apply" to migrate now; the next "takeback serve" does it too.',
      '',
    ])
    expect(shown.out).toContain(': 1 safe, 1 kept aside, 0 refused.\n')
    expect((await run(migrate(1, '--apply'))).out).toEndWith('\n\nDone.\n')

    const refused = await run(migrate(2, '--json'))
    expect([refused.code, refused.err]).toEqual([
      1,
      'The database cannot be migrated while a change is refused.\n',
    ])
    expect(JSON.parse(refused.out)).toEqual({
      safe: 0,
      aside: 1,
      refused: 1,
      older: false,
      applied: false,
      declaration: expect.any(String),
      lines: [
        {
          effect: 'refused',
          path: 'things.c',
          what: 'holds values of the type text and cannot become values of the type integer: declare it as it was, or choose another name. To give up its data, leave it out of the declaration first, then drop it with "takeback migrate --drop things.c"',
        },
        { effect: 'aside', path: 'things.b', what: 'is kept aside' },
      ],
    })

    const unasked = await run(migrate(1, '--drop', 'things.b'))
    expect([unasked.code, unasked.err]).toEqual([1, 'There is no terminal to ask on: confirm with --yes.\n'])
    expect((await runHere(migrate(1, '--drop', 'things.b', '--yes'))).out).toBe(
      'things.b will be dropped for good, with the data of 1 row.\nDropped.\n',
    )
    expect((await runHere(migrate(1))).out).toEndWith(
      '0 safe, 0 kept aside, 0 refused.\n\nThe database is up to date.\n',
    )
    await database.remove()
  })

  test('says how many rows get a default, and which rows stand against it', async () => {
    const { database, migrate } = await prepared(
      'a: text(), b: integer({ optional: true })',
      'a: text(), b: integer({ default: 1 }), c: text({ default: "x" })',
      'a: text({ min: 2 }), b: integer({ optional: true })',
    )
    const rows = 200
    for (let row = 1; row <= rows; row++)
      await database.query(
        'INSERT INTO things (a, b, version, created_at, updated_at) VALUES ($1, $2, 1, $3, $3)',
        'x',
        row === 1 ? 5 : null,
        '2026-01-01T00:00:00.000Z',
      )
    const { out } = await runHere(migrate(1))
    expect(out).toContain('things.c is new: 200 rows get the default "x"\n')
    expect(out).toContain('things.b is empty in existing rows: 199 rows get the default 1\n')
    expect(out).toContain('things.b is no longer optional\n')
    expect(out).not.toContain('is optional now')
    const refused = JSON.parse((await runHere(migrate(2, '--json'))).out).lines
    expect(refused).toHaveLength(1)
    expect(refused[0]).toMatchObject({
      effect: 'refused',
      path: 'things.a',
      rows,
      ids: Array.from({ length: rows }, (_, at) => at + 1),
    })
    expect(refused[0].what).toContain('(things/1, things/2, things/3, things/4, things/5 and 195 more)')
    expect((await runHere(migrate(1, '--apply'))).code).toBe(0)
    await database.remove()
  })

  test('says what is searched and indexed', async () => {
    const { database, migrate } = await prepared(
      'a: text(), n: integer()',
      'a: text({ search: true }), n: integer() }, index: [["n", "-created_at"]], access: {',
    )
    const lines = async (at: number) =>
      JSON.parse((await runHere(migrate(at, '--json'))).out).lines.map(
        ({ path, what }: Record<string, string>) => `${path} ${what}`,
      )
    expect(await lines(1)).toEqual(['things.a is searched now', 'things.n+-created_at is indexed now'])
    expect((await runHere(migrate(1, '--apply'))).code).toBe(0)
    expect(await lines(1)).toEqual([])
    expect(await lines(0)).toEqual([
      'things.a is no longer searched',
      'things.n+-created_at is no longer indexed',
    ])
    expect((await runHere(migrate(0, '--apply'))).code).toBe(0)
    expect(await lines(0)).toEqual([])
    await database.remove()
  })

  test('goes back past a rename only where the declaration says so', async () => {
    const { database, migrate } = await prepared(
      'a: text({ optional: true })',
      "b: text({ optional: true, was: 'a' })",
      "a: text({ optional: true, was: 'b' })",
    )
    expect((await runHere(migrate(1, '--apply'))).code).toBe(0)
    const back = await runHere(migrate(0, '--apply'))
    expect([back.code, back.err]).toEqual([1, 'The database cannot be migrated while a change is refused.\n'])
    expect(back.out.split('\n').slice(1)).toEqual([
      '',
      "  refused  things.a was renamed to b, and b is no longer declared: write was: 'b' here to keep its data. If you mean a new field, first apply the declaration without a",
      '',
    ])
    expect((await runHere(migrate(2, '--apply'))).out).toContain('things.a is the new name of b')
    await database.remove()
  })

  test('killed in the middle, it leaves the old structure or the new one', async () => {
    const { database, migrate } = await prepared(
      'n: integer({ unique: true }), a: text()',
      "n: text({ unique: true }), b: text({ was: 'a' }), d: decimal({ default: '1.5' })",
    )
    await database.query(
      `INSERT INTO things (n, a, version, created_at, updated_at)
        WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 30000)
        SELECT n, 'a' || n, 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' FROM i`,
    )
    for (let round = 0; round < 4; round++) {
      const child = takeback(migrate(1, '--apply'), { direct: true })
      await Bun.sleep(150 + round * 100 + Math.random() * 100)
      child.kill('SIGKILL')
      await child.exited
      // A database server may take a moment to notice.
      const plan = await runHere(migrate(1, '--json'))
      expect([plan.code, [0, 3]]).toEqual([0, expect.arrayContaining([JSON.parse(plan.out).safe])])
    }
    expect((await runHere(migrate(1, '--apply'))).code).toBe(0)
    const [last] = await database.query('SELECT n, b, d FROM things ORDER BY id DESC LIMIT 1')
    expect(last).toMatchObject({ n: '30000', b: 'a30000' })
    await database.remove()
  })
})
