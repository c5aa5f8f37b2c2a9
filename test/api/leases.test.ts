import { describe, expect } from 'bun:test'
import { compile, param, sql } from '../../src/store/sql.ts'
import { step } from '../../src/store/step.ts'
import type { Store } from '../../src/store/store.ts'
import { LeaseLost } from '../../src/work/job.ts'
import { Runner } from '../../src/work/runner.ts'
import { eventually, giant, TestServer } from '../harness.ts'
import { declaration, enqueue, type Instance, onInstances } from '../instances.ts'

const HOUR = 3_600_000

/** Long enough that a busy machine renews it in time. */
const LEASE_MS = 4000

onInstances('leases of background work', (all) => {
  describe('an instance that stops', () => {
    giant('hands over at once what it has not done', async () => {
      const [name, queue] = [all.newName('long'), all.newName('long')]
      const begun: string[] = []
      const add = ({ runner }: Instance, who: string, endless: boolean) => {
        const run = async (what: string, signal: AbortSignal) => {
          begun.push(`${who} ${what}`)
          if (endless)
            await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('cut'))))
        }
        runner.add({ name, every: HOUR, run: ({ signal }) => run('work', signal) })
        runner.handle({ name: queue, run: ({ signal, attempt }) => run(`task ${attempt}`, signal) })
      }
      const [one, other] = [await all.one(), await all.one()]
      add(one, 'one', true)
      one.runner.start()
      await enqueue(one, { queue, payload: 1 })
      await eventually(() => begun.length === 2)
      add(other, 'other', false)
      other.runner.start()
      await Bun.sleep(300)
      expect(begun.toSorted()).toEqual(['one task 1', 'one work'])
      const stopped = performance.now()
      await one.runner.stop()
      await eventually(() => begun.length === 4)
      // A lease would last for half a minute.
      expect(performance.now() - stopped).toBeLessThan(25_000)
      expect(begun.slice(2).toSorted()).toEqual(['other task 1', 'other work'])
      await eventually(async () => (await all.tasks(queue)).length === 0)
      expect([await all.work(name), one.events]).toMatchObject([{ error: null, failures: 0 }, []])
    })

    giant('does so as soon as it drains', async () => {
      const name = all.newName('drained')
      const begun: string[] = []
      const add = (runner: Runner, who: string) =>
        runner.add({
          name,
          every: HOUR,
          run: async ({ pause }) => {
            begun.push(who)
            if (who === 'draining') for (;;) await pause()
          },
        })
      const draining = new TestServer(
        all.store,
        declaration,
        {},
        {
          ...all.database,
          remove: async () => {},
        },
      )
      await draining.start()
      add(draining.context.work, 'draining')
      await eventually(() => begun.length === 1)
      const other = await all.one()
      add(other.runner, 'other')
      other.runner.start()
      let drained = false
      const drain = draining.drain(5000).then(() => {
        drained = true
      })
      await eventually(() => begun.length === 2)
      expect([begun, drained]).toEqual([['draining', 'other'], false])
      expect((await draining.call('GET', '/api/health')).status).toBe(503)
      await drain
      await draining.remove()
    })

    giant('gives up what does not end, and it cannot write any more', async () => {
      const name = all.newName('stubborn')
      const [one, other] = [await all.one(), await all.one()]
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      const outcomes: unknown[] = []
      one.runner.add({
        name,
        every: HOUR,
        run: async ({ store: fenced }) => {
          await released
          outcomes.push(await fenced.write([], {}).catch((error) => error))
        },
      })
      one.runner.start()
      await eventually(
        async () => (await all.work(name)).holder !== undefined && (await all.work(name)).holder !== null,
      )
      await one.runner.stop()
      let runs = 0
      other.runner.add({
        name,
        every: HOUR,
        run: async () => {
          runs++
        },
      })
      other.runner.start()
      await eventually(() => runs === 1)
      release()
      await eventually(() => outcomes.length === 1)
      expect(outcomes[0]).toBeInstanceOf(LeaseLost)
    })
  })

  giant('whoever has lost a lease writes nothing through it, and is told to end', async () => {
    const name = all.newName('fenced')
    const one = await all.one()
    const key = all.newName('written')
    const insert = step(
      one.store.dialect,
      'insert',
      'any',
      sql`INSERT INTO takeback_meta ("key", "value") VALUES (${param('$key')}, 'x')`,
    )
    const find = compile(
      sql`SELECT 1 FROM takeback_meta WHERE "key" = ${param('$key')}`,
      one.store.dialect.placeholder,
    )
    const written = async (store: Store, $key: string) => (await store.read(find, { $key })).length
    const outcomes: unknown[] = []
    one.runner.add({
      name,
      every: HOUR,
      run: async ({ store: fenced, signal, pause }) => {
        await fenced.write([insert], { $key: `${key} 1` })
        await fenced.transact(function* () {
          yield { kind: 'write', steps: [insert], params: { $key: `${key} 2` } }
        })
        await all.database.query(
          "UPDATE takeback_work SET fence = fence + 1, holder = 'another' WHERE name = $1",
          name,
        )
        const again = fenced.transact(function* () {
          yield { kind: 'write', steps: [insert], params: { $key: `${key} 3` } }
        })
        outcomes.push(await again.catch((error) => error))
        outcomes.push(await fenced.write([insert], { $key: `${key} 4` }).catch((error) => error))
        outcomes.push(signal.reason, await pause().catch((error) => error))
      },
    })
    one.runner.start()
    await eventually(() => outcomes.length === 4)
    for (const outcome of outcomes) expect(outcome).toBeInstanceOf(LeaseLost)
    const counts = [1, 2, 3, 4].map((at) => written(one.store, `${key} ${at}`))
    expect(await Promise.all(counts)).toEqual([1, 1, 0, 0])
    await eventually(() => one.events.some(({ kind }) => kind === 'lease_lost'))
    expect(await all.work(name)).toMatchObject({ holder: 'another' })
  })

  giant('a lease is renewed for as long as its work takes', async () => {
    const [name, queue] = [all.newName('slow'), all.newName('slow')]
    let [runs, done] = [0, 0]
    const one = await all.one({ leaseMs: LEASE_MS })
    const made = [one, await all.one({ leaseMs: LEASE_MS }), await all.one({ leaseMs: LEASE_MS })]
    for (const { runner } of made) {
      const run = async () => {
        runs++
        await Bun.sleep(2.2 * LEASE_MS)
        done++
      }
      runner.add({ name, every: HOUR, run })
      runner.handle({ name: queue, run })
      runner.start()
    }
    await enqueue(one, { queue, payload: 1 })
    await eventually(() => done === 2)
    await eventually(async () => (await all.tasks(queue)).length === 0)
    expect(runs).toBe(2)
    expect(made.flatMap(({ events }) => events).filter(({ kind }) => kind === 'lease_lost')).toEqual([])
  })

  giant('ten instances with nothing to do write nothing, and read twice a look', async () => {
    const name = all.newName('idle')
    let [reads, writes] = [0, 0]
    const opened = await all.server.openStore()
    const counting: Store = {
      ...opened,
      dialect: opened.dialect,
      slow: opened.slow,
      structure: opened.structure,
      others: 0,
      read(statement, params) {
        reads++
        return opened.read(statement, params)
      },
      write(steps, params) {
        writes++
        return opened.write(steps, params)
      },
      transact(make) {
        writes++
        return opened.transact(make)
      },
    }
    const runners = Array.from({ length: 10 }, () => new Runner(counting, { lookMs: 200 }))
    for (const runner of runners) {
      runner.add({ name, every: HOUR, run: async () => {} })
      for (const queue of ['a', 'b', 'c']) runner.handle({ name: `${name} ${queue}`, run: async () => {} })
      runner.start()
    }
    await eventually(async () => (await all.work(name)).ran_at !== null && reads > 40)
    await Bun.sleep(1000)
    ;[reads, writes] = [0, 0]
    const began = performance.now()
    await eventually(() => reads > 100)
    const looks = (performance.now() - began) / 200 + 2
    expect(writes).toBe(0)
    expect(reads).toBeLessThanOrEqual(2 * 10 * looks)
    for (const runner of runners) await runner.stop()
    await opened.close()
  })
})
