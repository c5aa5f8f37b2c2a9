import type { Client } from '../client/client.ts'

/** A mail that the app would have sent. */
export interface TestMail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string | null
  /** The first URL in the text. */
  readonly link: string | null
}

/** A request that the app would have made to a webhook. */
export interface TestWebhook {
  /** The name of the webhook in the declaration. */
  readonly webhook: string
  readonly to: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** The app behind a `TestApp`. In Bun it runs in the process of the tests, elsewhere in its own process. */
export interface Engine {
  readonly url: string
  /** The token of the system, which passes every rule. */
  readonly systemToken: string
  fetch(request: Request): Promise<Response>
  /** Returns a token of a user, without a password. */
  signIn(user: string): Promise<string>
  /** Sets the clock to a time, in milliseconds since 1970. */
  at(time: number): Promise<void>
  reset(): Promise<void>
  settled(): Promise<void>
  mails(): Promise<readonly TestMail[]>
  webhooks(): Promise<readonly TestWebhook[]>
  run(job: string): Promise<void>
  close(): Promise<void>
}

/** A whole app in memory. */
export interface TestApp<Config = unknown> extends AsyncDisposable {
  /** The start of all URLs, in requests and in links of mails. */
  readonly url: string
  /** Sends a request: `app.fetch('/api/rooms/')`. */
  fetch(request: string | URL | Request, init?: RequestInit): Promise<Response>
  /** A client that is not signed in. */
  readonly client: Client<Config>
  /** A client that passes every rule, to set up a test. The journal calls it `system`. */
  readonly system: Client<Config>
  /** Returns a client that is logged in as a user, such as `users/1`, without a password. */
  as(user: string): Client<Config>
  /** Sets the clock, which then keeps running. */
  at(time: string | Date): Promise<void>
  /** Empties the database, clears mails and webhooks, and resets the clock. */
  reset(): Promise<void>
  /** Waits for reactions, mails and webhooks that earlier calls have caused. Rejects if one of them has failed. */
  settled(): Promise<void>
  /** Returns the mails since the start or the last reset. Waits until the app has settled. */
  mails(): Promise<readonly TestMail[]>
  /** Returns the requests to webhooks since the start or the last reset. Waits until the app has settled. */
  webhooks(): Promise<readonly TestWebhook[]>
  /** Runs a job until it ends. Rejects if it fails. */
  run(job: string): Promise<void>
  close(): Promise<void>
}

/**
 * Starts an app in memory. A file (a path from the working directory, or a URL) works everywhere; the declaration itself
 * works in Bun.
 */
export interface TestAppStart {
  <Config = unknown>(file: string | URL): Promise<TestApp<Config>>
  <Config extends { readonly entities: unknown }>(config: Config): Promise<TestApp<Config>>
}
