import { describe, expect } from 'bun:test'
import { Postponed } from '../../src/work/job.ts'
import { eventually, giant } from '../harness.ts'
import { enqueue, onInstances } from '../instances.ts'

const HOUR = 3_600_000

onInstances('recurring work', (all) => {
  describe('recurring work', () => {
    giant('is done by one instance at a time', async () => {
      const name = all.newName('turns')
      let [runs, under] = [0, 0]
      const made = await all.several(3, ({ runner }) =>
        runner.add({
          name,
          every: 30,
          run: async ({ pause }) => {
            expect(++under).toBe(1)
            await pause()
            under--
            runs++
          },
        }),
      )
      await eventually(() => runs >= 20)
      const events = made.flatMap((one) => one.events)
      expect(events.filter(({ kind }) => kind !== 'work_done')).toEqual([])
    })

    giant('is neither forgotten nor repeated by a restart', async () => {
      const name = all.newName('hourly')
      let runs = 0
      const run = async () => {
        runs++
      }
      for (let start = 0; start < 3; start++) {
        const one = await all.one()
        one.runner.add({ name, every: HOUR, run })
        one.runner.start()
        await eventually(async () => (await one.runner.state()).recurring[name]?.last != null)
        await Bun.sleep(300)
        await one.end()
      }
      expect(runs).toBe(1)
      const { next_at, ran_at, fence } = await all.work(name)
      expect(new Date(String(next_at)).getTime() - new Date(String(ran_at)).getTime()).toBe(HOUR)
      expect(fence).toBe(1)
      // It was due several times while no instance ran: it runs once.
      await all.database.query(
        'UPDATE takeback_work SET next_at = $2 WHERE name = $1',
        name,
        new Date(Date.now() - 10 * HOUR).toISOString(),
      )
      const one = await all.one()
      one.runner.add({ name, every: HOUR, run })
      one.runner.start()
      await eventually(() => runs === 2)
      await Bun.sleep(300)
      expect(runs).toBe(2)
    })

    giant('waits for the time that it says itself', async () => {
      const name = all.newName('nightly')
      const one = await all.one()
      const asked: Date[] = []
      const due = new Set<number>()
      const runs: number[] = []
      const next = (after: Date) => {
        asked.push(after)
        const time = Math.floor(after.getTime() / 500 + 1) * 500
        due.add(time)
        return new Date(time)
      }
      one.runner.add({
        name,
        next,
        run: async () => {
          runs.push(Date.now())
        },
      })
      one.runner.start()
      await eventually(() => runs.length === 2)
      for (const [at, time] of [...due].slice(0, 2).entries()) expect(runs[at]).toBeGreaterThanOrEqual(time)
      for (const after of asked) expect(Math.abs(after.getTime() - Date.now())).toBeLessThan(60_000)
    })

    giant('that fails is tried again after growing pauses, and says why', async () => {
      const name = all.newName('fails')
      const one = await all.one()
      const began: number[] = []
      one.runner.add({
        name,
        every: HOUR,
        run: async () => {
          began.push(performance.now())
          if (began.length < 3) throw new Error(`no room ${began.length}\0`)
        },
      })
      one.runner.start()
      await eventually(async () => (await all.work(name)).failures === 2)
      expect(await all.work(name)).toMatchObject({ error: 'no room 2', holder: null })
      await eventually(async () => (await all.work(name)).failures === 0)
      const [first = 0, second = 0, third = 0] = began
      expect(second - first).toBeGreaterThan(900)
      expect(third - second).toBeGreaterThan(1900)
      expect(await all.work(name)).toMatchObject({ error: null })
      const failed = one.events.filter(({ kind }) => kind === 'work_failed')
      expect(failed).toHaveLength(2)
    })

    giant('that is postponed is shown, but not tried before its time', async () => {
      const name = all.newName('postponed')
      const one = await all.one()
      let runs = 0
      one.runner.add({
        name,
        every: HOUR,
        run: async () => {
          runs++
          throw new Postponed('the clock is wrong')
        },
      })
      one.runner.start()
      await eventually(async () => (await all.work(name)).error === 'the clock is wrong')
      const { next_at, ran_at, failures } = await all.work(name)
      expect(new Date(String(next_at)).getTime() - new Date(String(ran_at)).getTime()).toBe(HOUR)
      expect([runs, failures, one.events]).toEqual([1, 0, []])
      await one.runner.bringForward(name)
      await eventually(() => runs === 2)
    })
  })

  describe('a clock that jumps', () => {
    for (const [from, to] of [
      [0, 400 * 24 * HOUR],
      [400 * 24 * HOUR, 0],
      [0, -3 * HOUR],
    ] as const)
      giant(
        `from ${from / HOUR} h to ${to / HOUR} h does not make recurring work run more often, or never`,
        async () => {
          const [often, seldom] = [all.newName('often'), all.newName('seldom')]
          await all.clock.set(from)
          const one = await all.one()
          let [runs, rare] = [0, 0]
          one.runner.add({
            name: often,
            every: 200,
            run: async () => {
              runs++
            },
          })
          one.runner.add({
            name: seldom,
            every: HOUR,
            run: async () => {
              rare++
            },
          })
          one.runner.start()
          await eventually(() => runs >= 2 && rare === 1)
          await all.clock.set(to)
          const before = runs
          await eventually(() => runs >= before + 3)
          const began = performance.now()
          const counted = runs
          await eventually(() => runs >= counted + 5)
          expect(runs - counted).toBeLessThanOrEqual((performance.now() - began) / 200 + 2)
          // If the clock went ahead, it is due once; if it went back, it waits at most an hour.
          expect(rare).toBeLessThanOrEqual(2)
          const { next_at } = await all.work(seldom)
          expect(new Date(String(next_at)).getTime() - Date.now()).toBeLessThanOrEqual(HOUR)
        },
      )

    giant('does not set a task aside, or put it off for longer than a pause', async () => {
      const queue = all.newName('jumps')
      const run = async () => {
        throw new Error('fails')
      }
      await all.clock.set(400 * 24 * HOUR)
      const one = await all.one()
      one.runner.handle({ name: queue, run })
      one.runner.start()
      await enqueue(one, { queue, payload: 1 })
      await eventually(async () => (await all.tasks(queue))[0]?.attempts === 1)
      await one.end()
      await all.clock.right()
      const other = await all.one()
      let done = 0
      other.runner.handle({
        name: queue,
        run: async () => {
          done++
        },
      })
      other.runner.start()
      await eventually(async () => {
        const [task] = await all.tasks(queue)
        return new Date(String(task?.next_at)).getTime() - Date.now() <= HOUR
      })
      await all.clock.set(HOUR + 1000)
      await eventually(() => done === 1)
    })
  })
})
