import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Subprocess } from 'bun'
import { eventually, newDatabase, type TestDatabase } from '../harness.ts'
import { freePort } from '../ports.ts'
import { startPostgres } from '../postgres.ts'
import { example, LOGIN, newFolder, run, takeback } from '../process/process.ts'
import { type Balancer, kinds, startProxy } from './proxy.ts'

/** Clients that call without a pause. Half of them write. */
const CLIENTS = 8
const json = { Accept: 'application/json', 'Content-Type': 'application/json' }

/** An instance as a service runs it: stopped by a signal, then started again at the same address. */
class Instance {
  readonly #args: readonly string[]
  readonly #port: number
  #child: Subprocess | undefined
  #log = ''
  #gathered: Promise<void> | undefined

  constructor(port: number, args: readonly string[]) {
    this.#port = port
    this.#args = args
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  async start(): Promise<void> {
    const args = ['serve', '--port', String(this.#port), '--log', 'json', ...this.#args]
    const child = takeback([...args, '--rate-limit', 'writes=off,reads=off'], {
      direct: true,
      env: { TAKEBACK_DRAIN: '', TAKEBACK_TRUSTED_PROXIES: '127.0.0.1' },
    })
    this.#child = child
    this.#log = ''
    this.#gathered = this.#gather(child.stdout)
    await eventually(async () => (await this.#health()) === 200)
  }

  async #gather(stdout: ReadableStream<Uint8Array>): Promise<void> {
    for await (const chunk of stdout)
      if (!this.serves) this.#log = this.#log.slice(-100) + new TextDecoder().decode(chunk)
  }

  /** Whether the balancer has sent it a request since its start. */
  get serves(): boolean {
    return this.#log.includes('/api/rooms/')
  }

  async #health(): Promise<number | undefined> {
    return (await fetch(`${this.url}/api/health`, { headers: json }).catch(() => undefined))?.status
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    this.#child?.kill(signal)
    await this.#gathered
    return (await this.#child?.exited) ?? 0
  }
}

for (const name of Object.keys(kinds))
  describe(`a rolling restart behind ${name}, as docs/instances.md configures it`, () => {
    const folder = newFolder()
    const instances: Instance[] = []
    let database: TestDatabase
    let proxy: Balancer

    beforeAll(async () => {
      await startPostgres()
      database = await newDatabase('postgres', folder)
      const args = ['--config', example, '--database', database.url]
      await run(['user', 'add', 'admins', LOGIN.email, '--password', LOGIN.password, ...args])
      for (let at = 0; at < 2; at++) instances.push(new Instance(freePort(), args))
      for (const instance of instances) await instance.start()
      proxy = await startProxy(
        name,
        instances.map(({ url }) => url),
        folder,
      )
    })
    afterAll(async () => {
      await proxy?.stop()
      for (const instance of instances) await instance.stop('SIGINT')
      await database?.remove()
    })

    test('loses no request', async () => {
      const login = await fetch(`${proxy.url}/api/auth/login`, {
        method: 'POST',
        headers: json,
        body: JSON.stringify(LOGIN),
      })
      const { token } = (await login.json()) as { token: string }
      const headers = { ...json, Authorization: `Bearer ${token}` }
      const counts = new Map<string, number>()
      let [over, serial] = [false, 0]
      const send = async (at: number) => {
        const writes = at % 2 === 0
        const more = writes
          ? { method: 'POST', body: JSON.stringify({ title: `room ${serial++}`, beds: 1 }) }
          : {}
        const answer = await fetch(`${proxy.url}/api/rooms/?${writes ? '' : 'limit=1'}`, { headers, ...more })
        await answer.text()
        return answer.status
      }
      const clients = Array.from({ length: CLIENTS }, async (_, at) => {
        while (!over) {
          const outcome = String(await send(at).catch((error) => error.code ?? error))
          counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
        }
      })
      for (const instance of instances) {
        expect(await instance.stop()).toBe(0)
        await instance.start()
        await eventually(() => instance.serves)
      }
      over = true
      await Promise.all(clients)
      expect([...counts.keys()].sort()).toEqual(['200', '201'])
      expect(await database.query('SELECT count(*) AS n FROM rooms')).toEqual([{ n: counts.get('201') }])
    })
  })
