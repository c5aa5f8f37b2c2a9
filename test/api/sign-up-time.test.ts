import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { app, entity, everyone } from '../../src/takeback.ts'
import { ADMIN, onEveryStore, runs } from '../harness.ts'

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user', verify: true }, fields: {}, access: { create: everyone } }),
  },
})

const outbox = mkdtempSync(join(tmpdir(), 'takeback-outbox-'))
afterAll(() => rmSync(outbox, { recursive: true, force: true }))

/** `TAKEBACK_TEST_RUNS=2000` tells times apart that differ by a hundredth. */
const PAIRS = runs(6)
const ENOUGH = 1000
/** On a busy machine it takes more of them until one of each kind was not disturbed. */
const MOST = 200

const mean = (times: readonly number[]) => times.reduce((sum, one) => sum + one, 0) / times.length
const variance = (times: readonly number[]) => {
  const middle = mean(times)
  return times.reduce((sum, one) => sum + (one - middle) ** 2, 0) / (times.length - 1)
}
/** Without a hash it takes a fiftieth of the time. The fastest of each are those that nothing else has slowed down. */
const areAlike = (some: readonly number[], others: readonly number[]) => {
  const ratio = Math.min(...some) / Math.min(...others)
  return Math.min(ratio, 1 / ratio) > 0.3
}
/** Welch's t: by how many standard errors two means differ. */
const differs = (some: readonly number[], others: readonly number[]) =>
  Math.abs(mean(some) - mean(others)) /
  Math.sqrt(variance(some) / some.length + variance(others) / others.length)
/** Without the slowest twentieth, in which the machine did something else. */
const usual = (times: readonly number[]) =>
  times.toSorted((a, b) => a - b).slice(0, Math.ceil(times.length * 0.95))

onEveryStore(
  'the time of an answer',
  declaration,
  (server) => {
    let made = 0
    const emails = () => ({ known: `known${made}@example.com`, unknown: `new${made++}@example.com` })

    /** Sends both in turn, in an order that is random, each from an address of its own. */
    const compare = async (path: string, bodyOf: (email: string) => object) => {
      const times = { known: [] as number[], unknown: [] as number[] }
      const wanted = (at: number) => at < PAIRS || (at < MOST && !areAlike(times.known, times.unknown))
      for (let at = 0; wanted(at); at++) {
        const pair = emails()
        await server.member('users', { email: pair.known })
        const kinds = ['known', 'unknown'] as const
        for (const kind of Math.random() < 0.5 ? kinds : kinds.toReversed()) {
          const address = `10.${made >> 16}.${(made >> 8) & 255}.${made++ & 255}`
          const began = performance.now()
          const { status } = await server.call('POST', path, {
            body: bodyOf(pair[kind]),
            token: null,
            headers: { 'X-Forwarded-For': address },
          })
          times[kind].push(performance.now() - began)
          expect(status).toBeLessThan(300)
        }
      }
      const [known, unknown] = [usual(times.known), usual(times.unknown)]
      const t = differs(known, unknown)
      if (PAIRS >= ENOUGH) {
        console.log(
          `${path}: ${mean(known).toFixed(3)} and ${mean(unknown).toFixed(3)} ms, t = ${t.toFixed(2)}`,
        )
        expect(t).toBeLessThan(4.5)
      }
      expect(areAlike(times.known, times.unknown)).toBe(true)
    }

    test(
      'to a sign-up does not say whether the e-mail is taken',
      () => compare('/api/users/', (email) => ({ email, password: ADMIN.password })),
      3_600_000,
    )

    test(
      'to a request for another link does not say whether there is an account',
      () => compare('/api/auth/verify/send', (email) => ({ email })),
      3_600_000,
    )
  },
  { outbox, 'trusted-proxies': '127.0.0.1', 'rate-limit': 'signups=off,writes=off' },
)
