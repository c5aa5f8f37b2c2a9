import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Running, startApp } from '../src/app.ts'
import { addUser } from '../src/cli/user.ts'
import { readConfig } from '../src/config.ts'
import type { AppDeclaration } from '../src/declare/define.ts'
import { resolve } from '../src/declare/resolve.ts'
import { Log } from '../src/http/log.ts'

/** The databases that every API test runs on. A new one is a new name here, and a way to make an empty one. */
const stores: Record<string, (folder: string) => { url: string; query: Query }> = {
  sqlite: (folder) => {
    const file = join(folder, 'test.db')
    return { url: `sqlite:${file}`, query: (text, ...values) => queryFile(file, text, values) }
  },
}

/** Looks at the database itself, past the server: for side effects that no answer shows. */
type Query = (text: string, ...values: (string | number | null)[]) => Record<string, unknown>[]

function queryFile(
  file: string,
  text: string,
  values: (string | number | null)[],
): Record<string, unknown>[] {
  const database = new Database(file)
  try {
    return database.query(text).all(...values) as Record<string, unknown>[]
  } finally {
    database.close()
  }
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

/** A real server on a real socket and a real, empty database. */
export class TestServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'takeback-test-'))
  readonly query: Query
  readonly logged: string[] = []
  readonly #database: string
  #declaration: AppDeclaration
  readonly #flags: Record<string, string>
  #running: Running | undefined
  adminToken = ''

  constructor(store: string, declaration: AppDeclaration, flags: Record<string, string> = {}) {
    const made = stores[store]?.(this.folder)
    if (made === undefined) throw new Error(`no store ${store}`)
    this.#database = made.url
    this.query = made.query
    this.#declaration = declaration
    this.#flags = flags
  }

  get url(): string {
    return this.#running?.url ?? ''
  }

  async start(): Promise<void> {
    const config = readConfig({ port: '0', log: 'json', database: this.#database, ...this.#flags }, {})
    const log = new Log('json', (text, done) => {
      this.logged.push(text)
      done?.()
    })
    this.#running = await startApp(config, resolve(this.#declaration), log)
    const { admins } = this.#declaration
    if (admins === undefined || this.adminToken !== '') return
    await addUser(this.#running, admins, ADMIN)
    const { body } = await this.call('POST', '/api/auth/login', { body: ADMIN, token: null })
    this.adminToken = body.token
  }

  async stop(): Promise<void> {
    await this.#running?.close()
  }

  /** Starts anew, with another declaration. */
  async restart(declaration: AppDeclaration = this.#declaration): Promise<void> {
    await this.stop()
    this.#running = undefined
    this.#declaration = declaration
    await this.start()
  }

  async remove(): Promise<void> {
    await this.stop()
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

  /** Signs up a user and logs in: its id and token. */
  async user(entity: string, fields: Record<string, unknown>): Promise<{ id: number; token: string }> {
    const { id } = await this.expect(201, 'POST', `/api/${entity}/`, { password: ADMIN.password, ...fields })
    const login = { email: fields.email, password: fields.password ?? ADMIN.password }
    const { token } = await this.expect(200, 'POST', '/api/auth/login', login, { token: null })
    return { id, token }
  }

  rows(table: string): number {
    return Number(this.query(`SELECT count(*) AS n FROM "${table}"`)[0]?.n)
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
  for (const store of Object.keys(stores))
    describe(`${feature} on ${store}`, () => {
      const server = new TestServer(store, declaration, flags)
      beforeAll(() => server.start())
      afterAll(() => server.remove())
      tests(server)
    })
}

/** For tests that start servers of their own on it. */
export function onEveryStoreByHand(feature: string, tests: (store: string) => void): void {
  for (const store of Object.keys(stores)) describe(`${feature} on ${store}`, () => tests(store))
}

/** The errors of a 422, and nothing else. */
export function expectInvalid(received: Received, errors: Record<string, string[]>): void {
  expect(received.status).toBe(422)
  expect(received.body).toEqual({ message: 'Invalid Data', errors, code: 'invalid_data' })
}
