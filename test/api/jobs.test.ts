import { expect, test } from 'bun:test'
import { openApp } from '../../src/app.ts'
import { runNow } from '../../src/cli/jobs.ts'
import { readConfig } from '../../src/config.ts'
import { resolve } from '../../src/declare/resolve.ts'
import { app, entity, text } from '../../src/takeback.ts'
import { eventually, onEveryStore } from '../harness.ts'

/** How often each job ran, and what the next run of `wrong` does. */
const runs = { nightly: 0 }
let wrong: () => unknown = () => undefined

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    notes: entity({ fields: { title: text() } }),
  },
  jobs: {
    nightly: {
      every: '0 3 * * *',
      zone: 'Europe/Berlin',
      async run({ api }) {
        runs.nightly++
        await api.notes.create({ title: 'by a job' })
      },
    },
    wrong: { every: '0 0 1 1 *', run: () => wrong() },
  },
})

onEveryStore('jobs', declaration, (server) => {
  const state = async (name: string) => (await server.context.work.state()).recurring[`jobs/${name}`]
  /** Runs another process on the same database. */
  const other = async (run: (app: Awaited<ReturnType<typeof openApp>>) => Promise<void>) => {
    const another = await openApp(
      readConfig({ database: await server.databaseUrl() }, {}),
      resolve(declaration),
    )
    try {
      await run(another)
    } finally {
      await another.close()
    }
  }

  test('a job waits for its time, and writes as itself', async () => {
    await eventually(async () => (await state('nightly'))?.next !== undefined)
    const before = runs.nightly
    expect((await state('nightly'))?.last).toBeNull()
    await server.context.work.bringForward('jobs/nightly')
    await eventually(async () => (await server.rows('notes')) === 1)
    const { data } = await server.expect(200, 'GET', '/api/operations/?actor=jobs/nightly')
    expect(data).toMatchObject([{ actor: 'jobs/nightly', summary: { notes: { create: 1 } } }])
    await eventually(async () => (await state('nightly'))?.holder === null)
    expect(runs.nightly).toBe(before + 1)
  })

  test('one that fails is named, and tried again', async () => {
    wrong = async () => {
      throw new Error('no luck')
    }
    await server.context.work.bringForward('jobs/wrong')
    await eventually(async () => (await state('wrong'))?.status === 'failed')
    expect((await state('wrong'))?.message).toBe('jobs/wrong failed: no luck')
    await eventually(() => server.logged.join('').includes('The background work \\"jobs/wrong\\" failed'))
    wrong = () => undefined
    await eventually(async () => (await state('wrong'))?.status === 'ok')
  })

  test('one that was missed runs once after a start; from the command line at any time', async () => {
    await server.stop()
    const before = runs.nightly
    await server.query(
      `UPDATE takeback_work SET next_at = '2020-01-01T00:00:00.000Z' WHERE name = 'jobs/nightly'`,
    )
    await server.start()
    await eventually(async () => runs.nightly > before && (await state('nightly'))?.holder === null)
    expect(runs.nightly).toBe(before + 1)
    // This server or the other process runs it, whichever is faster.
    await other((another) => runNow(another, 'nightly'))
    expect(runs.nightly).toBe(before + 2)
    wrong = () => Promise.reject(new Error('again'))
    await server.stop()
    await other(async (another) => {
      await expect(runNow(another, 'wrong')).rejects.toThrow('wrong has failed: jobs/wrong failed: again')
      await another.context.work.stop()
      await expect(runNow(another, 'nigthly')).rejects.toThrow(
        'There is no job "nigthly"; did you mean "nightly"? (there are: nightly, wrong).',
      )
    })
    wrong = () => undefined
    await server.start()
  })

  test('one that runs from the command line leaves what waits to the server, however long that is stopped', async () => {
    await server.stop()
    const long = new Date(Date.now() - 3 * 24 * 3600_000).toISOString()
    for (const queue of ['mail', 'reactions'])
      await server.query(
        'INSERT INTO takeback_tasks (queue, payload, at, next_at, fence, attempts) SELECT $1, $2, $3, $3, 0, 0',
        queue,
        'null',
        long,
      )
    await other((another) => runNow(another, 'nightly'))
    const waiting = await server.query('SELECT queue, aside_at FROM takeback_tasks ORDER BY queue')
    expect(waiting).toEqual([
      { queue: 'mail', aside_at: null },
      { queue: 'reactions', aside_at: null },
    ])
    await server.query('DELETE FROM takeback_tasks')
    await server.start()
  })
})

test('times are those of the zone, across summer and winter time', () => {
  const jobs = {
    job: { every: '30 2 * * *', zone: 'Europe/Berlin', run() {} },
    utc: { every: '0 3 * * *', run() {} },
  }
  const [job, utc] = resolve({ entities: { notes: { fields: {} } }, jobs }).code.jobs
  const after = (time: string) => job?.next(new Date(time)).toISOString()
  expect(after('2026-03-27T12:00:00Z')).toBe('2026-03-28T01:30:00.000Z')
  expect(after('2026-03-28T12:00:00Z')).toBe('2026-03-29T01:30:00.000Z')
  expect(after('2026-03-29T12:00:00Z')).toBe('2026-03-30T00:30:00.000Z')
  expect(after('2026-10-24T12:00:00Z')).toBe('2026-10-25T00:30:00.000Z')
  expect(after('2026-10-25T00:31:00Z')).toBe('2026-10-26T01:30:00.000Z')
  expect(utc?.next(new Date('2026-10-25T00:31:00Z')).toISOString()).toBe('2026-10-25T03:00:00.000Z')
})

test('a job that is wrong is named at the start, with what would be right', () => {
  const run = () => {}
  const jobs = {
    Nightly: { every: '* * * * *', run },
    a: { every: 'daily', run },
    b: { every: '0 25 * * *', run, zone: 'Europe/Berln' },
    c: { every: '0 0 30 2 *', run },
    d: { run },
    e: { every: '* * * * *' },
    f: { every: '* * * * * *', run, evry: 1 },
  }
  const fields =
    "must be five fields: minute, hour, day, month, weekday, such as '0 3 * * *' for every night at three"
  expect(() => resolve({ entities: { notes: { fields: {} } }, jobs })).toThrow(
    [
      'jobs.Nightly: must be named with lower-case letters, digits, _ and -, starting with a letter',
      `jobs.a.every: ${fields} (expected 5 space-separated fields (minute hour day month weekday))`,
      "jobs.b.zone: is not a time zone: did you mean 'Europe/Berlin'?",
      `jobs.b.every: ${fields} (value out of range for field)`,
      'jobs.c.every: never happens: there is no such date',
      `jobs.d.every: ${fields}`,
      "jobs.e: must be a job: { every: '0 3 * * *', async run({ api }) { … } }",
      'jobs.f.evry: is not an option of a job; did you mean "every"?',
      `jobs.f.every: ${fields} (too many fields)`,
    ].join('\n  '),
  )
})
