import { afterAll } from 'bun:test'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { weakenHashes } from './hashes.ts'
import { endPostgres } from './postgres.ts'

weakenHashes()

// While a test waits for something that keeps no process running, such as a timer of background work, Bun polls for it,
// which takes a whole core. With a timer of our own, it sleeps.
setInterval(() => {}, 3_600_000)

// Once for the whole run; in a test file it would run once per file. With several processes (`test/run.ts`) it is once
// per file.
afterAll(endPostgres, 60_000)

// Temporary files of tests are in this folder, and are removed with it. `test/run.ts` makes its own.
if (process.env.TAKEBACK_TEST_FOLDER === undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'takeback-tests-'))
  // If this is root, PostgreSQL runs there as another user.
  chmodSync(folder, 0o755)
  process.env.TMPDIR = folder
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
}
