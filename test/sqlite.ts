import { Database } from 'bun:sqlite'
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { TestDatabase } from './harness.ts'

/** Returns a database in a file, whose folder is removed with it. */
export function sqliteFile(file: string): TestDatabase {
  let kept: Database | undefined
  let isKept = false
  return {
    url: `sqlite:${file}`,
    async query(text, ...values) {
      const database = kept ?? open(file)
      if (isKept) kept = database
      try {
        // In SQLite, `$1` is a name, and `?1` is the first value.
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
  // These writes need not reach the disk.
  database.run('PRAGMA synchronous = OFF')
  return database
}

/** Retries while the database is locked: a server in this process could not go on while SQLite itself waits. */
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
