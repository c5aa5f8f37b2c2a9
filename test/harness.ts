import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context } from '../src/api/context.ts'
import { type Running, startApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import type { AppDeclaration } from '../src/declare/define.ts'
import type { Model } from '../src/declare/model.ts'
import { resolve } from '../src/declare/resolve.ts'
import { logOf } from '../src/observe/log.ts'
import { Observer } from '../src/observe/observer.ts'
import { nobody, system } from '../src/plan/viewer/actor.ts'
import type { Location } from '../src/store/location.ts'
import { openStore } from '../src/store/open.ts'
import type { Store } from '../src/store/store.ts'
import { addMember } from './members.ts'
import { newPostgresDatabase, newPreparedDatabase, startPostgres } from './postgres.ts'
import { isDeep, isFast } from './runs.ts'
import { sqliteFile } from './sqlite.ts'

export { isDeep, runs } from './runs.ts'

/** A real, empty database. */
export interface TestDatabase {
  readonly url: string
  /**
   * Queries the database directly, past the server: for side effects that no answer shows. `$1` is the first of the
   * values. All databases return the same types: numbers, texts and null.
   */
  query(text: string, ...values: (string | number | null)[]): Promise<Record<string, unknown>[]>
  /** Keeps a file open while a server runs on it, instead of opening it for every query. Without one, it is closed. */
  keepOpen?(keep: boolean): void
  remove(): Promise<void>
}

interface TestStore {
  /** Prepares what all databases of this store share. It may take longer than a test. */
  prepare?(): Promise<unknown>
  make(folder: string): Promise<TestDatabase>
  /** Makes a database with Takeback's own tables, if that is cheaper than creating them at the start. */
  makePrepared?(): Promise<TestDatabase>
}

/** The databases that every API test runs on. To add one, add its name, and a way to make an empty one. */
const stores: Record<string, TestStore> = {
  sqlite: { make: async (folder) => sqliteFile(join(folder, 'test.db')) },
  postgres: { prepare: startPostgres, make: () => newPostgresDatabase(), makePrepared: newPreparedDatabase },
}

/** Whether this run tests this store. */
export function isTested(store: string): boolean {
  return !isFast || store === 'sqlite'
}

/** A test that takes seconds by its nature: many rows, a thousand types. */
export const giant = test.skipIf(isFast)

/** Returns all items in a deep run, otherwise every nth, starting at `from`; never none. */
export function sample<T>(all: readonly T[], nth: number, from = 0): readonly T[] {
  const first = from % Math.min(nth, all.length)
  return isDeep ? all : all.filter((_, at) => at % nth === first)
}

/** Where a sample starts on this store: for tests that hardly depend on the database, each store tries other items. */
export function sampleStart(store: string): number {
  return Object.keys(stores).indexOf(store)
}

/** Makes a database. A file is in the folder, and is removed with it. */
export async function newDatabase(store: string, folder: string): Promise<TestDatabase> {
  const made = await stores[store]?.make(folder)
  if (made === undefined) throw new Error(`no store ${store}`)
  return made
}

export interface TestRequest {
  readonly body?: unknown
  /** Sent as it is, instead of `body`. */
  readonly raw?: string | Uint8Array
  readonly token?: string | null
  readonly headers?: Record<string, string>
}

export interface TestResponse {
  readonly status: number
  readonly body: any
  readonly text: string
  readonly headers: Headers
}

export const ADMIN = { email: 'admin@example.com', password: 'correct horse battery' }

/**
 * A busy machine may take longer for a statement than the usual timeout. A connection costs PostgreSQL six milliseconds
 * of processor time, and a starting server would open ten. Two transactions and a read beside them need three.
 */
const PATIENT = { 'statement-timeout': '60', pool: '3' }

/** For tests of concurrency: as many connections as a real server has. */
export const FULL_POOL = { pool: '10' }

/** A real server on a real socket and a real, empty database. */
export class TestServer {
  readonly folder = mkdtempSync(join(process.env.TAKEBACK_TEST_DATABASES ?? tmpdir(), 'takeback-test-'))
  readonly logged: string[] = []
  readonly store: string
  #database: Promise<TestDatabase> | undefined
  #declaration: AppDeclaration
  readonly #flags: Record<string, string>
  #running: Running | undefined
  #stopped: Running | undefined
  adminToken = ''

  /** Uses the given database, or makes an empty one. */
  constructor(
    store: string,
    declaration: AppDeclaration,
    flags: Record<string, string> = {},
    database?: TestDatabase,
  ) {
    this.store = store
    this.#database = database === undefined ? undefined : Promise.resolve(database)
    this.#declaration = declaration
    this.#flags = flags
  }

  async location(): Promise<Location> {
    return readConfig({ database: (await this.#open()).url }, {}).database
  }

  /** Opens the database as a Store, past the server. */
  async openStore(): Promise<Store> {
    return openStore(await this.location())
  }

  /** Returns the database. It is made on first use, and empty unless the server has started. */
  database(): Promise<TestDatabase> {
    return this.#open()
  }

  async databaseUrl(): Promise<string> {
    return (await this.#open()).url
  }

  /** The context of the running server. */
  get context(): Context {
    if (this.#running === undefined) throw new Error('not running')
    return this.#running.context
  }

  get url(): string {
    return this.#running?.url ?? ''
  }

  #open(): Promise<TestDatabase> {
    this.#database ??= newDatabase(this.store, this.folder)
    return this.#database
  }

  /** `back` allows older declarations: tests switch back and forth, while a real start must be told to. */
  async start({ back = true } = {}): Promise<void> {
    this.#database ??= stores[this.store]?.makePrepared?.()
    const opened = await this.#open()
    const { url: database } = opened
    const { flags, environment } = settingsIn(this.#flags)
    const config = readConfig({ port: '0', log: 'json', database, ...PATIENT, ...flags }, environment)
    const observer = new Observer()
    logOf(observer, 'json', (text, done) => {
      this.logged.push(text)
      done?.()
    })
    this.#running = await startApp(config, modelOf(this.#declaration), observer, { back })
    opened.keepOpen?.(true)
    const { admins } = this.#declaration
    if (admins === undefined || this.adminToken !== '') return
    await addMember(this.#running, admins, { body: ADMIN, actor: system })
    const { body } = await this.call('POST', '/api/auth/login', { body: ADMIN, token: null })
    this.adminToken = body.token
  }

  /** Stops the server, once: a second stop would take as long as the first. */
  async stop(): Promise<void> {
    if (this.#stopped === this.#running) return
    this.#stopped = this.#running
    ;(await this.#database)?.keepOpen?.(false)
    await this.#running?.close()
  }

  /** Drains the server, as before a stop: it keeps serving for this long. */
  async drain(ms: number): Promise<void> {
    await this.#running?.drain(ms)
  }

  /** Starts again, with another declaration if it is given. */
  async restart(declaration: AppDeclaration = this.#declaration, { back = true } = {}): Promise<void> {
    await this.stop()
    this.#running = undefined
    this.#declaration = declaration
    await this.start({ back })
  }

  async remove(): Promise<void> {
    await this.stop()
    await (await this.#database)?.remove()
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** Calls as the admin, or with another token; `null` for none. */
  async call(
    method: string,
    path: string,
    { body, raw, token = this.adminToken, headers = {} }: TestRequest = {},
  ): Promise<TestResponse> {
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await fetch(this.url + path, {
      method,
      headers: {
        Accept: 'application/json',
        ...(sent !== undefined && { 'Content-Type': 'application/json' }),
        ...(token !== null && token !== '' && { Authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(sent !== undefined && { body: sent }),
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text === '' ? undefined : parse(text),
    }
  }

  /** Makes a call that must have this status. Returns its body. */
  async expect(
    status: number,
    method: string,
    path: string,
    body?: unknown,
    sent: Omit<TestRequest, 'body'> = {},
  ): Promise<any> {
    const received = await this.call(method, path, body === undefined ? sent : { ...sent, body })
    if (received.status !== status) throw new Error(`${method} ${path}: ${received.status} ${received.text}`)
    return received.body
  }

  /** Adds a user of a login type, as the admin. Returns the id. */
  member(entity: string, fields: Record<string, unknown>): Promise<number> {
    const body = { password: ADMIN.password, ...fields }
    const { admins } = this.#declaration
    const actor =
      admins === undefined ? nobody : { kind: 'user' as const, entity: admins, id: 1, admin: true }
    return addMember(this, entity, { body, actor })
  }

  /** Adds a user, and logs in. */
  async user(entity: string, fields: Record<string, unknown>): Promise<{ id: number; token: string }> {
    const id = await this.member(entity, fields)
    const login = { email: fields.email, password: fields.password ?? ADMIN.password }
    const { token } = await this.expect(200, 'POST', '/api/auth/login', login, { token: null })
    return { id, token }
  }

  async query(...asked: Parameters<TestDatabase['query']>): Promise<Record<string, unknown>[]> {
    return (await this.#open()).query(...asked)
  }

  async rows(table: string): Promise<number> {
    const [row] = await this.query(`SELECT count(*) AS n FROM "${table}"`)
    return Number(row?.n)
  }
}

const models = new WeakMap<AppDeclaration, Model>()

/** All databases and starts of a declaration share one Model, which never changes. */
function modelOf(declaration: AppDeclaration): Model {
  const model = models.get(declaration) ?? resolve(declaration)
  models.set(declaration, model)
  return model
}

/** Splits settings into flags and environment variables, by their names. */
function settingsIn(all: Record<string, string>): Record<'flags' | 'environment', Record<string, string>> {
  const isVariable = ([name]: [string, string]) => name.startsWith('TAKEBACK_')
  const entries = Object.entries(all)
  return {
    flags: Object.fromEntries(entries.filter((one) => !isVariable(one))),
    environment: Object.fromEntries(entries.filter(isVariable)),
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Runs the tests of a feature once per database, each with its own server. */
export function onEveryStore(
  feature: string,
  declaration: AppDeclaration,
  tests: (server: TestServer) => void,
  flags?: Record<string, string>,
): void {
  onEveryStoreByHand(feature, (store) => withServer(store, declaration, tests, flags))
}

/** For tests that start their own servers. */
export function onEveryStoreByHand(feature: string, tests: (store: string) => void): void {
  for (const store of Object.keys(stores)) onStoreByHand(store, feature, tests)
}

/** For tests that go from one kind of database to the other, both ways. */
export function betweenStores(feature: string, tests: (store: string, other: string) => void): void {
  const both = Object.keys(stores)
  if (!both.every(isTested)) return
  for (const store of both)
    describe(`${feature} on ${store}`, () => {
      for (const one of both) beforeAll(() => prepare(one), 60_000)
      tests(store, both.find((one) => one !== store) ?? '')
    })
}

/**
 * For features that see only HTTP, such as the console: the API tests show that all databases answer alike. Some are
 * tested on one database, some on the other; in a deep run each is tested on all.
 */
export function onOneStore(
  store: 'sqlite' | 'postgres',
  feature: string,
  declaration: AppDeclaration,
  tests: (server: TestServer) => void,
  flags?: Record<string, string>,
): void {
  if (isDeep) onEveryStore(feature, declaration, tests, flags)
  else onStoreByHand(store, feature, () => withServer(store, declaration, tests, flags))
}

/** For features of one database, or failures that only one can be made to show. */
export function onStore(
  store: 'sqlite' | 'postgres',
  feature: string,
  declaration: AppDeclaration,
  tests: (server: TestServer) => void,
): void {
  onStoreByHand(store, feature, () => withServer(store, declaration, tests))
}

/** The same, for tests that start their own servers. */
export function onStoreByHand(store: string, feature: string, tests: (store: string) => void): void {
  if (!isTested(store)) return
  describe(`${feature} on ${store}`, () => {
    beforeAll(() => prepare(store))
    tests(store)
  })
}

async function prepare(store: string): Promise<void> {
  await stores[store]?.prepare?.()
}

function withServer(
  store: string,
  declaration: AppDeclaration,
  tests: (server: TestServer) => void,
  flags?: Record<string, string>,
): void {
  const server = new TestServer(store, declaration, flags)
  beforeAll(() => server.start())
  afterAll(() => server.remove())
  tests(server)
}

/** Waits for the first pass of retention, which a server makes soon after its start. */
export async function firstPass(server: TestServer): Promise<void> {
  await eventually(
    async () => (await server.query("SELECT 1 FROM takeback_meta WHERE key = 'marks'")).length > 0,
  )
}

/** Waits until something holds. Only the time limit of the test ends it. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await Bun.sleep(20)
}

/** Returns the id of the operation; empty if nothing was written. */
export function operationOf({ headers }: Pick<TestResponse, 'headers'>): string {
  return headers.get('Takeback-Operation') ?? ''
}

/** Expects a 422 with exactly these errors. */
export function expectInvalid(received: TestResponse, errors: Record<string, string[]>): void {
  expect(received.status).toBe(422)
  expect(received.body).toEqual({ message: 'Invalid Data', errors, code: 'invalid_data' })
}
