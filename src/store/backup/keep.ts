import { readdirSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { openReadOnly } from '../sqlite/backup.ts'
import { readRecord } from './record.ts'

/** An unfinished file that nobody has written to for so long counts as left behind. */
const ABANDONED_MS = 24 * 60 * 60 * 1000

/**
 * Removes old backups of the same database as `newest`: all but `keep`. Only files that can be read as backups count,
 * so that damaged ones never push out good ones. The newest one always stays. Returns the removed files.
 */
export async function dropBackups(folder: string, keep: number, newest: string): Promise<string[]> {
  const names = readdirSync(folder).sort().reverse()
  const from = await sourceOf(newest)
  const others: string[] = []
  for (const name of names) {
    const file = join(folder, name)
    if (!/^takeback-[\dTZ-]+\.db$/.test(name) || file === newest) continue
    if ((await sourceOf(file)) === from) others.push(file)
  }
  const old = others.slice(keep - 1)
  for (const file of old) rmSync(file)
  return old
}

/**
 * Removes temporary files that killed backups, and killed restores to the same file, left behind: they contain all
 * data. A file that cannot be removed or seen stays. That is no reason to make no backup.
 */
export function dropAbandoned(file: string): void {
  const folder = dirname(file)
  for (const name of attempt(() => readdirSync(folder)) ?? [])
    attempt(() => {
      if (isAbandoned(folder, name, basename(file))) rmSync(join(folder, name), { force: true })
    })
}

function attempt<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch {
    return undefined
  }
}

function isAbandoned(folder: string, name: string, wanted: string): boolean {
  const [, made = ''] = /^(.+)\.\d+\.partial(?:-journal|-wal|-shm)?$/.exec(name) ?? []
  if (made !== wanted && !/^takeback-[\dTZ-]+\.db$/.test(made)) return false
  const stat = statSync(join(folder, name), { throwIfNoEntry: false })
  return stat !== undefined && Date.now() - stat.mtimeMs > ABANDONED_MS
}

/** The database that a backup is of; undefined if the file is no backup or cannot be read. */
async function sourceOf(file: string): Promise<string | undefined> {
  try {
    const { structure, close } = openReadOnly(file)
    try {
      return (await structure.transact('read', readRecord))?.from
    } finally {
      close()
    }
  } catch {
    return undefined
  }
}
