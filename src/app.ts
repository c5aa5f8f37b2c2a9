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

/** A config file needs no `node_modules` near it: `takeback` is this very Takeback. */
Bun.plugin({
  name: 'takeback',
  setup(build) {
    build.module('takeback', () => ({ exports: takeback, loader: 'object' }))
  },
})

/** The Model that a file declares. */
export async function loadModel(file: string): Promise<Model> {
  const advice = 'name another file with --config, or create one with "takeback init"'
  return resolveFile(file, await loadDefault(file, advice))
}

/** What a file exports. `advice`: what to do if there is no such file. */
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

/** The Model of a declaration, which is in a file. */
export function resolveFile(file: string, declaration: unknown): Model {
  try {
    return resolve(declaration)
  } catch (error) {
    throw error instanceof StartError ? new StartError(`${file} has ${error.message}`) : error
  }
}

/** Each with its line and column, where it has one: of a syntax error its own, of a thrown one the place in the file. */
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
  /** Whom it tells what happens; nobody if left out. */
  readonly observer?: Observer
  readonly onLost?: (error: unknown) => void
  /** Whether the declaration may be one that the database has left behind. */
  readonly back?: boolean
  /** The declaration whose plan was shown (`Preview`), if it must be that one. */
  readonly shown?: string | undefined
  /** Where it listens. */
  readonly url?: string
  /** Parts besides Takeback's own. */
  readonly parts?: readonly Part[]
  /** Compiled before, from the same Model for an empty database of the same kind. */
  readonly plans?: Plans
}

interface Starting extends Omit<Opening, 'observer' | 'url'> {
  /** Default: the address in the configuration. */
  readonly bound?: BoundServer
  /** Whether recurring work runs by itself. Default: true. */
  readonly recurs?: boolean
}

/** open → migrate → compile: all but the listening. */
export async function openApp(
  config: Config,
  model: Model,
  { observer = new Observer(), onLost, back = false, shown, url, parts: more = [], plans }: Opening = {},
): Promise<App> {
  const store = await openStore(config.database, onLost === undefined ? {} : { onLost })
  const all = [...parts, codePart, ...more]
  try {
    const served = servedOf(config, model, more)
    // Refusals come before the database is changed.
    const secret = config.secret ?? (await store.secret())
    const legacy = await migrateTo(model, store, { back, shown })
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

/** A piece from each part. */
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

/** Brings the database to the declaration, and tells what it has from former ones. */
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
  /** Who makes tasks from the journal. */
  readonly followers: readonly Follower[]
  /** Goes on serving for so long, but tells balancers to send requests elsewhere. */
  drain(ms: number): Promise<void>
}

/** How long a database that does not answer may put off the end. */
const KEEP_MS = 1000

/** The whole service. Binds first: a start that fails must leave the database as it was. */
export async function startApp(
  config: Config,
  model: Model,
  observer: Observer,
  { bound = bindTo(config, observer), recurs = true, ...opening }: Starting = {},
): Promise<Running> {
  try {
    const app = await openApp(config, model, { ...opening, observer, url: bound.url })
    const followers = app.parts.flatMap((part) => part.followers?.(app.context) ?? [])
    // Before anything is written: new followers begin here. If the database does not answer, they begin later.
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
      // Other instances go on with it at once.
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

/** Background work, until the function that it returns is called. */
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
  // Any origin may read the API if so configured, but codes are sent only to those that are named.
  const named = allowedOrigins.filter((one) => one !== '*')
  const returnOrigins = new Set([...addresses.map((one) => new URL(one).origin), ...named])
  const signIn = mail.appUrl ?? (console ? `${url}/console/` : undefined)
  return { version, secrets, rates, explainDenials, mail: { ...mail, url, signIn }, providers, returnOrigins }
}

/** A browser that opens the address of the server is led to the console, or to the reference. */
function rootOf({ console, docs }: Config): Route[] {
  if (console) return [redirect('/', '/console/')]
  return docs ? [redirect('/', '/docs')] : []
}

/** The examples on the page point to where it is served. */
function docsPages(model: Model, url: string, offered: Offered): Route[] {
  const load = whenAsked(async () => {
    const { pageOf, scriptHash } = await import('./openapi/page.ts')
    return { html: pageOf(model, url, offered), scriptHash: scriptHash() }
  })
  return [htmlPage('/docs', load)]
}

/** What describes all of it takes longer to make than all the rest, and few ever ask for it: made when the first one does. */
function whenAsked<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch((error) => {
      // The next one may have more luck.
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
