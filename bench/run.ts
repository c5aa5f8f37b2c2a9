// npm run bench: compares Takeback with what this machine can do without it, in one table.
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { measureCascade } from './cascade.ts'
import { generator } from './generator.ts'
import { measureGrowth } from './growth.ts'
import { measureIsolation } from './isolation.ts'
import { measureJournal } from './journal.ts'
import { measureListeners } from './listeners.ts'
import { help, type Options, parseOptions, type StoreName } from './options.ts'
import { openPostgres } from './postgres/store.ts'
import { cleanUp, folder, pinned } from './processes.ts'
import { measureQueries } from './queries.ts'
import { measureRates } from './rates.ts'
import { sqlite } from './sqlite/store.ts'
import { measureStart } from './start.ts'
import type { BenchStore } from './store.ts'
import { type Line, median, milliseconds, tableOf, whole } from './table.ts'

/** The most that everything but the loads may take: after that, something hangs. */
const MINUTES_MAX = 10
/** A database server that takes longer to stop will stop by itself, once it sees that this process is gone. */
const CLOSE_MS = 20_000

/** Shows progress on a terminal; otherwise only the table is printed. */
function say(what: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${what} ...\n`)
}

/** Returns how long this disk takes for an fsync of a page, which limits the rate of creates. */
function fsyncTime(): number {
  const file = openSync(join(folder, 'fsync'), 'w')
  const page = Buffer.alloc(4096)
  const took = Array.from({ length: 50 }, () => {
    writeSync(file, page)
    const began = performance.now()
    fsyncSync(file)
    return performance.now() - began
  })
  closeSync(file)
  return median(took)
}

function describeMachine(): string {
  const cores = cpus()
  const memory = `${whole(totalmem() / 1024 ** 3)} GB`
  const apart = pinned ? 'server and load on a core each' : 'server and load share the cores'
  return `${cores.length} cores (${cores[0]?.model.trim() ?? 'unknown'}), ${memory}, fsync ${milliseconds(fsyncTime())}, Bun ${Bun.version}; load by ${generator}, ${apart}`
}

const open: Record<StoreName, () => Promise<BenchStore>> = {
  sqlite: async () => sqlite,
  postgres: openPostgres,
}
let store: BenchStore | undefined

async function measure(options: Options): Promise<void> {
  store = await open[options.store]()
  console.log(`${describeMachine()}\n${await store.describe()}`)
  const lines: Line[] = await measureRates(store, options, say)
  if (options.parts.has('start')) {
    say('start')
    lines.push(...(await measureStart(store, options)))
  }
  if (options.parts.has('growth')) lines.push(...(await measureGrowth(store, options, say)))
  if (options.parts.has('cascade')) {
    say('cascade')
    lines.push(...(await measureCascade(store, options)))
  }
  if (options.parts.has('journal')) {
    say('journal')
    lines.push(...(await measureJournal(store, options)))
  }
  if (options.parts.has('listeners')) {
    say('listeners')
    lines.push(...(await measureListeners(store, options)))
  }
  if (options.parts.has('isolation')) lines.push(...(await measureIsolation(store, options, say)))
  if (options.parts.has('queries')) lines.push(...(await measureQueries(store, options, say)))
  console.log(`\n${tableOf(lines)}`)
}

/** There are seven loads, on two servers each. */
function leaveInTime({ rounds, seconds }: Options): void {
  const minutes = MINUTES_MAX + Math.ceil((7 * 2 * (rounds + 1) * seconds) / 60)
  setTimeout(() => {
    console.error(`The bench was not done in ${minutes} minutes.`)
    void leave(1)
  }, minutes * 60_000)
}

let leaving = false

async function leave(code: number): Promise<void> {
  leaving = true
  cleanUp()
  await Promise.race([store?.close(), Bun.sleep(CLOSE_MS)]).catch((error) => console.error(error))
  process.exit(code)
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => leave(1))
try {
  const options = parseOptions(process.argv.slice(2))
  if (options === undefined) console.log(help)
  else {
    leaveInTime(options)
    await measure(options)
  }
  await leave(0)
} catch (error) {
  // Leaving ends the servers, which makes measurements fail.
  if (!leaving) {
    console.error(error instanceof Error ? error.message : error)
    await leave(1)
  }
}
