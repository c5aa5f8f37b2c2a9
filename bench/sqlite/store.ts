import { Database as File } from 'bun:sqlite'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Bound } from '../../src/store/dialect.ts'
import { type PlanRow, planOf } from '../../test/plans.ts'
import { fillOf, type Rows } from '../fill.ts'
import { folder } from '../processes.ts'
import { type BenchStore, COUNT, type Counts, type Database } from '../store.ts'

/** Databases as files in the folder of the run, which is removed at its end. */
export const sqlite: BenchStore = {
  async describe() {
    const file = new File(':memory:')
    const version = file.query<{ version: string }, []>('SELECT sqlite_version() AS version').get()?.version
    file.close()
    return `SQLite ${version}, synchronous = FULL`
  },
  make: async (name) => fileOf(name),
  async close() {},
}

function fileOf(name: string): Database {
  const path = join(folder, `${name}.db`)
  return {
    url: `sqlite:${path}`,
    async fill(rows) {
      fill(path, rows)
    },
    async copy(other) {
      const copy = join(folder, `${other}.db`)
      copyFileSync(path, copy)
      return fileOf(other)
    },
    async explain(text, values) {
      const file = new File(path, { readonly: true })
      try {
        return await planOf(
          'sqlite',
          async (asked, ...bound) => file.query<PlanRow, Bound[]>(asked).all(...bound),
          text,
          values,
        )
      } finally {
        file.close()
      }
    },
    async count() {
      const file = new File(path, { readonly: true })
      try {
        return file.query<Counts, []>(COUNT).get() ?? { bookings: 0, journal: 0 }
      } finally {
        file.close()
      }
    },
  }
}

function fill(path: string, rows: Rows): void {
  const file = new File(path, { readwrite: true, strict: true })
  // Nothing here has to survive a power cut. The server sets its own pragmas.
  for (const pragma of ['journal_mode = OFF', 'synchronous = OFF', 'cache_size = -200000'])
    file.run(`PRAGMA ${pragma}`)
  file.transaction(() => {
    for (const statement of fillOf(rows)) file.run(statement)
  })()
  file.close()
}
