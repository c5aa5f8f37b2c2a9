import { describe, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { sql } from '../../src/store/sql.ts'
import { type Step, step } from '../../src/store/step.ts'
import { type Queue, taskParams } from '../../src/work/queues.ts'
import { eventually, giant } from '../harness.ts'
import { enqueue, onInstances } from '../instances.ts'

onInstances('background tasks', (all) => {
  describe('a task', () => {
    test('is enqueued with the write that causes it, or not at all', async () => {
      const one = await all.one()
      const queue = all.newName('outbox')
      const { dialect } = one.store
      const [found, never] = [sql`SELECT 1`, sql`SELECT 1 WHERE 1 = 0`].map((source) =>
        step(dialect, 'cause', 'some', source),
      ) as [Step, Step]
      const params = taskParams([{ queue, payload: 1 }])
      expect((await one.store.write([one.runner.enqueue, never], params)).done).toBe(false)
      expect(await all.tasks(queue)).toEqual([])
      expect((await one.store.write([found, one.runner.enqueue], params)).done).toBe(true)
      expect(await all.tasks(queue)).toMatchObject([{ payload: '1', attempts: 0, holder: null }])
    })

    test('is done once, as it was enqueued, and then gone', async () => {
      const queue = all.newName('once')
      const done: unknown[] = []
      const run: Queue['run'] = async ({ payload, key, attempt }) => {
        done.push([payload, key, attempt])
      }
      const [one] = await all.several(3, ({ runner }) => runner.handle({ name: queue, run }))
      const payload = { text: 'ü\0"\ud83d\ude00', list: [1, null], none: null }
      await enqueue(one, { queue, payload }, { queue, payload: null, key: 'k' })
      await eventually(async () => (await all.tasks(queue)).length === 0)
      expect(done).toHaveLength(2)
      expect(done).toContainEqual([payload, null, 1])
      expect(done).toContainEqual([null, 'k', 1])
    })

    test('is begun at once on the instance that enqueues it', async () => {
      const queue = all.newName('soon')
      const one = await all.one({ lookMs: 60_000 })
      let done = 0
      one.runner.handle({
        name: queue,
        run: async () => {
          done++
        },
      })
      one.runner.start()
      // The first look finds nothing, and the next one is a minute away.
      await Bun.sleep(200)
      await enqueue(one, { queue, payload: 1 }, { queue, payload: 2 })
      await eventually(() => done === 2)
      await enqueue(one, { queue, payload: 3 })
      await eventually(() => done === 3)
    })

    giant('that fails is tried again after growing pauses, by whoever comes first', async () => {
      const queue = all.newName('failing')
      const began: number[] = []
      const made = await all.several(2, ({ runner }) =>
        runner.handle({
          name: queue,
          run: async ({ attempt }) => {
            began.push(performance.now())
            if (attempt < 3) throw new Error(`failed ${attempt}`)
          },
        }),
      )
      const [one] = made
      await enqueue(one, { queue, payload: 1 })
      await eventually(async () => (await all.tasks(queue))[0]?.error === 'failed 2')
      await eventually(async () => (await all.tasks(queue)).length === 0)
      const [first = 0, second = 0, third = 0] = began
      expect(began).toHaveLength(3)
      expect(second - first).toBeGreaterThan(900)
      expect(third - second).toBeGreaterThan(1900)
      const told = made.flatMap(({ events }) => events).map(({ kind }) => kind)
      expect(told.filter((kind) => kind === 'task_failed')).toHaveLength(2)
      expect(told.filter((kind) => kind === 'task_done')).toHaveLength(1)
    })

    test('that fails too often is set aside, and the next one of its key goes on', async () => {
      const queue = all.newName('hopeless')
      const one = await all.one()
      const done: unknown[] = []
      await enqueue(one, { queue, key: 'k', payload: 'bad' }, { queue, key: 'k', payload: 'good' })
      await all.database.query(
        'UPDATE takeback_tasks SET attempts = 35 WHERE queue = $1 AND payload = $2',
        queue,
        '"bad"',
      )
      one.runner.handle({
        name: queue,
        run: async ({ payload }) => {
          if (payload === 'bad') throw new Error('never')
          done.push(payload)
        },
      })
      one.runner.start()
      await eventually(async () => (await all.tasks(queue)).length === 1)
      expect(done).toEqual(['good'])
      expect(await all.tasks(queue)).toMatchObject([
        { attempts: 36, error: 'never', next_at: null, aside_at: expect.any(String), holder: null },
      ])
      expect(one.events).toContainEqual(expect.objectContaining({ kind: 'task_set_aside', attempts: 36 }))
      const { queues, aside } = await one.runner.state()
      expect(queues[queue]).toEqual({ waiting: 0, running: 0, aside: 1, oldest: null })
      expect(aside[0]).toMatchObject({ queue, key: 'k', attempts: 36, message: 'never' })
    })

    test('that ends its process each time is set aside in the end', async () => {
      const queue = all.newName('poison')
      const one = await all.one()
      await enqueue(one, { queue, payload: 1 })
      await all.database.query(
        "UPDATE takeback_tasks SET attempts = 36, holder = 'gone' WHERE queue = $1",
        queue,
      )
      let begun = 0
      one.runner.handle({
        name: queue,
        run: async () => {
          begun++
        },
      })
      one.runner.start()
      await eventually(async () => (await all.tasks(queue))[0]?.aside_at != null)
      expect(begun).toBe(0)
    })

    test('of an instance that is gone is taken over when its lease ends', async () => {
      const queue = all.newName('orphan')
      const one = await all.one()
      const begun: number[] = []
      await enqueue(one, { queue, payload: 1 })
      const until = performance.now() + 500
      await all.database.query(
        "UPDATE takeback_tasks SET attempts = 1, fence = 1, holder = 'gone', next_at = $2 WHERE queue = $1",
        queue,
        new Date(Date.now() + 500).toISOString(),
      )
      one.runner.handle({
        name: queue,
        run: async ({ attempt }) => {
          expect(attempt).toBe(2)
          begun.push(performance.now())
        },
      })
      one.runner.start()
      await eventually(async () => (await all.tasks(queue)).length === 0)
      expect(begun[0]).toBeGreaterThan(until - 50)
    })
  })

  describe('tasks of one key', () => {
    test('are done one after the other in their order, on any number of instances', async () => {
      const queue = all.newName('ordered')
      const [keys, each] = [['a', 'b', 'c', 'd', 'e', 'f'], 12]
      const done = new Map<string, number[]>()
      const under = new Set<string>()
      const seen = new Set<number>()
      const made = await all.several(3, ({ runner }, at) =>
        runner.handle({
          name: queue,
          run: async ({ key, payload, attempt }) => {
            if (key === null) throw new Error('no key')
            expect(under.has(key)).toBe(false)
            under.add(key)
            seen.add(at)
            await Bun.sleep(Math.random() * 10)
            under.delete(key)
            // Sometimes a task fails, and the others must wait for it.
            if (attempt === 1 && payload === 3 && key === 'a') throw new Error('not yet')
            done.set(key, [...(done.get(key) ?? []), Number(payload)])
          },
        }),
      )
      await Promise.all(
        keys.map(async (key, who) => {
          const from = made[who % made.length]
          if (from === undefined) throw new Error('none')
          for (let at = 0; at < each; at++) await enqueue(from, { queue, key, payload: at })
        }),
      )
      await eventually(async () => (await all.tasks(queue)).length === 0)
      const inOrder = Array.from({ length: each }, (_, at) => at)
      expect(Object.fromEntries(done)).toEqual(Object.fromEntries(keys.map((key) => [key, inOrder])))
      expect(seen.size).toBeGreaterThan(1)
    })

    test('that wait for one that fails cost nothing, and hold up no other key', async () => {
      const queue = all.newName('blocked')
      const one = await all.one()
      const blocked = Array.from({ length: 300 }, (_, at) => ({ queue, key: 'down', payload: at }))
      await enqueue(one, ...blocked, { queue, key: 'up', payload: 'up' }, { queue, payload: 'free' })
      const done: unknown[] = []
      let [fails, failed] = [true, 0]
      one.runner.handle({
        name: queue,
        run: async ({ key, payload }) => {
          if (key === 'down' && fails) {
            failed++
            throw new Error('down')
          }
          done.push(payload)
        },
      })
      one.runner.start()
      await eventually(() => done.length === 2 && failed > 0)
      expect(done.toSorted()).toEqual(['free', 'up'])
      // None of them is due, so nobody looks at them.
      const waiting = async () =>
        (
          await all.database.query(
            'SELECT next_at FROM takeback_tasks WHERE queue = $1 AND next_at IS NOT NULL',
            queue,
          )
        ).length
      await eventually(async () => (await waiting()) === 1)
      expect((await all.tasks(queue)).length).toBe(300)
      fails = false
      await eventually(() => done.length === 302)
      expect(done.slice(2)).toEqual(blocked.map(({ payload }) => payload))
    })
  })

  if (all.store === 'postgres')
    test('a task is not left waiting for one that is just being done', async () => {
      const queue = all.newName('race')
      const one = await all.one()
      await enqueue(one, { queue, key: 'k', payload: 'first' })
      await all.database.query(
        "UPDATE takeback_tasks SET holder = 'other', next_at = $2 WHERE queue = $1",
        queue,
        new Date(Date.now() + 20_000).toISOString(),
      )
      // Another instance has done it, and found none after it, but has not committed yet.
      const other = new SQL(all.database.url, { max: 1 })
      await other.unsafe('BEGIN')
      await other.unsafe('DELETE FROM takeback_tasks WHERE queue = $1', [queue])
      await enqueue(one, { queue, key: 'k', payload: 'second' }, { queue, payload: 'free' })
      const done: unknown[] = []
      one.runner.handle({
        name: queue,
        run: async ({ payload }) => {
          done.push(payload)
        },
      })
      one.runner.start()
      // The two are read together.
      await eventually(() => done.includes('free'))
      await other.unsafe('COMMIT')
      await eventually(() => done.length === 2)
      expect(done).toEqual(['free', 'second'])
      await other.close()
    })
})
