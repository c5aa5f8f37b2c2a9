import { randomBytes } from 'node:crypto'
import { newSession } from '../src/account/tokens.ts'
import { selfOf } from '../src/api/account/sign-in.ts'
import { jobWork } from '../src/api/system/jobs.ts'
import { loadModel, type Running, startApp } from '../src/app.ts'
import { CodeFailed } from '../src/code/guard.ts'
import { jobsOf } from '../src/code/jobs.ts'
import { IN_MEMORY, readConfig } from '../src/config.ts'
import { didYouMean } from '../src/declare/closest.ts'
import type { Model } from '../src/declare/model.ts'
import type { ServerEvent } from '../src/observe/events.ts'
import { Observer } from '../src/observe/observer.ts'
import { type Caller, system } from '../src/plan/viewer/actor.ts'
import { InProcess } from '../src/serve/http/in-process.ts'
import type { CallerLookup } from '../src/serve/http/service.ts'
import { CaughtMessages } from './caught-messages.ts'
import { rightClock, setClock } from './clock.ts'
import type { Engine, TestMail, TestWebhook } from './types.ts'

const SYSTEM: Caller = Object.freeze({ actor: system, session: undefined, expired: false })

/** Loads the file that `testApp` was given. */
export function loadTested(file: string): Promise<Model> {
  const example = "new URL('./takeback.config.ts', import.meta.url)"
  return loadModel(file, `testApp needs the file of the declaration, such as ${example}`)
}

/** The running app, which a reset replaces. */
interface Started {
  readonly server: InProcess
  readonly running: Running
}

/** The whole server in this process, on a database in memory, without a port. */
export class MemoryEngine implements Engine {
  readonly url: string
  readonly systemToken = randomBytes(24).toString('base64url')
  readonly #model: Model
  readonly #caught = new CaughtMessages()
  #started: Started | undefined
  /** Failures outside of requests that were not reported yet. */
  #failures: readonly unknown[] = []
  /** How many tasks have finished. */
  #ended = 0

  private constructor(model: Model, url: string) {
    this.#model = model
    this.url = url
  }

  static async start(model: Model, url = 'http://takeback.test'): Promise<MemoryEngine> {
    const engine = new MemoryEngine(model, url)
    engine.#started = await engine.#start()
    return engine
  }

  async #start(former?: Running): Promise<Started> {
    const server = new InProcess(this.url, (usual) => this.#recognise(usual))
    const observer = new Observer()
    observer.subscribe((event) => this.#hear(event))
    const rates = 'signups=off,writes=off,reads=off,streams=off'
    const config = readConfig({ database: IN_MEMORY, log: 'json', 'rate-limit': rates }, {})
    const running = await startApp(config, this.#model, observer, {
      bound: server,
      recurs: false,
      parts: [this.#caught.part],
      ...(former !== undefined && { plans: former.context.plans }),
    })
    return { server, running }
  }

  get #now(): Started {
    if (this.#started === undefined) throw new Error('The app is closed.')
    return this.#started
  }

  #recognise(usual: CallerLookup): CallerLookup {
    const isSystem = (token: string) => token === this.systemToken
    return {
      cached: (token) => (isSystem(token) ? SYSTEM : usual.cached(token)),
      identify: async (token) => (isSystem(token) ? SYSTEM : usual.identify(token)),
    }
  }

  #hear(event: ServerEvent): void {
    // Print the error: the answer does not contain it.
    if (event.kind === 'request_failed') console.error(event.message, event.error)
    if (event.kind === 'task_done') this.#ended++
    if (event.kind === 'task_failed' || event.kind === 'task_set_aside' || event.kind === 'work_failed')
      this.#failures = [...this.#failures, event.error]
  }

  async fetch(request: Request): Promise<Response> {
    return this.#now.server.fetch(request)
  }

  async signIn(user: string): Promise<string> {
    const { context } = this.#now.running
    const [entity = '', text = ''] = user.split('/')
    const plan = context.plans.get(entity)
    if (plan?.login === undefined) {
      const names = context.model.logins.map(({ name }) => name)
      throw new TypeError(`"${user}" is not a user, such as users/1${didYouMean(entity, names)}.`)
    }
    const id = Number(text)
    const self = await selfOf(context, plan, id)
    if (self === undefined) throw new Error(`There is no ${user}.`)
    const session = newSession(self.epoch, true)
    const visitor = { address: '127.0.0.1', agent: 'takeback/testing' }
    await context.sessions.start({ entity, id, epoch: self.epoch }, session, 'password', visitor)
    return (await context.tokens.issue({ entity, id, session })).token
  }

  async at(time: number): Promise<void> {
    setClock(time)
    // Tokens expire by the new clock, even those that were verified a moment ago.
    this.#now.running.context.identities.forget()
  }

  async reset(): Promise<void> {
    const { running } = this.#now
    rightClock()
    await running.close()
    this.#caught.clear()
    this.#failures = []
    this.#started = await this.#start(running)
  }

  async settled(): Promise<void> {
    const { context, followers } = this.#now.running
    // A reaction may finish and write between two looks, so nothing must be left twice in a row.
    for (let quiet = 0; quiet < 2; ) {
      const ended = this.#ended
      await Promise.all(followers.map((follower) => follower.catchUp()))
      const { queues } = await context.work.state()
      this.#tellFailure()
      const isBusy = Object.values(queues).some(({ waiting, running }) => waiting + running > 0)
      quiet = isBusy || ended !== this.#ended ? 0 : quiet + 1
      context.work.wake()
      if (isBusy) await Bun.sleep(1)
    }
  }

  #tellFailure(): void {
    const [first] = this.#failures
    this.#failures = []
    if (first !== undefined) throw first
  }

  async mails(): Promise<readonly TestMail[]> {
    await this.settled()
    return this.#caught.mails
  }

  async webhooks(): Promise<readonly TestWebhook[]> {
    await this.settled()
    return this.#caught.webhooks
  }

  async run(job: string): Promise<void> {
    const { context } = this.#now.running
    const found = jobsOf(context).find(({ name }) => name === jobWork(job))
    if (found === undefined) {
      const names = context.model.code.jobs.map(({ name }) => name)
      throw new TypeError(`There is no job "${job}"${didYouMean(job, names)}.`)
    }
    const { signal } = new AbortController()
    try {
      await found.run({ store: context.store, signal, lost: signal, pause: async () => {} })
    } catch (error) {
      throw error instanceof CodeFailed ? error.cause : error
    }
  }

  async close(): Promise<void> {
    const started = this.#started
    this.#started = undefined
    rightClock()
    await started?.running.close()
  }
}
