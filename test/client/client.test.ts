import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { endpoints } from '../../src/api/endpoints.ts'
import { ADMIN, giant, isDeep, onEveryStore } from '../harness.ts'
import { hotel } from './app.ts'
import { bundled } from './bundled.ts'
import { inChromium } from './chromium.ts'
import { scenario } from './scenario.ts'

/** Calls that the scenario does not make, and why. */
const elsewhere: Record<string, string> = {
  'POST /api/login': 'an alias of POST /api/auth/login',
  'GET /api/auth/providers/{name}/start': 'a link, which a browser follows',
  'GET /api/auth/providers/{name}/callback': 'where a provider sends the browser',
}

onEveryStore(
  'the client',
  hotel,
  (server) => {
    const place = (run: string) => ({ url: server.url, admin: ADMIN, run })

    test('reaches the whole contract in Bun', async () => {
      const called = new Set<string>()
      const record = (url: string, init: RequestInit) => {
        called.add(`${init.method} ${new URL(url).pathname}`)
        return fetch(url, init)
      }
      expect(await scenario({ ...place('bun'), options: { fetch: record } })).toBe('done')
      const patternOf = (path: string) =>
        new RegExp(
          `^${path.replace('{entity}', '(houses|rooms|bookings|users)').replace(/\{\w+\}/g, '[^/]+')}/?$`,
        )
      const missing = [...endpoints.server, ...endpoints.entity]
        .map(({ method, path }) => ({ method, path, key: `${method} ${path}` }))
        .filter(({ key }) => elsewhere[key] === undefined)
        .filter(({ method, path }) => {
          const pattern = patternOf(path.replace(/\/$/, ''))
          return ![...called].some((one) => {
            const [by = '', at = ''] = one.split(' ')
            return by === method && pattern.test(at)
          })
        })
      expect(missing.map(({ key }) => key)).toEqual([])
    })

    // Running the client elsewhere does not depend on the database.
    if (server.store !== 'sqlite' && !isDeep) return

    giant('and in Node', async () => {
      const file = join(server.folder, 'scenario.mjs')
      const run = `console.log(await scenario(${JSON.stringify(place('node'))}))`
      writeFileSync(file, `${await bundled('scenario.ts')}\n${run}`)
      const child = Bun.spawn(['node', file], { stdout: 'pipe', stderr: 'pipe' })
      const [said, wrong] = [await child.stdout.text(), await child.stderr.text()]
      expect([said.trim(), wrong]).toEqual(['done', ''])
    })

    giant('and in a page of another origin in Chromium', async () => {
      const script = `${await bundled('scenario.ts')}\nwindow.scenario = scenario`
      const done = await inChromium(script, (page) =>
        page.evaluate((given) => (globalThis as any).scenario(given), place('page')),
      )
      expect(done).toBe('done')
    })

    // Without HTTP/2, a browser has six connections to a server.
    giant('keeps a dozen live lists in Chromium, and still writes', async () => {
      const given = { url: server.url, login: ADMIN }
      const lists = await inChromium(await bundled('live-page.ts'), (page) =>
        page.evaluate(({ url, login }) => (globalThis as any).followMany(url, login), given),
      )
      expect(lists).toBe(12)
    })
  },
  { 'allow-origins': '*' },
)
