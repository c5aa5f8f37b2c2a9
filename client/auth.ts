import type { Page } from '../src/declare/api-types.ts'
import type { Login, SignedIn } from './answers.ts'
import { pagesOf } from './listing.ts'
import type { ApiRequest, ApiResponse, CallOptions, Transport } from './transport.ts'

/** A session of the caller. */
export interface OwnSession {
  id: string
  /** Whether the caller uses this session. */
  current: boolean
  /** How the session was started: `password`, `passkey` or `provider`. */
  how: string
  [more: string]: unknown
}

/** The account to mail a link to. */
export interface Account {
  readonly email: string
  /** Default: every user type that has an account with this e-mail. */
  readonly user_type?: string | null
}

/** The token of a mailed link. */
export interface MailedLink {
  readonly token: string
}

/** Proves that it is the user who asks: the password, or a code of the second factor. */
export type Proof = { readonly password: string } | { readonly code: string }

/** What a key may do, and for how long. */
export interface KeyTerms {
  readonly name?: string
  readonly expires_at?: string | null
  readonly can?: object | null
  readonly limits?: object | null
  readonly agent?: boolean
}

export interface Key {
  id: number
  /** How the journal names it: `keys/7`. */
  actor: string
  /** The user in whose name the key acts. */
  user: string
  name: string
  created_at: string
  expires_at: string | null
  last_used_at: string | null
  ended_at: string | null
  [more: string]: unknown
}

/** The account of a user at a provider. */
export interface Identity {
  id: number
  provider: string
  created_at: string
}

/** The code with which a provider sends the browser back. */
export interface ProviderCode {
  readonly code: string
  readonly code_verifier?: string
}

/** The second factor: an authenticator app. */
export interface TotpClient {
  get(options?: CallOptions): Promise<{ active: boolean; since: string | null; recovery_codes: number }>
  setUp(
    proof: { readonly password?: string },
    options?: CallOptions,
  ): Promise<{ secret: string; uri: string }>
  confirm(code: { readonly code: string }, options?: CallOptions): Promise<{ recovery_codes: string[] }>
  recoveryCodes(proof: Proof, options?: CallOptions): Promise<{ recovery_codes: string[] }>
  remove(proof: Proof, options?: CallOptions): Promise<void>
}

/** API keys. */
export interface KeysClient {
  /** The answer has the `key` itself, which is shown only once. */
  create(
    terms: KeyTerms & { readonly name: string; readonly user?: string; readonly password?: string },
    options?: CallOptions,
  ): Promise<Key & { key: string }>
  /** Admins can also list the keys of one user, or of everybody. */
  list(
    query?: { readonly user?: string; readonly everybody?: boolean },
    options?: CallOptions,
  ): Promise<Key[]>
  get(id: number, options?: CallOptions): Promise<Key & { done: Record<string, unknown> }>
  update(id: number, terms: KeyTerms & { readonly password?: string }, options?: CallOptions): Promise<Key>
  end(id: number, options?: CallOptions): Promise<Key>
}

export interface Passkey {
  id: number
  name: string
  created_at: string
  used_at: string | null
}

/** Passkeys. The browser creates the credentials, with `navigator.credentials`. */
export interface PasskeysClient<User> {
  list(options?: CallOptions): Promise<Passkey[]>
  /** Returns the options for `navigator.credentials.create`. */
  options(proof: { readonly password?: string }, options?: CallOptions): Promise<Record<string, unknown>>
  add(made: { readonly name: string; readonly credential: object }, options?: CallOptions): Promise<Passkey>
  remove(id: number, options?: CallOptions): Promise<void>
  /** Returns the options for `navigator.credentials.get`. */
  loginOptions(nothing?: object, options?: CallOptions): Promise<Record<string, unknown>>
  login(made: { readonly credential: object }, options?: CallOptions): Promise<SignedIn<User>>
}

/** Logins through providers, such as Google. */
export interface ProvidersClient<User> {
  list(options?: CallOptions): Promise<{ name: string; start: string }[]>
  /** Completes a login with the `code` that the provider gave to the browser. */
  exchange(
    code: ProviderCode & { readonly second_factor?: string },
    options?: CallOptions,
  ): Promise<SignedIn<User>>
  /** Starts linking a provider to the account: send the browser to `url`. */
  link(
    name: string,
    asked: { readonly password?: string; readonly return_to?: string; readonly code_challenge?: string },
    options?: CallOptions,
  ): Promise<{ url: string }>
}

export interface IdentitiesClient {
  list(options?: CallOptions): Promise<Identity[]>
  /** Completes what `providers.link` started. */
  add(code: ProviderCode, options?: CallOptions): Promise<Identity>
  remove(id: number, options?: CallOptions): Promise<void>
}

/** The account of the caller. `User` is the type of users, `Client` that of the client. */
export interface AuthClient<User, Client> {
  me(options?: CallOptions): Promise<User>
  /** Replaces the stored token. The client does this itself before the token expires. */
  refresh(options?: CallOptions): Promise<SignedIn<User>>
  logout(options?: CallOptions): Promise<void>
  password(
    change: { readonly password: string; readonly new_password: string; readonly keys?: 'end' },
    options?: CallOptions,
  ): Promise<SignedIn<User>>
  /** Mails a link to set a new password, if there is such an account. */
  forgot(account: Account, options?: CallOptions): Promise<void>
  /** Sets a new password with the token of a mailed link. */
  reset(change: MailedLink & { readonly password: string }, options?: CallOptions): Promise<void>
  /** Confirms the e-mail address with the token of a mailed link. */
  verify(link: MailedLink, options?: CallOptions): Promise<void>
  sendVerification(account: Account, options?: CallOptions): Promise<void>
  readonly email: {
    /** Mails a link to the new address. */
    change(to: { readonly email: string; readonly password?: string }, options?: CallOptions): Promise<void>
    confirm(link: MailedLink, options?: CallOptions): Promise<void>
    revert(link: MailedLink, options?: CallOptions): Promise<void>
  }
  /** Returns the sessions in which the user is logged in. */
  sessions(options?: CallOptions): Promise<OwnSession[]>
  endSession(id: string, options?: CallOptions): Promise<void>
  endOtherSessions(options?: CallOptions): Promise<void>
  readonly totp: TotpClient
  readonly passkeys: PasskeysClient<User>
  readonly keys: KeysClient
  readonly providers: ProvidersClient<User>
  readonly identities: IdentitiesClient
  /** Creates the first admin, and logs in. The server shows the `token` in its terminal. */
  firstAdmin(
    account: Omit<Login, 'user_type' | 'code'> & {
      readonly token: string
      readonly [field: string]: unknown
    },
    options?: CallOptions,
  ): Promise<SignedIn<User>>
  /** Returns one JSON object of at most 32 KiB, in which programs store settings of the user. */
  preferences(options?: CallOptions): Promise<Record<string, unknown>>
  setPreferences(preferences: object, options?: CallOptions): Promise<Record<string, unknown>>
  /** Returns a ticket for `EventSource`, which cannot send headers. */
  ticket(options?: CallOptions): Promise<{ ticket: string; expires_at: string }>
  /** For admins: returns a client that acts as a user (`users/5`) for some minutes. */
  as(user: string, options?: CallOptions): Promise<Client>
}

/** Stores the token of an answer. Live lists are read again with it, since it may be that of another user. */
export async function keepSession(transport: Transport, { body, headers }: ApiResponse): Promise<never> {
  await transport.session.keep(body as SignedIn<never>, headers.get('takeback-device'))
  transport.stream?.restart()
  return body as never
}

export function authOf(transport: Transport, again: (token: string) => unknown): AuthClient<never, never> {
  const ask = async (method: string, path: string, sent: ApiRequest): Promise<never> =>
    (await transport.send(method, `auth/${path}`, sent)).body as never
  const get = (path: string) => (options?: CallOptions) => ask('GET', path, { options })
  const post = (path: string) => (body?: object, options?: CallOptions) =>
    ask('POST', path, { body, options })
  const signIn = (path: string) => async (body?: object, options?: CallOptions) =>
    keepSession(transport, await transport.send('POST', `auth/${path}`, { body, options }))
  const list = (path: string) => async (options?: CallOptions) =>
    ((await get(path)(options)) as Page<never>).data
  const end = (path: string) => (id: string | number, options?: CallOptions) =>
    ask('DELETE', `${path}/${id}/`, { options })
  return {
    me: get('me'),
    refresh: (options) => signIn('refresh')(undefined, options),
    async logout(options) {
      await post('logout')(undefined, options).finally(() => transport.session.drop())
      transport.stream?.restart()
    },
    password: signIn('password'),
    forgot: post('password/forgot'),
    reset: post('password/reset'),
    verify: post('verify'),
    sendVerification: post('verify/send'),
    email: { change: post('email'), confirm: post('email/confirm'), revert: post('email/revert') },
    sessions: list('sessions/'),
    endSession: end('sessions'),
    endOtherSessions: (options) => ask('DELETE', 'sessions/', { query: { others: true }, options }),
    totp: {
      get: get('totp/'),
      setUp: post('totp/'),
      confirm: post('totp/confirm'),
      recoveryCodes: post('totp/recovery-codes'),
      remove: (body, options) => ask('DELETE', 'totp/', { repeat: 'never', body, options }),
    },
    passkeys: {
      list: list('passkeys/'),
      options: post('passkeys/options'),
      add: post('passkeys/'),
      remove: end('passkeys'),
      loginOptions: (body = {}, options) => post('passkeys/login/options')(body, options),
      login: signIn('passkeys/login'),
    },
    keys: {
      create: post('keys/'),
      list: (query, options) =>
        pagesOf<never>(transport, 'auth/keys/', { ...query, ...options, limit: 200 }).all(),
      get: (id, options) => get(`keys/${id}/`)(options),
      update: (id, body, options) => ask('PATCH', `keys/${id}/`, { body, options }),
      end: end('keys'),
    },
    providers: {
      list: list('providers/'),
      exchange: signIn('providers/exchange'),
      link: (name, body, options) => post(`providers/${name}/link`)(body, options),
    },
    identities: {
      list: list('identities/'),
      add: post('identities/'),
      remove: end('identities'),
    },
    firstAdmin: signIn('first-admin/'),
    preferences: get('preferences/'),
    setPreferences: (body, options) => ask('PUT', 'preferences/', { body, options }),
    ticket: (options) => ask('POST', 'ticket/', { repeat: 'always', options }),
    as: async (user, options) =>
      again(((await post('as/')({ user }, options)) as { token: string }).token) as never,
  }
}
