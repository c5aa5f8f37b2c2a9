import { setPriority } from 'node:os'
import { join } from 'node:path'
import type { BackupPlan, Config } from '../config.ts'
import { StartError } from '../errors.ts'
import type { Observer } from '../observe/observer.ts'
import { dropBackups } from '../store/backup/keep.ts'
import { type Backup, discardUnfinished } from '../store/backup/make.ts'
import { addressOf, isMemory } from '../store/location.ts'
import type { Recurring } from '../work/recurring.ts'
import { backupName } from './backup.ts'
import { ownCommand } from './own-command.ts'

const PRIORITY = 10

/** The scheduled backups of a server, if any. One instance makes them at a time, each in a separate process. */
export function backupWork(config: Config, observer: Observer): Recurring | undefined {
  const plan = config.backups
  if (plan === undefined) return undefined
  if (isMemory(config.database))
    throw new StartError('--backup-every needs a database on disk, not one in memory.')
  return {
    name: 'backup',
    every: plan.everyMs,
    async run({ signal }) {
      const began = performance.now()
      const made = await spawn(join(plan.folder, backupName(new Date())), plan, config, signal)
      const ms = Math.round(performance.now() - began)
      const { file, bytes, rows, lastChange } = made
      observer.emit({ kind: 'backup_made', file, bytes, rows, lastChange: lastChange?.seq ?? 0, ms })
      for (const old of await dropBackups(plan.folder, plan.keep, file))
        observer.emit({ kind: 'backup_removed', file: old })
    },
  }
}

/**
 * The address of the database may contain a password, so it is passed in the environment: others can see arguments. An
 * interrupted backup is abandoned, and the next instance makes it.
 */
async function spawn(
  file: string,
  { passphraseFile }: BackupPlan,
  { database }: Config,
  signal: AbortSignal,
): Promise<Backup> {
  const sealing = passphraseFile === undefined ? [] : ['--passphrase-file', passphraseFile]
  const child = Bun.spawn(ownCommand(['backup', '--json', '--to', file, ...sealing]), {
    env: { ...process.env, TAKEBACK_DATABASE: addressOf(database) },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    signal,
    killSignal: 'SIGKILL',
  })
  try {
    // The backup gets a lower priority than the server.
    setPriority(child.pid, PRIORITY)
  } catch {
    // Setting a priority may be forbidden.
  }
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  if (code !== 0) {
    discardUnfinished(file, child.pid)
    throw new StartError(err.trim() || `The backup ended with ${code}.`)
  }
  return JSON.parse(out) as Backup
}
