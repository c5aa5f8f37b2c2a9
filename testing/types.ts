import type { Client } from '../client/client.ts'

/** A mail that the app would have sent. */
export interface TestMail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string | null
  /** The first address in the text. */
  readonly link: string | null
}

/** A request that the app would have made to a webhook. */
export interface TestWebhook {
  /** Its name in the declaration. */
  readonly webhook: string
  readonly to: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** What an app in memory can do. In Bun it is in the process of the tests, otherwise in one of its own. */
export interface Engine {
  readonly url: string
  /** With this token a request is made by the system, which passes every rule. */
  readonly systemToken: string
  fetch(request: Request): Promise<Response>
  /** A token of a user, without a password. */
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
  /** What the addresses of requests and of links in mails begin with. */
  readonly url: string
  /** Sends a request: `app.fetch('/api/rooms/')`. */
  fetch(request: string | URL | Request, init?: RequestInit): Promise<Response>
  /** A client that is not signed in. */
  readonly client: Client<Config>
  /** A client that passes every rule: for what a test begins with. The journal calls it `system`. */
  readonly system: Client<Config>
  /** A client of a user, such as `users/1`, without a password. */
  as(user: string): Client<Config>
  /** Sets the clock, which continues from there. */
  at(time: string | Date): Promise<void>
  /** Empties the database, forgets mails and webhooks, and sets the clock right. */
  reset(): Promise<void>
  /** Waits for reactions, mails and webhooks that earlier calls have caused. Rejects if one of them has failed. */
  settled(): Promise<void>
  /** The mails since the start or the last reset. Waits until the app has settled. */
  mails(): Promise<readonly TestMail[]>
  /** The requests to webhooks since the start or the last reset. Waits until the app has settled. */
  webhooks(): Promise<readonly TestWebhook[]>
  /** Runs a job, and waits for its end. Rejects if it fails. */
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
