/*
 * An instance that only does background work, for tests that end or freeze its process. Its settings come as JSON; it
 * prints a line for each thing that it does.
 */
import { existsSync } from 'node:fs'
import { readConfig } from '../../src/config.ts'
import { openStore } from '../../src/store/open.ts'
import { param, sql } from '../../src/store/sql.ts'
import { step } from '../../src/store/step.ts'
import type { Job } from '../../src/work/job.ts'
import { Runner } from '../../src/work/runner.ts'

export interface WorkerSettings {
  readonly url: string
  readonly name: string
  readonly leaseMs: number
  /** A file that the work waits for before it writes. Without it, it writes at once. */
  readonly waitFor?: string
  /** Whether it writes without the fence, which refuses writes after a lost lease. */
  readonly unfenced?: boolean
}

const settings = JSON.parse(process.argv[2] ?? '{}') as WorkerSettings
const store = await openStore(readConfig({ database: settings.url }, {}).database)
const runner = new Runner(store, { leaseMs: settings.leaseMs, lookMs: 50 })
const say = (line: string) => process.stdout.write(`${line}\n`)

const insert = step(
  store.dialect,
  'insert',
  'any',
  sql`INSERT INTO effects ("what", "who") VALUES (${param('$what')}, ${param('$who')})`,
)

/** Writes that the work was done. It ignores the signal to stop. */
async function effect(what: string, job: Job): Promise<void> {
  say(`begun ${what}`)
  if (settings.waitFor !== undefined) while (!existsSync(settings.waitFor)) await Bun.sleep(20)
  try {
    const to = settings.unfenced ? store : job.store
    await to.write([insert], { $what: what, $who: settings.name })
    say(`written ${what}`)
  } catch (error) {
    say(`refused ${what}: ${error}`)
    throw error
  }
}

runner.add({ name: 'recurring', every: 3_600_000, run: (job) => effect('recurring', job) })
runner.handle({ name: 'tasks', run: (job) => effect(`task ${job.payload}`, job) })
runner.start()
// Background work alone does not keep a process running.
setInterval(() => {}, 1000)
process.on('SIGTERM', async () => {
  await runner.stop()
  await store.close()
  process.exit(0)
})
say('ready')
