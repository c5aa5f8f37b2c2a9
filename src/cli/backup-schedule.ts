import { setPriority } from 'node:os'
import { join } from 'node:path'
import type { BackupPlan, Config } from '../config.ts'
import { StartError } from '../errors.ts'
import type { Observer } from '../observe/observer.ts'
import { dropBackups } from '../store/backup/keep.ts'
import { type Backup, discardUnfinished } from '../store/backup/make.ts'
import { Lease } from '../store/lease.ts'
import { addressOf, isMemory } from '../store/location.ts'
import { BACKUP } from '../store/migration/memory.ts'
import { compile, id, param, sql, word } from '../store/sql.ts'
import { step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import { backupName } from './backup.ts'

/** How often to check whether a backup is due. */
const LOOK_MS = 60_000
const RETRY_MS = 10 * 60_000
const PRIORITY = 10

const LEASE_KEY = `${BACKUP} turn`
const MADE = `${BACKUP} made`

/** The scheduled backups of a server: one instance makes them at a time, each in a separate process. */
export class BackupSchedule {
  readonly #store: Store
  readonly #config: Config
  readonly #observer: Observer
  readonly #lease: Lease
  #timer: Timer | undefined
  #child: Bun.Subprocess | undefined
  #running: Promise<void> | undefined
  #failedAt: number | undefined
  #stopped = false

  constructor(store: Store, config: Config, observer: Observer) {
    if (config.backups !== undefined && isMemory(config.database))
      throw new StartError('--backup-every needs a database on disk, not one in memory.')
    this.#store = store
    this.#config = config
    this.#observer = observer
    this.#lease = new Lease(store, LEASE_KEY)
  }

  start(): void {
    const plan = this.#config.backups
    if (plan === undefined) return
    const look = () => {
      this.#running ??= this.#makeWhenDue(plan)
        .catch((error) => {
          this.#failedAt = performance.now()
          if (!this.#stopped) this.#observer.emit({ kind: 'work_failed', work: 'backup', error })
        })
        .finally(() => {
          this.#running = undefined
        })
    }
    this.#timer = setInterval(look, Math.min(LOOK_MS, plan.everyMs))
    this.#timer.unref()
    look()
  }

  /** A running backup is abandoned: the next start makes it. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#timer)
    this.#child?.kill('SIGKILL')
    await this.#running
  }

  async #makeWhenDue(plan: BackupPlan): Promise<void> {
    const retryMs = Math.min(RETRY_MS, plan.everyMs)
    if (this.#failedAt !== undefined && performance.now() - this.#failedAt < retryMs) return
    if (!(await this.#isDue(plan)) || !(await this.#takeLease())) return
    const renewal = setInterval(() => this.#takeLease().catch(() => {}), Lease.RENEW_MS)
    renewal.unref()
    try {
      // Another instance may have made it before it released the lease.
      if (await this.#isDue(plan)) await this.#make(plan)
    } finally {
      clearInterval(renewal)
      if (!this.#stopped) await this.#lease.giveBack()
    }
  }

  /** A last backup in the future was made by a wrong clock, and is ignored. */
  async #isDue({ everyMs }: BackupPlan): Promise<boolean> {
    const [row] = await this.#store.read(
      compile(
        sql`SELECT "value" FROM ${id('takeback_meta')} WHERE "key" = ${word(MADE)}`,
        this.#store.dialect.placeholder,
      ),
      {},
    )
    const ago = row === undefined ? Number.POSITIVE_INFINITY : Date.now() - Date.parse(String(row[0]))
    return ago >= everyMs || ago < 0
  }

  async #takeLease(): Promise<boolean> {
    return !this.#stopped && (await this.#lease.take())
  }

  async #make(plan: BackupPlan): Promise<void> {
    const now = new Date()
    const began = performance.now()
    const made = await this.#spawn(join(plan.folder, backupName(now)), plan)
    const ms = Math.round(performance.now() - began)
    this.#failedAt = undefined
    await this.#store.write([this.#noteMade()], { $value: now.toISOString() })
    const { file, bytes, rows, lastChange } = made
    this.#observer.emit({ kind: 'backup_made', file, bytes, rows, lastChange: lastChange?.seq ?? 0, ms })
    for (const old of await dropBackups(plan.folder, plan.keep, file))
      this.#observer.emit({ kind: 'backup_removed', file: old })
  }

  #noteMade() {
    return step(
      this.#store.dialect,
      'made',
      'any',
      sql`INSERT INTO ${id('takeback_meta')} ("key", "value") VALUES (${word(MADE)}, ${param('$value')})
        ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value"`,
    )
  }

  /** The address may contain a password, so it is passed in the environment: others can see arguments. */
  async #spawn(file: string, { passphraseFile }: BackupPlan): Promise<Backup> {
    const sealing = passphraseFile === undefined ? [] : ['--passphrase-file', passphraseFile]
    const child = Bun.spawn(
      [process.execPath, join(import.meta.dir, 'main.ts'), 'backup', '--json', '--to', file, ...sealing],
      {
        env: { ...process.env, TAKEBACK_DATABASE: addressOf(this.#config.database) },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      },
    )
    this.#child = child
    try {
      // Lower than that of the server.
      setPriority(child.pid, PRIORITY)
    } catch {
      // It may be forbidden.
    }
    const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
    this.#child = undefined
    if (code !== 0) {
      discardUnfinished(file, child.pid)
      throw new StartError(err.trim() || `The backup ended with ${code}.`)
    }
    return JSON.parse(out) as Backup
  }
}
