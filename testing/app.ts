import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Client, connect } from '../client/client.ts'
import type { Engine, TestApp } from './types.ts'

/** Returns the app that tests use, on top of an engine. */
export function testAppOf<Config>(engine: Engine): TestApp<Config> {
  /** Counts clock jumps and resets: tokens from before may be invalid. */
  let era = 0
  const { url } = engine
  const send = (input: string, init?: RequestInit) => engine.fetch(new Request(input, init))
  const clientWith = (token?: () => string | Promise<string>): Client<Config> =>
    connect<Config>(url, { fetch: send, retries: 0, ...(token !== undefined && { token }) })
  const close = () => engine.close()
  return {
    url,
    fetch: (input, init) =>
      input instanceof Request
        ? engine.fetch(new Request(input, init))
        : send(new URL(input, url).href, init),
    client: clientWith(),
    system: clientWith(() => engine.systemToken),
    as: (user) => clientWith(tokenOf(engine, user, () => era)),
    async at(time) {
      const ms = time instanceof Date ? time.getTime() : Date.parse(time)
      if (Number.isNaN(ms)) throw new TypeError(`"${time}" is not a time such as 2027-01-01T08:00:00Z.`)
      era++
      await engine.at(ms)
    },
    async reset() {
      era++
      await engine.reset()
    },
    settled: () => engine.settled(),
    mails: () => engine.mails(),
    webhooks: () => engine.webhooks(),
    run: (job) => engine.run(job),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Returns a function that logs a client in on its first call, and again in a new era. */
function tokenOf(engine: Engine, user: string, eraNow: () => number): () => Promise<string> {
  let known: { readonly era: number; readonly token: Promise<string> } | undefined
  return () => {
    const era = eraNow()
    if (known?.era === era) return known.token
    const token = engine.signIn(user)
    known = { era, token }
    // Try again with the next call: the user may be created later.
    token.catch(() => {
      known = undefined
    })
    return token
  }
}

/** Returns the path of a declaration; undefined if it is the declaration itself. */
export function fileOf(config: unknown): string | undefined {
  if (config instanceof URL) return fileURLToPath(config)
  if (typeof config !== 'string') return undefined
  return config.startsWith('file:') ? fileURLToPath(config) : resolve(config)
}
