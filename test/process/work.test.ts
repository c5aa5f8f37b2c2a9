import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { openStore } from '../../src/store/open.ts'
import { type Task, taskParams } from '../../src/work/queues.ts'
import { Runner } from '../../src/work/runner.ts'
import { eventually, onEveryStoreByHand, type TestDatabase } from '../harness.ts'
import { newFolder, prepared } from './process.ts'
import type { WorkerSettings } from './worker.ts'

/** Long enough for a busy machine, and short enough to wait for. */
const LEASE_MS = 3000

/** Starts a process that does background work, and collects its output. */
function worker(settings: WorkerSettings) {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'worker.ts'), JSON.stringify(settings)], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let out = ''
  const gather = (async () => {
    for await (const chunk of child.stdout) out += new TextDecoder().decode(chunk)
  })()
  return {
    child,
    said: (line: string) => out.includes(line),
    async end(signal: NodeJS.Signals = 'SIGTERM') {
      child.kill(signal)
      await child.exited
      await gather
    },
  }
}

onEveryStoreByHand('background work of processes', (store) => {
  async function start() {
    const { database } = await prepared(store)
    await database.query('CREATE TABLE effects (what text, who text)')
    return { database, url: database.url, go: join(newFolder(), 'go') }
  }
  const effects = async ({ query }: TestDatabase) =>
    (await query('SELECT what, who FROM effects ORDER BY what, who')).map(
      ({ what, who }) => `${what} by ${who}`,
    )
  async function enqueue(url: string, ...tasks: Task[]): Promise<void> {
    const opened = await openStore(readConfig({ database: url }, {}).database)
    await opened.write([new Runner(opened).enqueue], taskParams(tasks))
    await opened.close()
  }

  test('kill -9 of the holder: others take over when its lease ends, each thing once', async () => {
    const { database, url, go } = await start()
    await enqueue(url, { queue: 'tasks', payload: 1 }, { queue: 'tasks', key: 'k', payload: 2 })
    const first = worker({ url, name: 'first', leaseMs: LEASE_MS, waitFor: go })
    await eventually(() => ['recurring', 'task 1', 'task 2'].every((what) => first.said(`begun ${what}`)))
    const others = ['second', 'third'].map((name) => worker({ url, name, leaseMs: LEASE_MS }))
    await eventually(() => others.every(({ said }) => said('ready')))
    await Bun.sleep(LEASE_MS)
    // It is alive, so it keeps its leases.
    expect(others.some(({ said }) => said('begun'))).toBe(false)
    const killed = performance.now()
    await first.end('SIGKILL')
    await eventually(async () => (await effects(database)).length === 3)
    expect(performance.now() - killed).toBeLessThan(10 * LEASE_MS)
    await Bun.sleep(500)
    expect((await effects(database)).map((one) => one.replace(/second|third/, 'another'))).toEqual([
      'recurring by another',
      'task 1 by another',
      'task 2 by another',
    ])
    expect(await database.query('SELECT * FROM takeback_tasks')).toEqual([])
    for (const other of others) await other.end()
    await database.remove()
  })

  test('kill -9 of everybody: the next start goes on', async () => {
    const { database, url, go } = await start()
    await enqueue(url, { queue: 'tasks', payload: 1 })
    for (let round = 1; round <= 2; round++) {
      const one = worker({ url, name: `one ${round}`, leaseMs: LEASE_MS, waitFor: go })
      await eventually(() => one.said('begun recurring') && one.said('begun task 1'))
      await one.end('SIGKILL')
    }
    const last = worker({ url, name: 'last', leaseMs: LEASE_MS })
    await eventually(async () => (await effects(database)).length === 2)
    expect(await effects(database)).toEqual(['recurring by last', 'task 1 by last'])
    await last.end()
    await database.remove()
  })

  /** Freezes a holder until another has taken over; then it continues as if nothing had happened. */
  async function thaw(unfenced: boolean) {
    const { database, url, go } = await start()
    await enqueue(url, { queue: 'tasks', payload: 1 })
    const frozen = worker({ url, name: 'frozen', leaseMs: LEASE_MS, waitFor: go, unfenced })
    await eventually(() => frozen.said('begun recurring') && frozen.said('begun task 1'))
    frozen.child.kill('SIGSTOP')
    const other = worker({ url, name: 'other', leaseMs: LEASE_MS })
    await eventually(async () => (await effects(database)).length === 2)
    writeFileSync(go, '')
    frozen.child.kill('SIGCONT')
    const end = unfenced ? 'written' : 'refused'
    await eventually(() => frozen.said(`${end} recurring`) && frozen.said(`${end} task 1`))
    const found = await effects(database)
    await frozen.end()
    await other.end()
    await database.remove()
    return found
  }

  test('a holder that was frozen writes nothing once another has taken over', async () => {
    expect(await thaw(false)).toEqual(['recurring by other', 'task 1 by other'])
  })

  test('without the fence it would, so the test above proves something', async () => {
    expect(await thaw(true)).toEqual([
      'recurring by frozen',
      'recurring by other',
      'task 1 by frozen',
      'task 1 by other',
    ])
  })
})
