import { afterAll } from 'bun:test'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { weakenHashes } from './hashes.ts'
import { endPostgres } from './postgres.ts'

weakenHashes()

// While a test waits for something that keeps no process running, such as a timer of background work, Bun asks over and
// over whether it has come, and takes a whole core for that. With a timer of our own it sleeps until then.
setInterval(() => {}, 3_600_000)

// Here it is once for the whole run; in a test file it would be once for each of them. With several processes
// (`test/run.ts`) it is once for each file.
afterAll(endPostgres, 60_000)

// What tests leave in the folder for temporary files goes with this one. `test/run.ts` has made one.
if (process.env.TAKEBACK_TEST_FOLDER === undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'takeback-tests-'))
  // As root it is another user that runs PostgreSQL there.
  chmodSync(folder, 0o755)
  process.env.TMPDIR = folder
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
}
