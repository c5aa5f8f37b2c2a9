import type { Page, UndoResult } from '../src/declare/api-types.ts'
import type { PathNames } from '../src/declare/code.ts'
import type { NewFields } from '../src/declare/infer.ts'
import type {
  ChangesPage,
  ChangesQuery,
  Login,
  MayAnswer,
  MayQuestion,
  Operation,
  OperationFilter,
  OperationInFull,
  OperationQuery,
  SignedIn,
} from './answers.ts'
import { BatchParts } from './batch.ts'
import { type Asked, EntityCalls, pagesOf, sentBy } from './entities.ts'
import type { SignedInUser } from './shapes.ts'
import { type CallOptions, type ConnectOptions, type Received, type Sent, Transport } from './transport.ts'
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
export * from './errors.ts'
export type { KeptSession, SessionStore } from './session.ts'
export type * from './shapes.ts'
export type { CallOptions, ConnectOptions } from './transport.ts'
export type * from './types.ts'

// biome-ignore lint/suspicious/noExplicitAny: where the types are not known, anything goes.
type Anything = any

type TypesOf<Config> = Config extends { readonly entities: infer Types } ? Types : Record<never, never>
type RoutesOf<Config> = Config extends { readonly routes?: infer Routes } ? NonNullable<Routes> : unknown

/** The calls of each Entity type; of any name where the types are not known. */
type Collections<Config> = Config extends { readonly entities: infer Types }
  ? { readonly [Name in keyof Types]: EntityClient<Types, Name> }
  : { readonly [name: string]: Anything }

/** What a route is sent. */
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

/** A session of the user who asks. */
export interface OwnSession {
  id: string
  /** Whether it is the one that asks. */
  current: boolean
  how: string
  [more: string]: unknown
}

export interface AuthClient<Config, Types = TypesOf<Config>> {
  me(options?: CallOptions): Promise<SignedInUser<Types>>
  /** A new token for the one that is kept. It is done by itself before the token expires. */
  refresh(options?: CallOptions): Promise<SignedIn<SignedInUser<Types>>>
  logout(options?: CallOptions): Promise<void>
  password(
    change: { readonly password: string; readonly new_password: string },
    options?: CallOptions,
  ): Promise<SignedIn<SignedInUser<Types>>>
  /** Mails a link, if there is such an account. */
  forgot(
    account: { readonly email: string; readonly user_type?: string | null },
    options?: CallOptions,
  ): Promise<void>
  /** Sets a new password with the token of a mailed link. */
  reset(change: { readonly token: string; readonly password: string }, options?: CallOptions): Promise<void>
  /** For `EventSource`, which cannot send headers. */
  ticket(options?: CallOptions): Promise<{ ticket: string; expires_at: string }>
  /** The places where the user is signed in. */
  sessions(options?: CallOptions): Promise<OwnSession[]>
  endSession(id: string, options?: CallOptions): Promise<void>
  endOtherSessions(options?: CallOptions): Promise<void>
  /** For admins: a client that acts as a user (`users/5`) for some minutes. */
  as(user: string, options?: CallOptions): Promise<Client<Config>>
}

/** What every client has besides its Entity types. */
export interface ClientCalls<Config, Types = TypesOf<Config>> {
  login(login: Login, options?: CallOptions): Promise<SignedIn<SignedInUser<Types>>>
  logout(options?: CallOptions): Promise<void>
  readonly auth: AuthClient<Config>
  readonly operations: OperationsClient
  /** Writes of any kind, all of them or none, as one operation. The results are those of the parts that are returned. */
  batch<const Parts extends readonly Part<unknown>[] | []>(
    build: (batch: BatchBuilder<Types>) => Parts,
    options?: CallOptions,
  ): Promise<BatchAnswer<Parts>>
  /** What has changed since a position. */
  changes(query?: ChangesQuery & CallOptions): Promise<ChangesPage>
  /** Whether a request would succeed. */
  may(question: MayQuestion, options?: CallOptions): Promise<MayAnswer>
  /** A route of the app: `route('POST /api/checkout/', { body })`. What it answers, the caller must know. */
  route<Path extends keyof RoutesOf<Config> & string, Answer = unknown>(
    path: Path,
    sent: RouteSent<RoutesOf<Config>[Path], Path>,
  ): Promise<Answer>
  health(options?: CallOptions): Promise<{ status: string }>
  healthDetails(options?: CallOptions): Promise<Record<string, unknown>>
  /** The OpenAPI document. */
  openapi(options?: CallOptions): Promise<Record<string, unknown>>
  /** The Entity types again: for those that are called as something above. */
  readonly entities: Collections<Config>
}

/** A client of an app. */
export type Client<Config = unknown> = Collections<Config> & ClientCalls<Config>

/** The Entity type with the same name as a call of the client is under `entities`. */
export function connect<Config = unknown>(url: string, options: ConnectOptions = {}): Client<Config> {
  const transport = new Transport(url, options)
  const known = new Map<string, EntityCalls>()
  const entity = (name: string): EntityCalls => {
    const calls = known.get(name) ?? new EntityCalls(transport, name)
    known.set(name, calls)
    return calls
  }
  const calls = callsOf(transport, entity, (token) => connect(url, { ...options, token }))
  return named(entity, { ...calls, entities: named(entity) }) as Client<Config>
}

/** Whatever its names are asked for, unless `own` has them. */
function named(make: (name: string) => unknown, own: object = {}): object {
  return new Proxy(own, {
    get: (target, name) =>
      name in target
        ? target[name as never]
        : // `await` and the console ask for such names.
          typeof name === 'symbol' || name === 'then' || name === 'toJSON'
          ? undefined
          : make(name),
  })
}

const NEVER = { repeat: 'never' } as const
type Ask = <T>(method: string, path: string, sent?: Sent) => Promise<T>

function callsOf(
  transport: Transport,
  entity: (name: string) => EntityCalls,
  again: (token: string) => Client,
): object {
  const ask: Ask = async (method, path, sent) => (await transport.send(method, path, sent)).body as never
  const auth = authOf(transport, ask, again)
  return {
    auth,
    login: async (body: Login, options?: CallOptions) => {
      const device = await transport.session.device()
      const headers = { 'Takeback-Device': device }
      return keep(transport, await transport.send('POST', 'auth/login', { ...NEVER, body, options, headers }))
    },
    logout: auth.logout,
    operations: operationsOf(transport, ask),
    batch: (build: (batch: object) => never, options?: CallOptions) => {
      const parts = new BatchParts()
      return parts.send(transport, build(named((name) => parts.of(name)) as never), { options, entity })
    },
    changes: (query?: Asked) => ask('GET', 'changes/', sentBy(query)),
    may: (body: MayQuestion, options?: CallOptions) =>
      ask('POST', 'may/', { repeat: 'always', body, options }),
    route: (key: string, { params = {}, query, body, ...options }: Anything = {}) => {
      const [method = '', path = ''] = key.split(' /api/')
      const filled = path.replace(/:(\w+)/g, (_, name) => encodeURIComponent(params[name]))
      return ask(method, filled, { query, body, options, ...(method !== 'GET' && NEVER) })
    },
    health: (options?: CallOptions) => ask('GET', 'health', { options }),
    healthDetails: (options?: CallOptions) => ask('GET', 'health/details', { options }),
    openapi: (options?: CallOptions) => ask('GET', 'openapi.json', { options }),
  }
}

/** Keeps the token of an answer. */
async function keep(transport: Transport, { body, headers }: Received): Promise<never> {
  await transport.session.keep(body as SignedIn<never>, headers.get('takeback-device'))
  return body as never
}

function authOf(transport: Transport, ask: Ask, again: (token: string) => Client): AuthClient<unknown> {
  const signIn = async (path: string, options?: CallOptions, body?: object) =>
    keep(transport, await transport.send('POST', path, { ...NEVER, options, body }))
  return {
    me: (options) => ask('GET', 'auth/me', { options }),
    refresh: (options) => signIn('auth/refresh', options),
    async logout(options) {
      await ask('POST', 'auth/logout', { ...NEVER, options })
      await transport.session.drop()
    },
    password: (body, options) => signIn('auth/password', options, body),
    forgot: (body, options) => ask('POST', 'auth/password/forgot', { ...NEVER, body, options }),
    reset: (body, options) => ask('POST', 'auth/password/reset', { ...NEVER, body, options }),
    ticket: (options) => ask('POST', 'auth/ticket/', { repeat: 'always', options }),
    sessions: async (options) => (await ask<Page<OwnSession>>('GET', 'auth/sessions/', { options })).data,
    endSession: (id, options) => ask('DELETE', `auth/sessions/${id}/`, { repeat: 'always', options }),
    endOtherSessions: (options) =>
      ask('DELETE', 'auth/sessions/', { repeat: 'always', query: { others: true }, options }),
    as: async (user, options) => {
      const { token } = await ask<{ token: string }>('POST', 'auth/as/', {
        ...NEVER,
        body: { user },
        options,
      })
      return again(token)
    },
  }
}

function operationsOf(transport: Transport, ask: Ask): OperationsClient {
  const undo = (id: string, options?: TakeBackOptions & CallOptions) =>
    ask<UndoResult>('POST', `operations/${id}/undo/`, sentBy(options as Asked))
  return {
    list: (query?: OperationQuery & CallOptions): Listing<Operation> =>
      pagesOf(transport, 'operations/', query as Asked),
    get: (id: string, query?: PageQuery & CallOptions) =>
      ask<OperationInFull>('GET', `operations/${id}/`, sentBy(query as Asked)),
    undo,
    redo: undo,
    undoAll: (filter: OperationFilter, options?: TakeBackOptions & CallOptions) =>
      ask<UndoResult>('POST', 'operations/undo/', sentBy(options as Asked, filter)),
  }
}
