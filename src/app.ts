import { existsSync } from 'node:fs'
import pkg from '../package.json'
import { accountPages } from './api/account/account-pages.ts'
import type { Context, Opened, ServerSettings } from './api/context.ts'
import { readDocument } from './api/document.ts'
import type { Endpoints } from './api/endpoint.ts'
import { endpoints } from './api/endpoints.ts'
import type { Part } from './api/part.ts'
import {
  accountPart,
  mailPart,
  parts,
  pastPart,
  providerPart,
  servicePart,
  webhookPart,
} from './api/parts.ts'
import { codePart } from './code/part.ts'
import { routeEndpoints } from './code/routes.ts'
import type { Config } from './config.ts'
import type { Model } from './declare/model.ts'
import { resolve } from './declare/resolve.ts'
import { StartError } from './errors.ts'
import type { Follower } from './live/follower.ts'
import { Observer } from './observe/observer.ts'
import type { Offered } from './openapi/document.ts'
import { compilePlans, type Plans } from './plan/compile.ts'
import { brokenChecks } from './plan/condition/checks.ts'
import type { Legacy } from './plan/tables/graph.ts'
import { legacyOf, tablesOf } from './plan/tables/schema.ts'
import { Clients } from './serve/http/clients.ts'
import { consoleRoutes } from './serve/http/console.ts'
import { Origins } from './serve/http/origins.ts'
import { formPage, htmlPage, redirect } from './serve/http/pages.ts'
import type { Route } from './serve/http/route.ts'
import { routesOf } from './serve/http/routes.ts'
import { type BoundServer, bindServer } from './serve/http/server.ts'
import { mcpRoute } from './serve/mcp/route.ts'
import { type Migrating, migrate } from './store/migration/migrate.ts'
import { openStore } from './store/open.ts'
import { ServiceTime } from './store/service-time.ts'
import type { Store } from './store/store.ts'
import * as takeback from './takeback.ts'
import { Runner } from './work/runner.ts'
import { Waker } from './work/waker.ts'

/** Config files can import `takeback` without a `node_modules` near them: they get the Takeback that runs. */
Bun.plugin({
  name: 'takeback',
  setup(build) {
    build.module('takeback', () => ({ exports: takeback, loader: 'object' }))
  },
})

/** Loads the Model that a file declares. */
export async function loadModel(
  file: string,
  advice = 'name another file with --config, or create one with "takeback init"',
): Promise<Model> {
  return resolveFile(file, await loadDefault(file, advice))
}

/** Returns the default export of a file. `advice` tells the user what to do if there is no such file. */
export async function loadDefault(file: string, advice: string): Promise<unknown> {
  if (!existsSync(file)) throw new StartError(`There is no ${file}: ${advice}.`)
  try {
    const declared: { default?: unknown } = await import(file)
    return declared.default
  } catch (error) {
    throw new StartError(
      `${file} cannot be loaded:\n${mistakesIn(error, file)
        .map((one) => `  ${one}`)
        .join('\n')}`,
    )
  }
}

/** Resolves a declaration to its Model. The file is named in error messages. */
export function resolveFile(file: string, declaration: unknown): Model {
  try {
    return resolve(declaration)
  } catch (error) {
    throw error instanceof StartError ? new StartError(`${file} has ${error.message}`) : error
  }
}

/** Lists the errors of a file that failed to load, each with its line and column in the file if they are known. */
function mistakesIn(error: unknown, file: string): string[] {
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.flatMap((one) => mistakesIn(one, file))
  if (!(error instanceof Error) && !(typeof error === 'object' && error !== null && 'message' in error))
    return [Bun.inspect(error)]
  const {
    message = String(error),
    position,
    stack = '',
  } = error as {
    message?: string
    position?: { line: number; column: number } | null
    stack?: string
  }
  const thrown =
    stack
      .split('\n')
      .find((line) => line.includes(file))
      ?.split(file)[1] ?? ''
  const [, line, column] = /^:(\d+):(\d+)/.exec(thrown) ?? []
  if (position) return [`line ${position.line}, column ${position.column}: ${message}`]
  return [line === undefined ? message : `line ${line}, column ${column}: ${message}`]
}

export interface App {
  readonly context: Context
  readonly endpoints: Endpoints
  readonly parts: readonly Part[]
  close(): Promise<void>
}

interface Opening {
  /** Receives the events of the app. Default: nobody does. */
  readonly observer?: Observer
  readonly onLost?: (error: unknown) => void
  /** Whether the declaration may be older than the one that the database was migrated to. */
  readonly back?: boolean
  /** The declaration that the plan was shown for (`Preview`). If given, the migration must be that one. */
  readonly shown?: string | undefined
  /** Which migrations are made. Default: all. */
  readonly makes?: Migrating['makes']
  /** The address that the app listens on. */
  readonly url?: string
  /** Parts besides Takeback's own. */
  readonly parts?: readonly Part[]
  /** Plans that were compiled from the same Model, for an empty database of the same kind. */
  readonly plans?: Plans
}

interface Starting extends Omit<Opening, 'observer' | 'url'> {
  /** The server to listen with. Default: a new one, at the address in the configuration. */
  readonly bound?: BoundServer
  /** Whether recurring work runs by itself. Default: true. */
  readonly recurs?: boolean
}

/** Opens the database, migrates it and compiles the Plans: everything but listening. */
export async function openApp(
  config: Config,
  model: Model,
  { observer = new Observer(), onLost = () => {}, url, parts: more = [], plans, ...migrating }: Opening = {},
): Promise<App> {
  const store = await openStore(config.database, { onLost, mustExist: migrating.makes === 'none' })
  const all = [...parts, codePart, ...more]
  try {
    const served = servedOf(config, model, more)
    // A start is refused before the database is changed.
    const secret = config.secret ?? (await store.secret())
    const legacy = await migrateTo(model, store, migrating)
    const signing = secret ?? (await store.keepSecret())
    const opened: Opened = {
      model,
      plans: plans ?? compilePlans(model, store.dialect, legacy),
      store,
      observer,
      work: new Runner(store, { observer }),
      waker: new Waker(store),
      serviceTime: await ServiceTime.open(store),
      legacy,
      settings: settingsOf(config, signing, url),
    }
    const document = whenAsked(async () => {
      const { documentOf } = await import('./openapi/document.ts')
      return JSON.stringify(documentOf(model, { ...config, endpoints: served }))
    })
    const context = { ...contextOf(opened, more), document }
    for (const part of all) await part.prepare?.(context)
    return { context, endpoints: served, parts: all, close: () => closeOpened(opened) }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Puts the Context together, with one piece from each part. */
function contextOf(opened: Opened, more: readonly Part[]): Omit<Context, 'document'> {
  const past = pastPart.compile(opened)
  return {
    ...opened,
    ...past,
    ...accountPart.compile(opened),
    ...servicePart.compile(opened),
    ...webhookPart.compile(opened, past),
    ...mailPart.compile(opened),
    ...providerPart.compile(opened),
    ...codePart.compile(),
    ...Object.assign({}, ...more.map((part) => part.compile?.(opened, past))),
  }
}

/** Migrates the database to the declaration, and returns what is left from former declarations. */
async function migrateTo(model: Model, store: Store, how: Migrating): Promise<Legacy> {
  const broken = brokenChecks(model, store.dialect)
  const { migration, generation, steps } = await migrate(store.structure, tablesOf(model), { ...how, broken })
  store.serve(generation)
  return legacyOf(migration.held, model, steps)
}

function closeOpened({ waker, store }: Opened): Promise<void> {
  waker.stop()
  return store.close()
}

export interface Running extends App {
  readonly url: string
  /** The followers, which make tasks from the journal. */
  readonly followers: readonly Follower[]
  /** Serves for this many more milliseconds, but tells load balancers to send requests elsewhere. */
  drain(ms: number): Promise<void>
}

/** How long a database that does not answer may delay the shutdown. */
const KEEP_MS = 1000

/** Starts the whole service. It binds the port first: a start that fails must leave the database unchanged. */
export async function startApp(
  config: Config,
  model: Model,
  observer: Observer,
  { bound = bindTo(config, observer), recurs = true, ...opening }: Starting = {},
): Promise<Running> {
  try {
    const app = await openApp(config, model, { ...opening, observer, url: bound.url })
    const followers = app.parts.flatMap((part) => part.followers?.(app.context) ?? [])
    // New followers begin before anything is written, or later if the database does not answer.
    await Promise.all(followers.map((follower) => follower.prepare().catch(() => {})))
    return serveOn(bound, config, app, { followers, recurs })
  } catch (error) {
    await bound.close()
    throw error
  }
}

function bindTo(config: Config, observer: Observer): BoundServer {
  try {
    return bindServer({ host: config.host, port: config.port, observer })
  } catch (error) {
    throw new StartError(bindRefusal(error, config))
  }
}

function serveOn(bound: BoundServer, config: Config, app: App, beside: BackgroundWork): Running {
  const { context } = app
  const { model, observer } = context
  const pages = [
    ...(config.docs ? docsPages(model, bound.url, { ...config, endpoints: app.endpoints }) : []),
    ...(config.console ? consoleRoutes() : []),
    ...rootOf(config),
  ]
  const forms = model.logins.length > 0 ? accountPages.map((page) => formPage(context, page)) : []
  const origins = new Origins(config.allowedOrigins)
  const routes = [...pages, ...forms, mcpRoute(context, origins), ...routesOf(context, app.endpoints)]
  const server = bound.serve(
    {
      context,
      clients: new Clients({ host: config.host, trusted: config.trustedProxies, observer }),
      origins,
      observer,
      queryToken: config.queryToken,
    },
    routes,
  )
  context.rates.start((error) => observer.emit({ kind: 'rates_not_exchanged', error }))
  const stopWork = startWork(app, beside)
  return {
    ...app,
    url: bound.url,
    followers: beside.followers,
    async drain(ms) {
      context.health.stop()
      server.endConnections()
      // Background work stops at once, so that other instances take it over.
      await Promise.all([stopWork(), Bun.sleep(ms)])
    },
    async close() {
      context.rates.stop()
      await Promise.all([stopWork(), server.drain()])
      await Promise.race([context.serviceTime.keep().catch(() => {}), Bun.sleep(KEEP_MS)])
      await app.close()
    },
  }
}

interface BackgroundWork {
  readonly followers: readonly Follower[]
  readonly recurs: boolean
}

/** Starts background work, and returns the function that stops it. */
function startWork({ context, parts }: App, { followers, recurs }: BackgroundWork): () => Promise<unknown> {
  const { work } = context
  for (const { recurring, queues } of parts) {
    if (recurs) for (const one of recurring?.(context) ?? []) work.add(one)
    for (const queue of queues?.(context) ?? []) work.handle(queue)
  }
  work.start({ all: true })
  for (const follower of followers) follower.start()
  return () => Promise.all([work.stop(), ...followers.map((follower) => follower.stop())])
}

function servedOf({ docs }: Config, model: Model, more: readonly Part[]): Endpoints {
  const added = more.flatMap((part) => part.endpoints ?? [])
  const known: Endpoints = {
    server: [
      ...endpoints.server.filter((one) => docs || one !== readDocument),
      ...added.flatMap(({ server = [] }) => server),
    ],
    entity: [...endpoints.entity, ...added.flatMap(({ entity = [] }) => entity)],
  }
  return { ...known, server: [...known.server, ...routeEndpoints(model, known)] }
}

function settingsOf(
  { previousSecret, rates, explainDenials, mail, port, providers, allowedOrigins, console }: Config,
  signing: string,
  bound = `http://localhost:${port}`,
): ServerSettings {
  const { version } = pkg
  const secrets = previousSecret === undefined ? ([signing] as const) : ([signing, previousSecret] as const)
  const url = mail.url ?? bound
  const addresses = [url, ...(mail.appUrl === undefined ? [] : [mail.appUrl])]
  // With `*` any origin may read the API, but codes of providers are sent only to origins that are named.
  const named = allowedOrigins.filter((one) => one !== '*')
  const returnOrigins = new Set([...addresses.map((one) => new URL(one).origin), ...named])
  const signIn = mail.appUrl ?? (console ? `${url}/console/` : undefined)
  return { version, secrets, rates, explainDenials, mail: { ...mail, url, signIn }, providers, returnOrigins }
}

/** Redirects a browser from the root of the server to the console, or to the API reference. */
function rootOf({ console, docs }: Config): Route[] {
  if (console) return [redirect('/', '/console/')]
  return docs ? [redirect('/', '/docs')] : []
}

/** The examples on the page use the address of the server. */
function docsPages(model: Model, url: string, offered: Offered): Route[] {
  const load = whenAsked(async () => {
    const { pageOf, scriptHash } = await import('./openapi/page.ts')
    return { html: pageOf(model, url, offered), scriptHash: scriptHash() }
  })
  return [htmlPage('/docs', load)]
}

/** Makes a value when it is first asked for: the OpenAPI document takes longer than the rest, and few read it. */
function whenAsked<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch((error) => {
      // The next call tries again.
      made = undefined
      throw error
    })
    return made
  }
}

function bindRefusal(error: unknown, { host, port }: Config): string {
  const { code, message } = error as { code?: string; message: string }
  if (code === 'EADDRINUSE')
    return `Port ${port} on ${host} is taken: choose another with --port, or 0 for a free one.`
  if (code === 'EACCES')
    return `Port ${port} on ${host} may not be used by this user: choose one above 1023 with --port.`
  return `${host}:${port} cannot be used to listen: ${message}`
}
