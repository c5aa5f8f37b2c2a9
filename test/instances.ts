import { afterAll, afterEach, beforeAll } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServerEvent } from '../src/observe/events.ts'
import { Observer } from '../src/observe/observer.ts'
import type { Store } from '../src/store/store.ts'
import { app, entity, text } from '../src/takeback.ts'
import { type Task, taskParams } from '../src/work/queues.ts'
import { Runner } from '../src/work/runner.ts'
import { newDatabase, onEveryStoreByHand, type TestDatabase, TestServer } from './harness.ts'
import { type ShiftedClock, shiftedClock } from './shifted-clock.ts'

export const declaration = app({ entities: { notes: entity({ fields: { text: text() } }) } })

/** An instance that only does background work. */
export interface Instance {
  readonly runner: Runner
  readonly store: Store
  readonly events: ServerEvent[]
  end(): Promise<void>
}

type Row = Record<string, unknown>

/** A database, and any number of instances on it. */
export class Instances {
  readonly store: string
  readonly #all = new Set<Instance>()
  readonly #folder = mkdtempSync(join(tmpdir(), 'takeback-test-'))
  #server: TestServer | undefined
  #database: TestDatabase | undefined
  #clock: ShiftedClock | undefined
  #names = 0

  constructor(store: string) {
    this.store = store
  }

  async start(): Promise<void> {
    this.#database = await newDatabase(this.store, this.#folder)
    this.#clock = await shiftedClock(this.store, this.#database)
    this.#server = new TestServer(this.store, declaration, {}, this.#database)
    await this.#server.start()
  }

  async reset(): Promise<void> {
    await this.clock.right()
    for (const one of this.#all) await one.end()
  }

  async remove(): Promise<void> {
    await this.server.remove()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  get server(): TestServer {
    if (this.#server === undefined) throw new Error('not started')
    return this.#server
  }

  get database(): TestDatabase {
    if (this.#database === undefined) throw new Error('not started')
    return this.#database
  }

  get clock(): ShiftedClock {
    if (this.#clock === undefined) throw new Error('not started')
    return this.#clock
  }

  /** Returns a name of work or a queue that no other test uses. */
  newName(what: string): string {
    return `${what} ${++this.#names}`
  }

  async one(settings: { leaseMs?: number; lookMs?: number } = {}): Promise<Instance> {
    const store = await this.server.openStore()
    const observer = new Observer()
    const events: ServerEvent[] = []
    observer.subscribe((event) => events.push(event))
    const runner = new Runner(store, { observer, lookMs: 100, ...settings })
    const made: Instance = {
      runner,
      store,
      events,
      end: async () => {
        this.#all.delete(made)
        await runner.stop()
        await store.close()
      },
    }
    this.#all.add(made)
    return made
  }

  /** Starts several instances with the same work. */
  async several(
    number: number,
    prepare: (one: Instance, at: number) => void,
  ): Promise<[Instance, ...Instance[]]> {
    const made: [Instance, ...Instance[]] = [await this.one()]
    while (made.length < number) made.push(await this.one())
    for (const [at, one] of made.entries()) {
      prepare(one, at)
      one.runner.start()
    }
    return made
  }

  /** The tasks of a queue. */
  tasks(queue: string): Promise<Row[]> {
    return this.database.query('SELECT * FROM takeback_tasks WHERE queue = $1 ORDER BY id', queue)
  }

  /** Returns the row of recurring work. */
  async work(name: string): Promise<Row> {
    return (await this.database.query('SELECT * FROM takeback_work WHERE name = $1', name))[0] ?? {}
  }
}

export async function enqueue({ store, runner }: Instance, ...tasks: Task[]): Promise<void> {
  await store.write([runner.enqueue], taskParams(tasks))
  runner.wake()
}

/** Runs tests of background work once for each database. */
export function onInstances(feature: string, tests: (instances: Instances) => void): void {
  onEveryStoreByHand(feature, (store) => {
    const instances = new Instances(store)
    beforeAll(() => instances.start())
    afterEach(() => instances.reset())
    afterAll(() => instances.remove())
    tests(instances)
  })
}
