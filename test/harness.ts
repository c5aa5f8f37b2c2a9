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
   * Looks at the database itself, past the server: for side effects that no answer shows.
   * `$1` is the first of the values. All databases answer alike: numbers, texts and null.
   */
  query(text: string, ...values: (string | number | null)[]): Promise<Record<string, unknown>[]>
  /** While a server runs on it, a file need not be opened anew for every look at it. Without one, nobody may hold it. */
  keepOpen?(keep: boolean): void
  remove(): Promise<void>
}

interface TestStore {
  /** Makes ready what all databases of this store share; takes longer than a test may. */
  prepare?(): Promise<unknown>
  make(folder: string): Promise<TestDatabase>
  /** One with Takeback's own tables in it, where that is cheaper than to make them at the start. */
  makePrepared?(): Promise<TestDatabase>
}

/** The databases that every API test runs on. A new one is a new name here, and a way to make an empty one. */
const stores: Record<string, TestStore> = {
  sqlite: { make: async (folder) => sqliteFile(join(folder, 'test.db')) },
  postgres: { prepare: startPostgres, make: () => newPostgresDatabase(), makePrepared: newPreparedDatabase },
}

/** Whether this run has databases of this kind. */
export function isTested(store: string): boolean {
  return !isFast || store === 'sqlite'
}

/** A test that takes seconds by its nature: many rows, a thousand types. */
export const giant = test.skipIf(isFast)

/** All of them in a deep run, otherwise every nth, from one of the first on; never none. */
export function sample<T>(all: readonly T[], nth: number, from = 0): readonly T[] {
  const first = from % Math.min(nth, all.length)
  return isDeep ? all : all.filter((_, at) => at % nth === first)
}

/** Where a sample begins on this store: each store tries others of what hardly depends on the database. */
export function sampleStart(store: string): number {
  return Object.keys(stores).indexOf(store)
}

/** A new database; what is a file lies in the folder, and goes with it. */
export async function newDatabase(store: string, folder: string): Promise<TestDatabase> {
  const made = await stores[store]?.make(folder)
  if (made === undefined) throw new Error(`no store ${store}`)
  return made
}

export interface Sent {
  readonly body?: unknown
  /** Sent as it is, in place of `body`. */
  readonly raw?: string | Uint8Array
  readonly token?: string | null
  readonly headers?: Record<string, string>
}

export interface Received {
  readonly status: number
  readonly body: any
  readonly text: string
  readonly headers: Headers
}

export const ADMIN = { email: 'admin@example.com', password: 'correct horse battery' }

/**
 * A busy machine takes longer for a statement than a user would wait. A new connection costs PostgreSQL six milliseconds
 * of a core, and a server at its start would open ten. Two transactions and what reads beside them need three.
 */
const PATIENT = { 'statement-timeout': '60', pool: '3' }

/** For tests of what happens side by side: as many connections as a real server has. */
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

  /** On a database that is there already, if it is given. */
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

  /** The database as a Store, past the server. */
  async openStore(): Promise<Store> {
    return openStore(await this.location())
  }

  /** Made when it is first asked for: empty, unless the server has started. */
  database(): Promise<TestDatabase> {
    return this.#open()
  }

  async databaseUrl(): Promise<string> {
    return (await this.#open()).url
  }

  /** What the running server works with. */
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

  /** Tests go back and forth between declarations; who starts a real server is asked to mean it. */
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

  /** A second time would take as long as the first. */
  async stop(): Promise<void> {
    if (this.#stopped === this.#running) return
    this.#stopped = this.#running
    ;(await this.#database)?.keepOpen?.(false)
    await this.#running?.close()
  }

  /** As before a stop: it goes on serving for so long. */
  async drain(ms: number): Promise<void> {
    await this.#running?.drain(ms)
  }

  /** Starts anew, with another declaration. */
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

  /** As the admin, unless another token, or `null` for none, is given. */
  async call(
    method: string,
    path: string,
    { body, raw, token = this.adminToken, headers = {} }: Sent = {},
  ): Promise<Received> {
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

  /** A call that must answer with this status; gives its body. */
  async expect(
    status: number,
    method: string,
    path: string,
    body?: unknown,
    sent: Omit<Sent, 'body'> = {},
  ): Promise<any> {
    const received = await this.call(method, path, body === undefined ? sent : { ...sent, body })
    if (received.status !== status) throw new Error(`${method} ${path}: ${received.status} ${received.text}`)
    return received.body
  }

  /** Adds a member of a login type, as the admin: its id. */
  member(entity: string, fields: Record<string, unknown>): Promise<number> {
    const body = { password: ADMIN.password, ...fields }
    const { admins } = this.#declaration
    const actor =
      admins === undefined ? nobody : { kind: 'user' as const, entity: admins, id: 1, admin: true }
    return addMember(this, entity, { body, actor })
  }

  /** Adds one, and logs in: its id and token. */
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

/** A Model never changes: all databases and all starts of a declaration share one. */
function modelOf(declaration: AppDeclaration): Model {
  const model = models.get(declaration) ?? resolve(declaration)
  models.set(declaration, model)
  return model
}

/** Those that are named as variables of the environment are. */
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

/** Runs the tests of a feature once for each database, each with a server of its own. */
export function onEveryStore(
  feature: string,
  declaration: AppDeclaration,
  tests: (server: TestServer) => void,
  flags?: Record<string, string>,
): void {
  onEveryStoreByHand(feature, (store) => withServer(store, declaration, tests, flags))
}

/** For tests that start servers of their own on it. */
export function onEveryStoreByHand(feature: string, tests: (store: string) => void): void {
  for (const store of Object.keys(stores)) onStoreByHand(store, feature, tests)
}

/** For what goes from one database to the other kind, both ways. */
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
 * For what sees only HTTP, such as the console: the tests of the API show that all databases answer alike. Some features
 * are tested on one database, some on the other; in a deep run all of them are tested on all.
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

/** For what only one database has, or only one can be made to do. */
export function onStore(
  store: 'sqlite' | 'postgres',
  feature: string,
  declaration: AppDeclaration,
  tests: (server: TestServer) => void,
): void {
  onStoreByHand(store, feature, () => withServer(store, declaration, tests))
}

/** The same, for tests that start servers of their own on it. */
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

/** Waits until a server that clears out what is old has done so for the first time, which it does soon after its start. */
export async function firstPass(server: TestServer): Promise<void> {
  await eventually(
    async () => (await server.query("SELECT 1 FROM takeback_meta WHERE key = 'marks'")).length > 0,
  )
}

/** Waits until something holds, however long that takes: only the time limit of the test ends it. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await Bun.sleep(20)
}

/** The operation that a write was; empty where nothing was written. */
export function operationOf({ headers }: Pick<Received, 'headers'>): string {
  return headers.get('Takeback-Operation') ?? ''
}

/** The errors of a 422, and nothing else. */
export function expectInvalid(received: Received, errors: Record<string, string[]>): void {
  expect(received.status).toBe(422)
  expect(received.body).toEqual({ message: 'Invalid Data', errors, code: 'invalid_data' })
}
