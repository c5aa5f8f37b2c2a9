import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually, onEveryStoreByHand } from '../harness.ts'
import { readPage } from '../markdown.ts'
import { freePort } from '../ports.ts'
import { Receiver, SECRET } from '../webhook-receiver.ts'
import { databaseWithOwnTables, newFolder, run, serve } from './process.ts'

const config = `import { app, entity, env, everyone, text } from 'takeback'
export default app({
  entities: { orders: entity({ fields: { title: text() }, access: { create: everyone, read: everyone } }) },
  webhooks: { erp: { to: env('ERP_URL'), secret: env('ERP_SECRET'), on: ['orders.*'], allow: ['127.0.0.1'] } },
})`

/** Writes the config to its own folder. */
function configFile(): string {
  const file = join(newFolder(), 'takeback.config.ts')
  writeFileSync(file, config)
  return file
}

async function create(url: string, title: string): Promise<string> {
  const response = await fetch(`${url}/api/orders/`, {
    method: 'POST',
    headers: { Accept: '*/*', 'Content-Type': 'application/json' },
    body: JSON.stringify({ title }),
  })
  return response.headers.get('Takeback-Operation') ?? ''
}

onEveryStoreByHand('webhooks of processes', (store) => {
  test('kill -9 between commits and deliveries: everything comes at least once, and in order', async () => {
    const erp = new Receiver()
    const database = await databaseWithOwnTables(store, newFolder())
    const args = ['--config', configFile(), '--database', database.url]
    const env = { ERP_URL: `http://u:hidden@${erp.host}/takeback`, ERP_SECRET: SECRET }
    const operations: string[] = []
    for (let round = 0; round < 3; round++) {
      const server = await serve(args, { env })
      const { promise, resolve } = Promise.withResolvers<void>()
      for (let at = 0; at < 5; at++) {
        // The last ones are committed, but their delivery gets no answer.
        if (at === 2 + round) erp.wait = promise
        operations.push(await create(server.url, `${round} ${at}`))
      }
      await server.end('SIGKILL')
      erp.wait = undefined
      resolve()
      // As if the lease of the killed process had expired.
      await database.query('UPDATE takeback_tasks SET next_at = at WHERE holder IS NOT NULL')
    }
    const server = await serve(args, { env })
    await eventually(async () => (await database.query('SELECT 1 FROM takeback_tasks')).length === 0)
    await eventually(() => erp.told.at(-1)?.id === operations.at(-1))
    const ids = erp.told.map(({ id }) => id)
    expect(ids.filter((id, at) => id !== ids[at - 1])).toEqual(operations)

    await server.end()
    await database.remove()
    await erp.stop()
  })
})

test('the command line shows deliveries, and sends operations again', async () => {
  const erp = new Receiver()
  const env = { ERP_URL: `http://u:hidden@${erp.host}/takeback`, ERP_SECRET: SECRET }
  const args = ['--config', configFile(), '--database', `sqlite:${join(newFolder(), 'test.db')}`]
  const server = await serve(args, { env })
  const cli = (...words: string[]) => run([...words, ...args], { env })
  const operation = await create(server.url, 'listed')
  let listed = ''
  await eventually(() => erp.told.length === 1)
  await eventually(async () => {
    listed = (await cli('webhooks', 'list')).out
    return listed.includes('0 waiting') && listed.includes('answered 200')
  })
  expect(listed).toMatch(
    /^erp {2}http:\/\/127\.0\.0\.1:\d+ {2}0 waiting, 0 set aside\n {4}\S+Z {2}\S+ {2}attempt 1 {2}answered 200 {2}\d+ ms\n$/,
  )
  const logged = await cli('webhooks', 'list', 'erp', '--json')
  expect(JSON.parse(logged.out)).toMatchObject([{ operation, attempt: 1, status: 200, error: null }])
  expect((await cli('webhooks', 'resend', 'erp', operation)).out).toContain('will be sent again')
  await eventually(() => erp.told.length === 2)
  expect(erp.told.map(({ id }) => id)).toEqual([operation, operation])
  expect((await cli('webhooks', 'resend', 'erp', '--aside')).out).toBe('0 operations will be sent again.\n')
  const unknown = await Promise.all([
    cli('webhooks', 'resend', 'erp', 'nothing'),
    cli('webhooks', 'resend', 'erq', '--aside'),
    cli('webhooks', 'resend', 'erp'),
  ])
  expect(unknown.map(({ code, err }) => [code, err])).toEqual([
    [1, 'There is no operation nothing to send to erp.\n'],
    [1, 'There is no webhook "erq"; did you mean "erp"? (there are: erp).\n'],
    [1, expect.stringContaining('Name a webhook and an operation')],
  ])
  expect(server.said() + listed + logged.out).not.toContain('hidden')
  await server.end()
  await erp.stop()
})

test('an environment variable that is missing is named with its place', async () => {
  const { code, err } = await run(['serve', '--config', configFile()], {
    env: { ERP_URL: 'https://erp.test' },
  })
  expect(code).toBe(1)
  expect(err).toMatch(/line 4, column \d+: the environment variable ERP_SECRET is not set/)
})

test('the documented receiver verifies signatures', async () => {
  const [, source = ''] = /```js\n([\s\S]*?)```/.exec(readPage('docs/webhooks.md')) ?? []
  const file = join(newFolder(), 'receiver.mjs')
  writeFileSync(file, source)
  const port = freePort()
  const receiver = Bun.spawn(['node', file], {
    env: { PATH: process.env.PATH ?? '', ERP_SECRET: SECRET, PORT: String(port) },
    stdout: 'pipe',
  })
  let out = ''
  const gather = (async () => {
    for await (const chunk of receiver.stdout) out += new TextDecoder().decode(chunk)
  })()
  const url = `http://127.0.0.1:${port}/`
  await eventually(() =>
    fetch(url, { method: 'POST', body: '{}' }).then(
      ({ status }) => status === 401,
      () => false,
    ),
  )
  const env = { ERP_URL: url, ERP_SECRET: SECRET }
  const server = await serve(['--config', configFile(), '--database', 'sqlite::memory:'], { env })
  const operation = await create(server.url, 'signed')
  await eventually(() => out.includes(`${operation} 1\n`))
  await server.end()
  receiver.kill()
  await gather
})
