import { Database } from 'bun:sqlite'
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { TestDatabase } from './harness.ts'

/** A file in a folder of its own, which goes with it. */
export function sqliteFile(file: string): TestDatabase {
  return {
    url: `sqlite:${file}`,
    async query(text, ...values) {
      const database = new Database(file)
      // Nobody waits for these to be on disk.
      database.run('PRAGMA synchronous = OFF')
      try {
        // To SQLite `$1` is a name, and `?1` the first.
        const statement = database.query(text.replace(/\$(\d+)/g, '?$1'))
        return await whenUnlocked(() => statement.all(...values) as Record<string, unknown>[])
      } finally {
        database.close()
      }
    },
    async remove() {
      rmSync(dirname(file), { recursive: true, force: true })
    },
  }
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
