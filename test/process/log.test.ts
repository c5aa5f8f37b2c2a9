import { expect, test } from 'bun:test'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../harness.ts'
import { freePort } from '../ports.ts'
import { newFolder, prepared, takeback } from './process.ts'

/** Starts a server whose standard output is redirected by the shell. */
async function serveTo(output: string) {
  const { database, args } = await prepared('sqlite')
  const port = freePort()
  const child = takeback(['serve', '--port', String(port), '--log', 'json', '--drain', '0', ...args], {
    direct: true,
    shell: `exec > ${output}`,
  })
  const ask = () => fetch(`http://127.0.0.1:${port}/api/health`, { headers: { Accept: '*/*' } })
  return { database, child, ask }
}

async function askMany(ask: () => Promise<Response>, times: number): Promise<void> {
  for (let at = 0; at < times; at++) expect((await ask()).status).toBe(200)
}

test('a log on a full disk does not stop the server', async () => {
  const { database, child, ask } = await serveTo('/dev/full')
  await eventually(async () => (await ask().catch(() => undefined))?.status === 200)
  await askMany(ask, 100)
  await Bun.sleep(200)
  await askMany(ask, 100)
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
  await database.remove()
})

test('a reader of the log that has ended does not stop the server, and the next one is told how much it missed', async () => {
  const pipe = join(newFolder(), 'log')
  Bun.spawnSync(['mkfifo', pipe])
  const first = Bun.spawn(['head', '-n', '1', pipe])
  const { database, child, ask } = await serveTo(pipe)
  expect(await first.exited).toBe(0)
  await askMany(ask, 100)
  await Bun.sleep(200)
  let text = ''
  const second = createReadStream(pipe, 'utf8').on('data', (chunk) => {
    text += chunk
  })
  await eventually(async () => {
    await askMany(ask, 1)
    return text.includes('could not be written')
  })
  const lines = text.split('\n').filter((line) => line !== '')
  const dropped = lines.map((line) => Number((JSON.parse(line) as { dropped?: number }).dropped ?? 0))
  expect(Math.max(...dropped)).toBeGreaterThanOrEqual(100)
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
  second.destroy()
  await database.remove()
})

test('a reader of the log that hangs does not stop the server, or hold up its end', async () => {
  const pipe = join(newFolder(), 'log')
  Bun.spawnSync(['mkfifo', pipe])
  const reader = createReadStream(pipe)
  const { database, child, ask } = await serveTo(pipe)
  await new Promise((resolve) => reader.once('data', resolve))
  reader.pause()
  await askMany(ask, 1500)
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
  reader.destroy()
  await database.remove()
})
