import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { budget } from '../../src/budget.ts'
import { eventually, onEveryStoreByHand, runs } from '../harness.ts'
import { databaseWithOwnTables, newFolder, run, runHere, serve } from './process.ts'

const ROUNDS = Math.min(runs(15), 100)

const config = `import { app, entity, everyone, integer, text } from 'takeback'
export default app({
  entities: {
    orders: entity({ fields: { total: integer() }, access: { create: everyone, read: everyone } }),
    marks: entity({ fields: { order: integer() }, access: { read: everyone } }),
    wild: entity({ fields: { name: text() }, access: { create: everyone }, before: {
      create({ name }) {
        if (name === 'reject') void Promise.reject(new Error('nobody waits for this'))
        if (name === 'timer') setTimeout(() => { throw new Error('nobody hears this') }, 1)
      },
    } }),
  },
  reactions: {
    async 'orders.create'({ after, api }) { await api.marks.create({ order: after.id }) },
  },
  jobs: { nightly: { every: '0 3 * * *', async run({ api }) { await api.marks.create({ order: 0 }) } } },
})`

const headers = { Accept: 'application/json', 'Content-Type': 'application/json' }

const started = async (store: string) => {
  const folder = newFolder()
  const database = await databaseWithOwnTables(store, folder)
  const file = join(folder, 'takeback.config.ts')
  writeFileSync(file, config)
  return { database, args: ['--config', file, '--database', database.url] }
}
const post = (url: string, path: string, body: object) =>
  fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })

onEveryStoreByHand('code in processes', (store) => {
  test('kill -9 between commit and reaction: every order is reacted to at least once', async () => {
    const { database, args } = await started(store)
    const acknowledged: number[] = []
    const order = async (url: string) => {
      const response = await post(url, '/api/orders/', { total: 1 })
      const { id } = (await response.json()) as { id: number }
      acknowledged.push(id)
    }
    for (let round = 0; round < ROUNDS; round++) {
      const server = await serve(args)
      const sent = Array.from({ length: 4 }, () => order(server.url).catch(() => {}))
      await Promise.race(sent)
      await Bun.sleep(Math.random() * 30)
      await server.end('SIGKILL')
      await Promise.all(sent)
    }
    // As if the leases of the killed process had expired.
    const past = '2020-01-01T00:00:00.000Z'
    await database.query(`UPDATE takeback_tasks SET next_at = '${past}' WHERE holder IS NOT NULL`)
    const server = await serve(args)
    const all = (await database.query('SELECT id FROM orders')).map(({ id }) => Number(id))
    await eventually(async () => {
      const marks = await database.query('SELECT "order" FROM marks')
      const marked = new Set(marks.map(({ order }) => Number(order)))
      return all.every((id) => marked.has(id))
    })
    expect(acknowledged.length).toBeGreaterThanOrEqual(ROUNDS)
    expect(acknowledged.filter((id) => !all.includes(id))).toEqual([])
    await server.end()
  })
})

test('what nobody waits for does not end the server; jobs and reactions on the command line', async () => {
  const { database, args } = await started('sqlite')
  const server = await serve(args)
  for (const name of ['reject', 'timer', 'fine'])
    expect((await post(server.url, '/api/wild/', { name })).status).toBe(201)
  await eventually(
    () => /nobody waits for this/.test(server.said()) && /nobody hears this/.test(server.said()),
  )
  expect((await post(server.url, '/api/wild/', { name: 'fine' })).status).toBe(201)
  await server.end()
  const began = performance.now()
  expect((await run(['jobs', 'run', 'nightly', ...args])).out).toBe('nightly has run.\n')
  // The command ends with the job: it does not go on waiting for work to stop.
  expect(performance.now() - began).toBeLessThan(budget.workStopMs)
  expect(await database.query('SELECT "order" FROM marks')).toEqual([{ order: 0 }])
  const listed = await runHere(['jobs', 'list', ...args])
  expect(listed.out).toMatch(
    /^nightly {2}0 3 \* \* \* \(UTC\) {2}last \d{4}-\S+ {2}next \d{4}-\S+T03:00:00.000Z\n$/,
  )
  expect((await runHere(['jobs', 'run', 'nigthly', ...args])).err).toContain('did you mean "nightly"?')
  expect((await run(['reactions', 'list', ...args])).out).toBe('0 set aside, 0 waiting, 0 running.\n')
  expect((await runHere(['reactions', 'retry', '5', ...args])).err).toContain('5 is not set aside')
  expect((await runHere(['reactions', 'retry', '--all', ...args])).out).toBe('0 reactions will be retried.\n')
})
