import type { Database } from 'bun:sqlite'
import { Failure, outdated } from '../../errors.ts'
import type { MaybePromise } from '../../maybe-promise.ts'
import { refuseAbandoned } from '../abandoned.ts'
import { NOTHING, type StoreAct, type StoreRequest } from '../act.ts'
import type { Params, Row } from '../dialect.ts'
import { MEMORY } from '../location.ts'
import type { Structure } from '../migration/structure.ts'
import { newSecret } from '../secret.ts'
import { SlowStatements } from '../slow-statements.ts'
import type { Statement } from '../sql.ts'
import type { Outcome, Step } from '../step.ts'
import type { Store } from '../store.ts'
import { retryWhileBusy } from './busy-retry.ts'
import { dialect } from './dialect.ts'
import { isBusy, meaningOf, unavailable } from './errors.ts'
import { lastSeq, suspect } from './files.ts'
import { GroupCommit, type GroupVerdict, type Waiting } from './group.ts'
import { JournalTime } from './journal-time.ts'
import { Mark } from './mark.ts'
import { checkpoint, checkpointWhenLarge, closeDatabase, LOG_BYTES, openDatabase } from './open.ts'
import { HERE, Placement, type ReadPlacement } from './placement.ts'
import { figuresOf, probeFile, probeLock } from './probe.ts'
import { WriteQueue } from './queue.ts'
import { Readers } from './readers.ts'
import { keepSecret, keptSecret } from './secret.ts'
import { bindParams, Statements } from './statements.ts'
import { structureOf } from './structure.ts'

const SCRUB_MS = 1000
/** A log beyond this size is kept by overlapping readers. */
const LOG_MAX_BYTES = 4 * LOG_BYTES
/** How many commits pass between two checks of the log's size. */
const COMMITS_PER_LOOK = 64

/** Connections left open after a failed write: closing them would write and sync again. */
const abandoned: Database[] = []

/**
 * One connection, used synchronously, so nothing ever sees half of a transaction. Writes that arrive in one turn of the
 * event loop share one commit and one fsync, and nobody is answered before it. Reads that could take long go to
 * readers, outside of this process.
 */
export class SqliteStore implements Store {
  readonly dialect = dialect
  readonly slow = new SlowStatements()
  readonly structure: Structure
  readonly settled = async (last: number) => last
  readonly #database: Database
  readonly #path: string
  readonly #statements: Statements
  readonly #time: JournalTime
  readonly #group: GroupCommit
  readonly #placement: Placement
  /** Undefined for data in memory. */
  readonly #readers: Readers | undefined
  readonly #onLost: (error: unknown) => void
  /** Undefined if there is no file. */
  readonly #mark: Mark | undefined
  readonly #queue: WriteQueue
  #lost: unknown
  #closed = false
  #scrubs = false
  #logBytes = LOG_BYTES
  #commits = 0
  /** The last change of the journal, including the transaction that is about to be committed. */
  #seq = 0
  #others = 0
  #lookedAt = -1
  #generation = Number.POSITIVE_INFINITY
  #outdated = false
  #dataVersion: unknown
  readonly #onCommit = new Set<() => void>()

  constructor(path: string, statementMs: number, onLost: (error: unknown) => void) {
    this.#path = path
    this.#database = openDatabase(path)
    this.#statements = new Statements(this.#database, this.slow)
    this.#time = new JournalTime(this.#statements)
    this.#group = new GroupCommit(this.#database, this.#statements, {
      begin: () => this.#begin(),
      end: () => this.#end(),
    })
    this.#queue = new WriteQueue({
      commit: (group) => this.#commit(group),
      failed: (error) => this.#failed(error),
      answered: () => {
        if (this.#commits % COMMITS_PER_LOOK === 0) this.#checkpoint()
      },
    })
    this.#placement = new Placement(this.#database)
    this.#readers = path === MEMORY ? undefined : new Readers(path, statementMs)
    this.#mark = path === MEMORY ? undefined : new Mark(path, lastSeq(this.#database))
    this.structure = structureOf(this.#database, {
      committed: () => this.#mark?.reached(lastSeq(this.#database)),
      failed: (error) => void this.#failed(error),
    })
    this.#onLost = onLost
  }

  /** Increases when other processes have committed to the same file. Checked at most once a millisecond. */
  get others(): number {
    const now = Math.trunc(performance.now())
    if (now !== this.#lookedAt) {
      this.#lookedAt = now
      const version = this.#statements.execute(dataVersion, {}).rows[0]?.[0]
      if (version !== this.#dataVersion) {
        this.#others++
        this.#end()
        const [row] = this.#statements.execute(since, {}).rows
        this.#outdated ||= Number(row?.[0] ?? 0) > this.#generation
      }
      this.#dataVersion = version
    }
    return this.#others
  }

  serve(generation: number): void {
    this.#generation = generation
    this.#end()
  }

  get recent(): number {
    return this.others < 0 ? 0 : this.#seq
  }

  onCommit(heard: () => void): () => void {
    this.#onCommit.add(heard)
    return () => this.#onCommit.delete(heard)
  }

  /** Refuses if another process has migrated to a structure that this server does not work with. */
  #refuseOutdated(): void {
    if (this.others >= 0 && this.#outdated) throw outdated()
  }

  async secret(): Promise<string | undefined> {
    if (this.#path === MEMORY) return undefined
    return keptSecret(this.#path)
  }

  async keepSecret(given?: string): Promise<string> {
    if (this.#path === MEMORY) return given ?? newSecret()
    return keepSecret(this.#path, given)
  }

  read(statement: Statement, params: Params): MaybePromise<readonly Row[]> {
    try {
      return this.#readNow(statement, params)
    } catch (error) {
      if (isBusy(error)) return this.#whenFree(() => this.#readNow(statement, params))
      throw this.#failed(error)
    }
  }

  #readNow(statement: Statement, params: Params): MaybePromise<readonly Row[]> {
    this.#refuseOutdated()
    const place = this.#placement.of(statement)
    if (place === HERE) return this.#statements.execute(statement, params).rows
    if (place.away && this.#readers !== undefined)
      return this.#readAway(this.#readers, place, statement, params)
    const began = performance.now()
    const { rows } = this.#statements.execute(statement, params)
    place.took(performance.now() - began)
    return rows
  }

  /** Retries work that locks of other processes prevent. */
  async #whenFree<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await retryWhileBusy(work)
    } catch (error) {
      throw this.#failed(error)
    }
  }

  async #readAway(
    readers: Readers,
    place: ReadPlacement,
    { text, paramNames }: Statement,
    params: Params,
  ): Promise<readonly Row[]> {
    try {
      const { rows, ms } = await readers.read(text, bindParams(paramNames, params))
      place.took(ms)
      this.slow.took(text, ms)
      return rows
    } catch (error) {
      const failed = this.#failed(error)
      // Another process may have changed the tables meanwhile.
      this.#lookedAt = -1
      this.#refuseOutdated()
      throw failed
    }
  }

  write(steps: readonly Step[], params: Params, signal?: AbortSignal): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const run = (at: string) => {
        // From here to the answer no byte is read, so the signal cannot be aborted in between.
        refuseAbandoned(signal)
        const outcome = this.#run(steps, params, at)
        return { keep: outcome.done, tell: () => resolve(outcome) }
      }
      this.#queue.add({ run, reject })
    })
  }

  transact<T>(make: () => StoreAct<T>, signal?: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = (at: string) => {
        refuseAbandoned(signal)
        const result = this.#drive(make(), at)
        return { keep: true, tell: () => resolve(result) }
      }
      this.#queue.add({ run, reject })
    })
  }

  async scrub(): Promise<void> {
    try {
      this.#refuseLost()
      // Readers keep the log: it is tried again a moment later, when they are done.
      if (!checkpoint(this.#database, 'TRUNCATE')) this.#scrubLater()
    } catch (error) {
      const failed = this.#failed(error)
      if (this.#lost !== undefined) throw failed
      this.#scrubLater()
    }
  }

  /** Rows that moved to another page may have left a copy in unused space, which no deletion reaches. */
  async vacuum(): Promise<void> {
    await this.#whenFree(() => this.#database.run('VACUUM'))
    await this.scrub()
  }

  #scrubLater(): void {
    setTimeout(() => this.#scrubWhenQuiet(), SCRUB_MS).unref()
  }

  /** Overlapping readers could keep the log forever: new ones wait until earlier ones are done. */
  #scrubWhenQuiet(): void {
    if (this.#scrubs || this.#closed) return
    this.#scrubs = true
    this.#readers?.whileQuiet(() => {
      this.#scrubs = false
      if (!this.#closed) this.scrub().catch(() => {})
    })
  }

  async ping(): Promise<void> {
    if (this.#lost !== undefined) throw new Failure('unavailable', { headers: { 'Retry-After': '1' } })
    await probeFile(this.#path).catch((error) => Promise.reject(unavailable(error)))
    await this.#whenFree(() => {
      this.#refuseOutdated()
      this.#statements.execute(anything, {})
      probeLock(this.#database)
    })
  }

  async figures(): Promise<Record<string, string | number>> {
    const { reading = 0, waiting = 0 } = this.#readers?.figures ?? {}
    return {
      kind: 'sqlite',
      ...(await figuresOf(this.#path)),
      reads_under_way: reading,
      reads_waiting: waiting,
    }
  }

  async close(): Promise<void> {
    await this.#queue.drain()
    this.#closed = true
    this.#readers?.close()
    if (this.#lost !== undefined) {
      abandoned.push(this.#database)
      this.#mark?.release()
      return
    }
    try {
      checkpoint(this.#database, 'TRUNCATE')
    } catch {
      // What is not in the file yet is in the log, and is read from there at the next start.
    }
    this.#statements.close()
    closeDatabase(this.#database, this.#path)
    this.#mark?.close()
  }

  #commit(group: readonly Waiting[]): readonly GroupVerdict[] {
    this.#refuseLost()
    const { verdicts, written } = this.#group.commit(group)
    if (written) {
      this.#commits++
      this.#mark?.reached(this.#seq)
      for (const heard of this.#onCommit) heard()
    }
    return verdicts
  }

  #refuseLost(): void {
    if (this.#lost !== undefined) throw this.#lost
  }

  #checkpoint(): void {
    try {
      this.#refuseLost()
      const size = checkpointWhenLarge(this.#database, this.#path, this.#logBytes)
      if (size > this.#logBytes) this.#mark?.sync()
      // While somebody reads, the log only grows. The next checkpoint waits until it has grown again, so that pages in
      // the file are not written there again and again.
      if (size > this.#logBytes) this.#logBytes = size + LOG_BYTES
      else if (size <= LOG_BYTES) this.#logBytes = LOG_BYTES
      if (size > LOG_MAX_BYTES) this.#scrubWhenQuiet()
    } catch (error) {
      this.#failed(error)
    }
  }

  /** The error to throw for a driver error. A failed write or fsync is never retried, and damage is recorded. */
  #failed(error: unknown): unknown {
    const meaning = meaningOf(error)
    if ((meaning.kind === 'lost' || meaning.kind === 'damaged') && this.#lost === undefined) {
      this.#lost = error
      if (meaning.kind === 'damaged') suspect(this.#path, String(error))
      this.#mark?.lost()
      // The last process to close the file would write and sync it again.
      this.#readers?.close()
      this.#onLost(error)
    }
    return 'failure' in meaning ? meaning.failure : error
  }

  /** Checks again for a migration, now that nobody else can write. */
  #begin(): string {
    this.#lookedAt = -1
    this.#refuseOutdated()
    return this.#time.now(this.#others)
  }

  #end(): void {
    this.#seq = Number(this.#statements.execute(journalEnd, {}).rows[0]?.[0] ?? 0)
  }

  /** Runs everything that it asks for at once, so that nobody sees half of it. */
  #drive<T>(work: StoreAct<T>, at: string): T {
    let next = work.next()
    while (!next.done) next = work.next(this.#reply(next.value, at))
    return next.value
  }

  #reply(request: StoreRequest, at: string): Outcome {
    if (request.kind === 'write') return this.#runWithin(request.steps, request.params, at)
    if (request.kind === 'read')
      return { done: true, rows: this.#statements.execute(request.statement, request.params).rows }
    for (const one of request.requests) request.outcomes.push(this.#reply(one, at))
    return NOTHING
  }

  /** Runs steps as part of a transaction that goes on even if they are refused. */
  #runWithin(steps: readonly Step[], params: Params, at: string): Outcome {
    this.#statements.run('SAVEPOINT part')
    const outcome = this.#run(steps, params, at)
    this.#statements.end('part', outcome.done)
    return outcome
  }

  #run(steps: readonly Step[], params: Params, at: string): Outcome {
    params.$at = at
    try {
      return this.#statements.runAll(steps, params)
    } catch (error) {
      if (meaningOf(error).kind === 'unique') return { done: false, step: 'unique', rows: [] }
      throw error
    }
  }
}

const since: Statement = {
  text: `SELECT "value" FROM "takeback_meta" WHERE "key" = 'since'`,
  paramNames: [],
}
const dataVersion: Statement = { text: 'PRAGMA data_version', paramNames: [] }
const anything: Statement = { text: 'SELECT 1 FROM "takeback_meta" LIMIT 1', paramNames: [] }
const journalEnd: Statement = {
  text: 'SELECT "seq" FROM "takeback_journal" ORDER BY "seq" DESC LIMIT 1',
  paramNames: [],
}
