import type { UndoResult } from '../src/declare/api-types.ts'
import type { PathNames } from '../src/declare/code.ts'
import type { NewFields } from '../src/declare/infer.ts'
import type {
  ChangesPage,
  ChangesQuery,
  Login,
  MayAnswer,
  MayQuestion,
  Operation,
  OperationInFull,
  OperationQuery,
  Preview,
  SignedIn,
} from './answers.ts'
import { type RequestOptions, requestOf } from './api-request.ts'
import { type AuthClient, authOf, keepSession } from './auth.ts'
import { BatchParts } from './batch.ts'
import { EntityCalls } from './entities.ts'
import { pagesOf } from './listing.ts'
import type { ApiModel } from './model.ts'
import type { SignedInUser } from './shapes.ts'
import type { SystemCalls } from './system.ts'
import { type ApiRequest, type CallOptions, type ConnectOptions, Transport } from './transport.ts'
import type {
  BatchAnswer,
  BatchBuilder,
  EntityClient,
  Listing,
  OperationsClient,
  PageQuery,
  Part,
  TakeBackOptions,
} from './types.ts'

export type * from '../src/declare/api-types.ts'
export type * from '../src/declare/infer.ts'
export type * from './answers.ts'
export type * from './auth.ts'
export {
  ApiError,
  ChangedMeanwhile,
  Conflict,
  type FieldConflict,
  Forbidden,
  Gone,
  InvalidData,
  NetworkError,
  NotFound,
  PlanChanged,
  PlanFirst,
  ServerError,
  Stale,
  TooMany,
  Unauthenticated,
} from './errors.ts'
export type * from './model.ts'
export type { KeptSession, SessionStore } from './session.ts'
export type * from './shapes.ts'
export type * from './system.ts'
export type { CallOptions, ConnectOptions } from './transport.ts'
export type * from './types.ts'

// biome-ignore lint/suspicious/noExplicitAny: where the types are not known, anything goes.
type Anything = any

type TypesOf<Config> = Config extends { readonly entities: infer Types } ? Types : Record<never, never>
type RoutesOf<Config> = Config extends { readonly routes?: infer Routes } ? NonNullable<Routes> : unknown

/** The calls of each Entity type. Without the types of the app, any name is allowed. */
type Collections<Config> = Config extends { readonly entities: infer Types }
  ? { readonly [Name in keyof Types]: EntityClient<Types, Name> }
  : { readonly [name: string]: Anything }

/** The request to a route. */
type RouteSent<Route, Path> = CallOptions & {
  readonly query?: Readonly<Record<string, string | number | boolean>>
} & (Route extends { readonly body?: infer Body }
    ? Body extends { readonly fields: infer Fields extends object }
      ? { readonly body: NewFields<Fields> }
      : unknown
    : unknown) &
  ([PathNames<Path>] extends [never]
    ? unknown
    : { readonly params: Readonly<Record<PathNames<Path>, string | number>> })

/** The calls of a client besides those of its Entity types. */
export interface ClientCalls<Config, Types = TypesOf<Config>> {
  login(login: Login, options?: CallOptions): Promise<SignedIn<SignedInUser<Types>>>
  logout(options?: CallOptions): Promise<void>
  readonly auth: AuthClient<SignedInUser<Types>, Client<Config>>
  readonly operations: OperationsClient
  /** Sends any writes as one operation: all or none. The results are those of the parts that `build` returns. */
  batch<const Parts extends readonly Part<unknown>[] | []>(
    build: (batch: BatchBuilder<Types>) => Parts,
    options?: CallOptions,
  ): Promise<BatchAnswer<Parts>>
  /**
   * Returns what a write would do: `preview((api) => api.rooms.delete(5))`. Nothing is written. The same call with `{
   * plan }` does exactly that, or nothing.
   */
  preview(run: (api: Client<Config>) => PromiseLike<unknown>): Promise<Preview>
  /** Returns the changes since a position. */
  changes(query?: ChangesQuery & CallOptions): Promise<ChangesPage>
  /** Returns whether a request would succeed. */
  may(question: MayQuestion, options?: CallOptions): Promise<MayAnswer>
  /** Calls `/api/system/`, for admins: `route('POST /api/system/jobs/:name/run/', { params: { name: 'nightly' } })`. */
  route<Path extends keyof SystemCalls>(
    path: Path,
    sent?: CallOptions & Omit<SystemCalls[Path], 'answer'>,
  ): Promise<SystemCalls[Path]['answer']>
  /** Calls a route of the app: `route('POST /api/checkout/', { body })`. Give the type that you expect back. */
  route<Path extends keyof RoutesOf<Config> & string, Answer = unknown>(
    path: Path,
    sent: RouteSent<RoutesOf<Config>[Path], Path>,
  ): Promise<Answer>
  /** Returns the declaration, as far as the caller may know it. */
  model(options?: CallOptions): Promise<ApiModel>
  health(options?: CallOptions): Promise<{ status: string }>
  healthDetails(options?: CallOptions): Promise<Record<string, unknown>>
  /** Returns the OpenAPI document. */
  openapi(options?: CallOptions): Promise<Record<string, unknown>>
  /** All Entity types, including those that have the name of a call above. */
  readonly entities: Collections<Config>
}

/** A client of an app. */
export type Client<Config = unknown> = Collections<Config> & ClientCalls<Config>

/** Returns a client of the app at a URL. Entity types with the name of a call, such as `auth`, are under `entities`. */
export function connect<Config = unknown>(url: string, options: ConnectOptions = {}): Client<Config> {
  return clientOf(new Transport(url, options)) as Client<Config>
}

function clientOf(transport: Transport): Client {
  const known = new Map<string, EntityCalls>()
  const entity = (name: string): EntityCalls => {
    const calls = known.get(name) ?? new EntityCalls(transport, name)
    known.set(name, calls)
    return calls
  }
  return named(entity, { ...callsOf(transport, entity), entities: named(entity) }) as Client
}

/** Returns an object that makes the value of any name, unless `own` has one. */
function named(make: (name: string) => unknown, own: object = {}): object {
  return new Proxy(own, {
    get: (target, name) =>
      name in target
        ? target[name as never]
        : // `await`, JSON and the debugger ask for these names.
          typeof name === 'symbol' || name === 'then' || name === 'toJSON'
          ? undefined
          : make(name),
  })
}

type Send = <T>(method: string, path: string, sent?: ApiRequest) => Promise<T>

function callsOf(transport: Transport, entity: (name: string) => EntityCalls): object {
  const ask: Send = async (method, path, sent) => (await transport.send(method, path, sent)).body as never
  const get = (path: string) => (options?: CallOptions) => ask('GET', path, { options })
  const auth = authOf(transport, (token) => clientOf(transport.with({ token })))
  return {
    auth,
    login: async (body: Login, options?: CallOptions) => {
      const device = await transport.session.device()
      const headers = { 'Takeback-Device': device }
      return keepSession(transport, await transport.send('POST', 'auth/login', { body, options, headers }))
    },
    logout: auth.logout,
    operations: operationsOf(transport, ask),
    batch: (build: (batch: object) => never, options?: CallOptions) => {
      const parts = new BatchParts()
      return parts.send(transport, build(named((name) => parts.of(name)) as never), { options, entity })
    },
    async preview(run: (api: Client) => PromiseLike<unknown>) {
      let shown: unknown
      await run(clientOf(transport.with({}, (body) => (shown = body))))
      return shown
    },
    changes: (query?: RequestOptions) => ask('GET', 'changes/', requestOf(query)),
    may: (body: MayQuestion, options?: CallOptions) =>
      ask('POST', 'may/', { repeat: 'always', body, options }),
    route: (key: string, { params = {}, query, body, ...options }: Anything = {}) => {
      const [method, path] = key.split(' /api/') as [string, string]
      const filled = path.replace(/:(\w+)/g, (_, name) => encodeURIComponent(params[name]))
      return ask(method, filled, { query, body, options })
    },
    model: get('model/'),
    health: get('health'),
    healthDetails: get('health/details'),
    openapi: get('openapi.json'),
  }
}

function operationsOf(transport: Transport, ask: Send): OperationsClient {
  const undo = (id: string, options?: TakeBackOptions & CallOptions) =>
    ask<UndoResult>('POST', `operations/${id}/undo/`, requestOf(options as RequestOptions))
  return {
    list: (query?: OperationQuery & CallOptions): Listing<Operation> =>
      pagesOf(transport, 'operations/', query as RequestOptions),
    get: (id: string, query?: PageQuery & CallOptions) =>
      ask<OperationInFull>('GET', `operations/${id}/`, requestOf(query as RequestOptions)),
    undo,
    redo: undo,
    undoAll: (filter: object, options?: TakeBackOptions & CallOptions) =>
      ask<UndoResult>('POST', 'operations/undo/', requestOf(options as RequestOptions, filter)),
  }
}
