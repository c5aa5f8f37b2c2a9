import { Database } from 'bun:sqlite'
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { TestDatabase } from './harness.ts'

/** A file in a folder of its own, which goes with it. */
export function sqliteFile(file: string): TestDatabase {
  let kept: Database | undefined
  let isKept = false
  return {
    url: `sqlite:${file}`,
    async query(text, ...values) {
      const database = kept ?? open(file)
      if (isKept) kept = database
      try {
        // To SQLite `$1` is a name, and `?1` the first.
        using statement = database.prepare(text.replace(/\$(\d+)/g, '?$1'))
        return await whenUnlocked(() => statement.all(...values) as Record<string, unknown>[])
      } finally {
        if (database !== kept) database.close()
      }
    },
    keepOpen(keep) {
      isKept = keep
      if (keep) return
      kept?.close()
      kept = undefined
    },
    async remove() {
      kept?.close()
      rmSync(dirname(file), { recursive: true, force: true })
    },
  }
}

function open(file: string): Database {
  const database = new Database(file)
  // Nobody waits for these to be on disk.
  database.run('PRAGMA synchronous = OFF')
  return database
}

/** A server writes whenever it wants to. One in this process could not go on while SQLite itself waits. */
async function whenUnlocked<T>(run: () => T): Promise<T> {
  for (;;) {
    try {
      return run()
    } catch (error) {
      if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error
      await Bun.sleep(5)
    }
  }
}
