// takeback/testing outside of Bun (Node, Vitest): the app runs in its own process, in Bun.
import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { fileOf, testAppOf } from './app.ts'
import type { Answer, EngineCall, EngineRequest, Reply, SentError } from './messages.ts'
import type { Engine, TestApp, TestAppStart } from './types.ts'

export type * from './types.ts'

/** The folder of this package. */
const home = dirname(createRequire(import.meta.url).resolve('takeback/package.json'))

export const testApp: TestAppStart = async <Config>(config: unknown): Promise<TestApp<Config>> => {
  const file = fileOf(config)
  if (file === undefined)
    throw new TypeError(
      "Outside of Bun, testApp needs the file of the declaration: testApp<typeof config>(new URL('./takeback.config.ts', import.meta.url)).",
    )
  return testAppOf(await ChildEngine.start(file))
}

async function findBun(): Promise<string> {
  const { findBun } = (await import(pathToFileURL(join(home, 'bin', 'find-bun.js')).href)) as {
    findBun(): string | undefined
  }
  const bun = findBun()
  if (bun === undefined)
    throw new Error(`The packages that Takeback needs are not installed in ${home}: run npm install.`)
  return bun
}

/** The app in a child process. */
class ChildEngine implements Pick<Engine, 'fetch'> {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  readonly #started = withResolvers<Pick<Engine, 'url' | 'systemToken'>>()
  #count = 0

  private constructor(child: ChildProcess) {
    this.#child = child
    child.on('message', (reply: Reply) => this.#hear(reply))
    child.on('error', (error) => this.#end(error))
    child.on('exit', () => this.#end(new Error('The process of the app has ended.')))
  }

  static async start(file: string): Promise<Engine> {
    const child = spawn(await findBun(), [join(home, 'testing', 'child.ts'), file], {
      // The app must not print into the results of the tests.
      stdio: ['ignore', 2, 2, 'ipc'],
    })
    const engine = new ChildEngine(child)
    try {
      return engine.#as(await engine.#started.promise)
    } catch (error) {
      // The caller never gets the app, so it cannot close it.
      await engine.#close()
      throw error
    } finally {
      engine.#rest()
    }
  }

  #as({ url, systemToken }: Pick<Engine, 'url' | 'systemToken'>): Engine {
    const ask =
      <T>(call: EngineCall) =>
      (...given: unknown[]) =>
        this.#send(call, given) as Promise<T>
    return {
      url,
      systemToken,
      fetch: (request) => this.fetch(request),
      signIn: ask('signIn'),
      at: ask('at'),
      reset: ask('reset'),
      settled: ask('settled'),
      mails: ask('mails'),
      webhooks: ask('webhooks'),
      run: ask('run'),
      close: () => this.#close(),
    }
  }

  fetch(request: Request): Promise<Response> {
    return fetch(request)
  }

  #send(call: EngineCall, given: readonly unknown[]): Promise<unknown> {
    const waiting = withResolvers<unknown>()
    const question: EngineRequest = { number: ++this.#count, call, given }
    if (!this.#child.connected) return Promise.reject(new Error('The app is closed.'))
    this.#waiting.set(question.number, waiting)
    this.#child.channel?.ref()
    this.#child.send(question)
    return waiting.promise
  }

  #hear(reply: Reply): void {
    if ('started' in reply) this.#started.resolve(reply.started)
    else if ('refused' in reply) this.#started.reject(errorOf(reply.refused))
    else this.#answer(reply)
  }

  #answer({ number, value, error }: Answer): void {
    const waiting = this.#waiting.get(number)
    this.#waiting.delete(number)
    if (this.#waiting.size === 0) this.#rest()
    if (error === undefined) waiting?.resolve(value)
    else waiting?.reject(errorOf(error))
  }

  /** While no call is open, the app does not keep the process of the tests alive. */
  #rest(): void {
    this.#child.unref()
    this.#child.channel?.unref()
  }

  #end(error: Error): void {
    this.#started.reject(error)
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }

  async #close(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve))
    if (!this.#child.connected) return
    this.#child.ref()
    this.#child.disconnect()
    await ended
  }
}

function errorOf({ name, message, stack }: SentError): Error {
  return Object.assign(new Error(message), { name, stack })
}

/** Node 20 has no `Promise.withResolvers`. */
function withResolvers<T>(): PromiseWithResolvers<T> {
  let settle: Omit<PromiseWithResolvers<T>, 'promise'> = { resolve() {}, reject() {} }
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject }
  })
  // It may reject when nobody awaits it.
  promise.catch(() => {})
  return { promise, ...settle }
}
